"""Copy fetched messages and their headers to columns: compiled loops, without a Python object per record.

numba compiles them at first use and keeps the result in its on-disk cache.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from kafka_sql.kafka.bindings import NO_HEADERS, Message
from kafka_sql.kafka.librdkafka.native_calls import call, call5
from kafka_sql.runtime.numba_support import compiled, copy, load

_ERR: Final = Message.err.offset
_LENGTH: Final = Message.length.offset
_KEY_LENGTH: Final = Message.key_length.offset
_OFFSET: Final = Message.offset.offset


@compiled
def measure(messages: np.ndarray, start: int, count: int, stop: int, budget: int) -> tuple[int, int, int, int]:
    """Find the messages from ``start`` on that can be gathered at once.

    They end before a message that carries an error, at the offset ``stop``, or where their bytes would exceed
    ``budget`` (a single message is always taken).

    Returns:
        the end index, bytes of the values, bytes of the keys, and 1 if ``stop`` was reached.
    """
    values, keys = 0, 0
    for i in range(start, count):
        message = messages[i]
        if load(message + _ERR, types.int32) != 0:
            return i, values, keys, 0
        if load(message + _OFFSET, types.int64) >= stop:
            return i, values, keys, 1
        value, key = load(message + _LENGTH, types.int64), load(message + _KEY_LENGTH, types.int64)
        if i > start and values + value + keys + key > budget:
            return i, values, keys, 0
        values += value
        keys += key
    return count, values, keys, 0


@compiled
def gather_bytes(
    messages: np.ndarray,
    start: int,
    end: int,
    pointer_field: int,
    length_field: int,
    offsets: np.ndarray,
    data: np.ndarray,
    valid: np.ndarray,
) -> int:
    """Copy the values or the keys of messages[start:end] into one buffer.

    Args:
        pointer_field, length_field: offsets of the pointer and of the length in a message.
        offsets: int32, end - start + 1, filled: Arrow's offsets.
        data: uint8, filled: the bytes.
        valid: uint8, end - start, filled: 0 for a null pointer.

    Returns:
        how many are null.
    """
    position, nulls = 0, 0
    target = data.ctypes.data
    for i in range(start, end):
        message = messages[i]
        source, length = load(message + pointer_field, types.int64), load(message + length_field, types.int64)
        offsets[i - start] = position
        if source == 0:
            nulls += 1
            valid[i - start] = 0
        else:
            valid[i - start] = 1
            if length > 0:
                copy(target + position, source, length)
                position += length
    offsets[end - start] = position
    return nulls


@compiled
def gather_offsets(messages: np.ndarray, start: int, end: int, offsets: np.ndarray) -> None:
    """Copy the offsets (int64) of messages[start:end]."""
    for i in range(start, end):
        offsets[i - start] = load(messages[i] + _OFFSET, types.int64)


@compiled
def gather_timestamps(
    messages: np.ndarray, start: int, end: int, get_timestamp: int, timestamps: np.ndarray, timestamp_types: np.ndarray
) -> None:
    """Copy the timestamps (int64, ms) and their types (int32) of messages[start:end].

    Args:
        get_timestamp: address of rd_kafka_message_timestamp.
    """
    timestamp_type = np.zeros(1, np.int32)
    for i in range(start, end):
        timestamps[i - start] = call(get_timestamp, messages[i], timestamp_type.ctypes.data, 0)
        timestamp_types[i - start] = timestamp_type[0]


@compiled
def gather_leader_epochs(messages: np.ndarray, start: int, end: int, get_epoch: int, epochs: np.ndarray) -> None:
    """Copy the leader epochs (int32, -1 if unknown) of messages[start:end].

    Args:
        get_epoch: address of rd_kafka_message_leader_epoch.
    """
    for i in range(start, end):
        epochs[i - start] = types.int32(call(get_epoch, messages[i], 0, 0))


@compiled
def release(messages: np.ndarray, start: int, end: int, destroy: int) -> None:
    """Give messages[start:end] back to librdkafka."""
    for i in range(start, end):
        call(destroy, messages[i], 0, 0)


@compiled
def count_headers(
    messages: np.ndarray,
    start: int,
    end: int,
    get_headers: int,
    get_count: int,
    lists: np.ndarray,
    offsets: np.ndarray,
) -> tuple[int, int]:
    """Find and count the headers of messages[start:end].

    Args:
        get_headers, get_count: addresses of rd_kafka_message_headers and rd_kafka_header_cnt.
        lists: int64, end - start, filled: librdkafka's header list of each message, 0 for none.
        offsets: int32, end - start + 1, filled: Arrow's offsets.

    Returns:
        the first message whose headers cannot be read (``end`` if none), and librdkafka's error code.
    """
    result = np.zeros(1, np.int64)
    position = 0
    for i in range(start, end):
        offsets[i - start] = position
        lists[i - start] = 0
        code = types.int32(call(get_headers, messages[i], result.ctypes.data, 0))
        if code == 0:
            lists[i - start] = result[0]
            position += call(get_count, result[0], 0, 0)
        elif code != NO_HEADERS:
            return i, code
    offsets[end - start] = position
    return end, 0


@compiled
def locate_headers(
    lists: np.ndarray, offsets: np.ndarray, get_all: int, names: np.ndarray, values: np.ndarray, sizes: np.ndarray
) -> None:
    """Find the name and the value of each header.

    Args:
        get_all: address of rd_kafka_header_get_all.
        names, values: int64, filled: addresses; 0 for a null value.
        sizes: int64, 2 rows, filled: lengths of the names and of the values.
    """
    result = np.zeros(3, np.int64)
    address = result.ctypes.data
    for row in range(len(lists)):
        for i in range(offsets[row], offsets[row + 1]):
            call5(get_all, lists[row], types.int64(i - offsets[row]), address, address + 8, address + 16)
            name, length = result[0], 0
            while load(name + length, types.uint8) != 0:
                length += 1
            names[i], values[i] = name, result[1]
            sizes[0, i], sizes[1, i] = length, result[2]
