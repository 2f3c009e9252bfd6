"""Pass rows to librdkafka: compiled loops, without a Python object per record."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import types

from kafka_sql.kafka import bindings
from kafka_sql.kafka.binary_columns import ColumnView
from kafka_sql.kafka.librdkafka.native_calls import call, call5
from kafka_sql.runtime.numba_support import compiled, load, store

# int32 list offsets of each row's headers, their names and their values
HeaderViews = tuple["np.ndarray[Any, Any]", ColumnView, ColumnView]

# offsets of the fields of rd_kafka_message_t
_SIZE: Final = bindings.MESSAGE.itemsize
_FIELDS: Final[Any] = bindings.MESSAGE.fields
_ERR, _PARTITION, _PAYLOAD, _KEY = (_FIELDS[name][1] for name in ("err", "partition", "payload", "key"))

_UNIT_COUNT: Final = len(bindings.UNITS)
_VALUE_UNIT, _KEY_UNIT, _TIME_UNIT, _TOPIC_UNIT, _PARTITION_UNIT, _HEADERS_UNIT = (
    bindings.UNITS.index(tag) * bindings.UNIT.itemsize + 8
    for tag in (
        bindings.VALUE,
        bindings.KEY,
        bindings.TIMESTAMP,
        bindings.TOPIC_HANDLE,
        bindings.PARTITION,
        bindings.HEADERS,
    )
)


@compiled
def _store_value(unit: int, column: ColumnView, row: int) -> None:
    """Store a row's pointer and size in a unit; both are 0 for null."""
    offsets, data, valid = column
    if valid[row]:
        store(unit, data + offsets[row])
        store(unit + 8, types.int64(offsets[row + 1] - offsets[row]))
    else:
        store(unit, types.int64(0))
        store(unit + 8, types.int64(0))


@compiled
def _create_headers(calls: np.ndarray, headers: HeaderViews, row: int) -> int:
    """Create a row's header list; 0 if it has no headers. Headers without a name are omitted, as in Flink."""
    lists, names, values = headers
    start, end = lists[row], lists[row + 1]
    if start == end:
        return 0
    header_list = call(calls[4], types.int64(end - start), 0, 0)
    name_offsets, name_bytes, has_name = names
    value_offsets, value_bytes, has_value = values
    for i in range(start, end):
        if has_name[i]:
            value = value_bytes + value_offsets[i] if has_value[i] else types.int64(0)
            length = types.int64(value_offsets[i + 1] - value_offsets[i])
            call5(
                calls[5],
                header_list,
                name_bytes + name_offsets[i],
                types.int64(name_offsets[i + 1] - name_offsets[i]),
                value,
                length,
            )
    return header_list


@compiled
def fill_messages(messages: np.ndarray, values: ColumnView, keys: ColumnView, partitions: np.ndarray) -> None:
    """Fill the array of messages that ``rd_kafka_produce_batch`` takes.

    Args:
        messages: uint8, filled: one ``bindings.MESSAGE`` per row.
        partitions: int32, -1 for the client's choice; empty if the client chooses for all rows.
    """
    base = messages.ctypes.data
    for i in range(len(values[2])):
        at = base + i * _SIZE
        store(at + _ERR, types.int32(0))
        store(at + _PARTITION, partitions[i] if len(partitions) else types.int32(-1))
        _store_value(at + _PAYLOAD, values, i)
        _store_value(at + _KEY, keys, i)


@compiled
def first_rejected(messages: np.ndarray, start: int, end: int) -> int:
    """Return the first message of [start, end) with an error; ``end`` if none has one."""
    base = messages.ctypes.data
    for i in range(start, end):
        if load(base + i * _SIZE + _ERR, types.int32) != 0:
            return i
    return end


@compiled
def produce_rows(
    calls: np.ndarray,
    units: np.ndarray,
    start: int,
    end: int,
    topics: np.ndarray,
    partitions: np.ndarray,
    values: ColumnView,
    keys: ColumnView,
    timestamps: np.ndarray,
    headers: HeaderViews,
) -> tuple[int, int]:
    """Pass rows [start, end) to ``rd_kafka_produceva``; stop at the first that it rejects.

    Args:
        calls: int64: the producer's handle, and the addresses of produceva, error_code, error_destroy, headers_new,
            header_add and headers_destroy.
        units: the bytes of ``bindings.UNITS``, with everything filled in that is the same for all rows.
        topics: int64: each row's topic handle.
        partitions: int32, -1 for the client's choice; empty if the client chooses for all rows.
        timestamps: int64 milliseconds since 1970, 0 for now.

    Returns:
        the row that was rejected (``end`` if none) and librdkafka's error code (0 if none).
    """
    base = units.ctypes.data
    for i in range(start, end):
        store(base + _TOPIC_UNIT, topics[i])
        store(base + _PARTITION_UNIT, partitions[i] if len(partitions) else types.int32(-1))
        _store_value(base + _VALUE_UNIT, values, i)
        _store_value(base + _KEY_UNIT, keys, i)
        store(base + _TIME_UNIT, timestamps[i])
        header_list = _create_headers(calls, headers, i)
        store(base + _HEADERS_UNIT, header_list)
        error = call(calls[1], calls[0], base, _UNIT_COUNT)
        if error != 0:
            if header_list != 0:
                call(calls[6], header_list, 0, 0)  # librdkafka takes ownership only of an accepted record's headers
            code = types.int32(call(calls[2], error, 0, 0))
            call(calls[3], error, 0, 0)
            return i, code
    return end, 0
