"""The compiled loops that hand rows to librdkafka: no Python object per record."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import types

from kafka_sql.kafka import bindings
from kafka_sql.kafka.librdkafka.native_calls import call, call5, compiled, load, store

# int32 Arrow offsets, the address of the bytes, uint8 validity
Column = tuple["np.ndarray[Any, Any]", int, "np.ndarray[Any, Any]"]
# int32 positions of each row's headers, their names and their values
Headers = tuple["np.ndarray[Any, Any]", Column, Column]

# where rd_kafka_message_t has its fields
_SIZE: Final = bindings.MESSAGE.itemsize
_PLACES: Final[Any] = bindings.MESSAGE.fields
_ERR, _PARTITION, _PAYLOAD, _KEY = (_PLACES[name][1] for name in ("err", "partition", "payload", "key"))

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
def _point(unit: int, column: Column, row: int) -> None:
    """Put a row's pointer and size into a unit; both are 0 for null."""
    positions, data, valid = column
    if valid[row]:
        store(unit, data + positions[row])
        store(unit + 8, types.int64(positions[row + 1] - positions[row]))
    else:
        store(unit, types.int64(0))
        store(unit + 8, types.int64(0))


@compiled
def _make_headers(calls: np.ndarray, headers: Headers, row: int) -> int:
    """A row's headers as librdkafka's list; 0 for none. A header without a name is left out, as in Flink."""
    positions, names, values = headers
    start, end = positions[row], positions[row + 1]
    if start == end:
        return 0
    made = call(calls[4], types.int64(end - start), 0, 0)
    name_at, name_bytes, named = names
    value_at, value_bytes, valued = values
    for i in range(start, end):
        if named[i]:
            value = value_bytes + value_at[i] if valued[i] else types.int64(0)
            length = types.int64(value_at[i + 1] - value_at[i])
            call5(calls[5], made, name_bytes + name_at[i], types.int64(name_at[i + 1] - name_at[i]), value, length)
    return made


@compiled
def fill_messages(messages: np.ndarray, values: Column, keys: Column, partitions: np.ndarray) -> None:
    """Make the array of messages that ``rd_kafka_produce_batch`` takes.

    Args:
        messages: uint8: room for a ``library.MESSAGE`` each.
        partitions: int32, -1 for the client's choice; empty where that goes for all.
    """
    base = messages.ctypes.data
    for i in range(len(values[2])):
        at = base + i * _SIZE
        store(at + _ERR, types.int32(0))
        store(at + _PARTITION, partitions[i] if len(partitions) else types.int32(-1))
        _point(at + _PAYLOAD, values, i)
        _point(at + _KEY, keys, i)


@compiled
def first_refused(messages: np.ndarray, start: int, end: int) -> int:
    """The first message of [start, end) with an error, ``end`` if there is none."""
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
    values: Column,
    keys: Column,
    timestamps: np.ndarray,
    headers: Headers,
) -> tuple[int, int]:
    """Hand rows [start, end) to ``rd_kafka_produceva``, stopping at the first that it refuses.

    Args:
        calls: int64: the producer's handle, and the addresses of produceva, error_code, error_destroy, headers_new,
            header_add and headers_destroy.
        units: the bytes of ``library.UNITS``, with all that is the same for each row filled in.
        topics: int64: a topic's handle each.
        partitions: int32, -1 for the client's choice; empty where that goes for all.
        timestamps: int64 milliseconds since 1970, 0 for now.

    Returns:
        the row that was refused (``end`` if none) and librdkafka's error code (0 if none).
    """
    base = units.ctypes.data
    for i in range(start, end):
        store(base + _TOPIC_UNIT, topics[i])
        store(base + _PARTITION_UNIT, partitions[i] if len(partitions) else types.int32(-1))
        _point(base + _VALUE_UNIT, values, i)
        _point(base + _KEY_UNIT, keys, i)
        store(base + _TIME_UNIT, timestamps[i])
        made = _make_headers(calls, headers, i)
        store(base + _HEADERS_UNIT, made)
        error = call(calls[1], calls[0], base, _UNIT_COUNT)
        if error != 0:
            if made != 0:
                call(calls[6], made, 0, 0)  # a record that is refused leaves its headers to us
            code = types.int32(call(calls[2], error, 0, 0))
            call(calls[3], error, 0, 0)
            return i, code
    return end, 0
