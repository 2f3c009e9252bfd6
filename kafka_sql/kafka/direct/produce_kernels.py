"""Compiled loops that choose partitions by key and encode rows as records."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from kafka_sql.kafka.binary_columns import ColumnView
from kafka_sql.runtime.numba_support import compiled, copy, helper, load, store

# constants of murmur2 in the Java client (org.apache.kafka.common.utils.Utils)
_SEED: Final = np.uint32(0x9747B28C)
_M: Final = np.uint32(0x5BD1E995)

# columns about an open batch: the addresses of its next record and of its end, and its number of records
AT, END, RECORDS = range(3)


@helper
def _murmur2(data: int, size: int) -> np.uint32:
    hash_ = _SEED ^ np.uint32(size)
    aligned = size & ~3
    for i in range(0, aligned, 4):
        word = np.uint32(load(data + i, types.uint32) * _M)
        word = np.uint32((word ^ (word >> np.uint32(24))) * _M)
        hash_ = np.uint32(hash_ * _M) ^ word
    rest = size - aligned
    if rest == 3:
        hash_ ^= np.uint32(load(data + aligned + 2, types.uint8)) << np.uint32(16)
    if rest >= 2:
        hash_ ^= np.uint32(load(data + aligned + 1, types.uint8)) << np.uint32(8)
    if rest >= 1:
        hash_ ^= np.uint32(load(data + aligned, types.uint8))
        hash_ = np.uint32(hash_ * _M)
    hash_ = np.uint32((hash_ ^ (hash_ >> np.uint32(13))) * _M)
    return np.uint32(hash_ ^ (hash_ >> np.uint32(15)))


@compiled
def partition_by_key(partitions: np.ndarray, keys: ColumnView, count: int) -> None:
    """Choose the partition of each row that has a key but no partition, as the Java client does.

    Args:
        partitions: int32, -1 for none; updated in place.
        count: number of partitions of the topic.
    """
    positions, data, valid = keys
    for i in range(len(partitions)):
        if partitions[i] < 0 and valid[i]:
            start = positions[i]
            positive = _murmur2(data + start, positions[i + 1] - start) & np.uint32(0x7FFFFFFF)
            partitions[i] = positive % np.uint32(count)


@helper
def _varint_size(value: int) -> int:
    """Return the encoded size of a non-negative VARINT."""
    size, value = 1, value >> 6
    while value:
        size, value = size + 1, value >> 7
    return size


@helper
def _write_varint(at: int, value: int) -> int:
    """Write a non-negative VARINT (zigzag doubles it). Return the next address."""
    rest = types.uint64(value) << types.uint64(1)
    while rest > types.uint64(0x7F):
        store(at, types.uint8((rest & types.uint64(0x7F)) | types.uint64(0x80)))
        rest >>= types.uint64(7)
        at += 1
    store(at, types.uint8(rest))
    return at + 1


@helper
def _write_bytes(at: int, column: ColumnView, row: int) -> int:
    """Write a row's bytes with their length prefix, -1 for null. Return the next address."""
    positions, data, valid = column
    if not valid[row]:
        store(at, types.uint8(1))
        return at + 1
    start = positions[row]
    size = types.int64(positions[row + 1] - start)
    at = _write_varint(at, size)
    copy(at, data + start, size)
    return at + size


@helper
def _encoded_size(column: ColumnView, row: int) -> int:
    positions, _, valid = column
    if not valid[row]:
        return 1
    size = types.int64(positions[row + 1] - positions[row])
    return _varint_size(size) + size


@compiled
def pack(batches: np.ndarray, values: ColumnView, keys: ColumnView, partitions: np.ndarray, row: int) -> int:
    """Append rows to the open batches of their partitions, as records without headers and with the batch's timestamp.

    Layout: https://kafka.apache.org/documentation/#record

    Args:
        batches: int64, partitions x 3: ``AT``, ``END`` and ``RECORDS``; updated in place.
        partitions: int32, the partition of each row.
        row: the first row to append.

    Returns:
        the first row that does not fit into its batch; the number of rows if all were appended.
    """
    for i in range(row, len(partitions)):
        batch = batches[partitions[i]]
        at, offset = batch[AT], batch[RECORDS]
        size = 3 + _varint_size(offset) + _encoded_size(keys, i) + _encoded_size(values, i)
        if at + _varint_size(size) + size > batch[END]:
            return i
        at = _write_varint(at, size)
        store(at, types.uint16(0))  # attributes 0, timestamp delta 0
        at = _write_bytes(_write_bytes(_write_varint(at + 2, offset), keys, i), values, i)
        store(at, types.uint8(0))  # no headers
        batch[AT], batch[RECORDS] = at + 1, offset + 1
    return len(partitions)


def max_record_size(key: int, value: int) -> int:
    """Return an upper limit of the size of a record, from the sizes of its key and value in bytes."""
    return key + value + 32
