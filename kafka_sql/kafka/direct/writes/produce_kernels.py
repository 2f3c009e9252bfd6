"""Compiled loops that choose partitions by key and encode rows as records."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numba import types

from kafka_sql.kafka.columns import ColumnView
from kafka_sql.runtime.numba_support import compiled, copy, helper, inline_helper, load, store

# constants of murmur2 in the Java client (org.apache.kafka.common.utils.Utils)
_SEED: Final = np.uint32(0x9747B28C)
_M: Final = np.uint32(0x5BD1E995)

# columns about an open batch: the addresses of its next record and of its end, its number of records, and the first and
# the highest of their timestamps
NEXT, END, RECORDS, FIRST_TIMESTAMP, MAX_TIMESTAMP = range(5)

# int32 list offsets of each row's headers, their names and their values
HeaderViews: TypeAlias = tuple["np.ndarray[Any, Any]", ColumnView, ColumnView]


@helper
def _murmur2(data: int, size: int) -> np.uint32:
    hash_ = _SEED ^ np.uint32(size)
    aligned = size & ~3
    for i in range(0, aligned, 4):
        word = np.uint32(load(data + i, types.uint32) * _M)
        word = np.uint32((word ^ (word >> np.uint32(24))) * _M)
        hash_ = np.uint32(hash_ * _M) ^ word
    remaining = size - aligned
    if remaining == 3:
        hash_ ^= np.uint32(load(data + aligned + 2, types.uint8)) << np.uint32(16)
    if remaining >= 2:
        hash_ ^= np.uint32(load(data + aligned + 1, types.uint8)) << np.uint32(8)
    if remaining >= 1:
        hash_ ^= np.uint32(load(data + aligned, types.uint8))
        hash_ = np.uint32(hash_ * _M)
    hash_ = np.uint32((hash_ ^ (hash_ >> np.uint32(13))) * _M)
    return np.uint32(hash_ ^ (hash_ >> np.uint32(15)))


@compiled
def partition_by_key(partitions: np.ndarray, keys: ColumnView, counts: np.ndarray) -> None:
    """Choose the partition of each row that has a key but no partition, as the Java client does.

    Args:
        partitions: int32, -1 for none; updated in place.
        counts: int32, the number of partitions of each row's topic.
    """
    offsets, data, valid = keys
    for i in range(len(partitions)):
        if partitions[i] < 0 and valid[i]:
            start = offsets[i]
            positive = _murmur2(data + start, offsets[i + 1] - start) & np.uint32(0x7FFFFFFF)
            partitions[i] = positive % np.uint32(counts[i])


@inline_helper
def _zigzag(value: int) -> int:
    """Return the unsigned value that encodes a VARINT or VARLONG."""
    return (types.uint64(value) << types.uint64(1)) ^ types.uint64(value >> 63)


@inline_helper
def _varint_size(value: int) -> int:
    """Return the encoded size of an unsigned value. Most have one or two bytes."""
    if value < types.uint64(1 << 7):
        return 1
    if value < types.uint64(1 << 14):
        return 2
    size, value = 3, value >> types.uint64(21)
    while value:
        size, value = size + 1, value >> types.uint64(7)
    return size


@inline_helper
def _write_varint(cursor: int, value: int) -> int:
    """Write an unsigned value, 7 bits per byte. Return the next address."""
    while value > types.uint64(0x7F):
        store(cursor, types.uint8((value & types.uint64(0x7F)) | types.uint64(0x80)))
        value >>= types.uint64(7)
        cursor += 1
    store(cursor, types.uint8(value))
    return cursor + 1


@inline_helper
def _bytes_size(column: ColumnView, row: int) -> int:
    """Return the encoded size of a row's bytes with their length prefix."""
    offsets, _, valid = column
    if not valid[row]:
        return 1
    size = types.int64(offsets[row + 1] - offsets[row])
    return _varint_size(_zigzag(size)) + size


@inline_helper
def _write_bytes(cursor: int, column: ColumnView, row: int) -> int:
    """Write a row's bytes with their length prefix, -1 for null. Return the next address."""
    offsets, data, valid = column
    if not valid[row]:
        store(cursor, types.uint8(1))
        return cursor + 1
    start = offsets[row]
    size = types.int64(offsets[row + 1] - start)
    cursor = _write_varint(cursor, _zigzag(size))
    copy(cursor, data + start, size)
    return cursor + size


@helper
def _measure_headers(headers: HeaderViews, row: int) -> tuple[int, int]:
    """Return the encoded number of a row's headers and their encoded size. Headers without a name do not count."""
    header_offsets, names, values = headers
    count, size = 0, 0
    for i in range(header_offsets[row], header_offsets[row + 1]):
        if names[2][i]:
            count += 1
            size += _bytes_size(names, i) + _bytes_size(values, i)
    return _zigzag(count), size


@helper
def _write_headers(cursor: int, headers: HeaderViews, row: int) -> int:
    """Write a row's headers; those without a name are omitted, as in Flink. Return the next address."""
    header_offsets, names, values = headers
    for i in range(header_offsets[row], header_offsets[row + 1]):
        if names[2][i]:
            cursor = _write_bytes(_write_bytes(cursor, names, i), values, i)
    return cursor


@compiled
def append_records(
    batches: np.ndarray,
    values: ColumnView,
    keys: ColumnView,
    timestamps: np.ndarray | None,
    headers: HeaderViews | None,
    now: int,
    indices: np.ndarray,
    row: int,
) -> int:
    """Append rows to open batches, as records.

    Layout: https://kafka.apache.org/documentation/#record. numba compiles a variant without the code for timestamps or
    headers if they are None.

    Args:
        batches: int64, batches x 5: ``NEXT``, ``END``, ``RECORDS``, ``FIRST_TIMESTAMP`` and ``MAX_TIMESTAMP``; updated
            in place.
        timestamps: int64 milliseconds since 1970; None for ``now`` in all rows.
        headers: None for none in all rows.
        now: int64 milliseconds since 1970.
        indices: int32, the batch of each row.

    Returns:
        the first row that does not fit into its batch; the number of rows if all were appended.
    """
    for i in range(row, len(indices)):
        batch = batches[indices[i]]
        cursor, offset = batch[NEXT], batch[RECORDS]
        timestamp = now if timestamps is None else timestamps[i]
        if not offset:
            batch[FIRST_TIMESTAMP] = batch[MAX_TIMESTAMP] = timestamp
        timestamp_delta, offset_delta = _zigzag(timestamp - batch[FIRST_TIMESTAMP]), _zigzag(offset)
        header_count, header_size = (types.uint64(0), 0) if headers is None else _measure_headers(headers, i)
        size = 1 + _varint_size(timestamp_delta) + _varint_size(offset_delta) + _varint_size(header_count)
        size += _bytes_size(keys, i) + _bytes_size(values, i) + header_size
        prefix = _zigzag(size)
        if cursor + _varint_size(prefix) + size > batch[END]:
            return i
        cursor = _write_varint(cursor, prefix)
        store(cursor, types.uint8(0))  # attributes
        cursor = _write_varint(_write_varint(cursor + 1, timestamp_delta), offset_delta)
        cursor = _write_bytes(_write_bytes(cursor, keys, i), values, i)
        cursor = _write_varint(cursor, header_count)
        if headers is not None:
            cursor = _write_headers(cursor, headers, i)
        batch[MAX_TIMESTAMP] = max(timestamp, batch[MAX_TIMESTAMP])
        batch[NEXT], batch[RECORDS] = cursor, offset + 1
    return len(indices)


def max_record_size(key: int, value: int, headers: int = 0, header_count: int = 0) -> int:
    """Return an upper limit of the size of a record.

    Args:
        key, value: sizes in bytes.
        headers: the bytes of all names and values of its headers.
    """
    return key + value + headers + 10 * header_count + 36
