"""Compiled loops over the messages that librdkafka has fetched: no Python object per record.

numba compiles them at first use and keeps the result in its cache.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from kafka_sql.kafka.bindings import Message
from kafka_sql.kafka.librdkafka.native_calls import call, compiled, copy, load

_ERR: Final = Message.err.offset
_LENGTH: Final = Message.length.offset
_KEY_LENGTH: Final = Message.key_length.offset
_OFFSET: Final = Message.offset.offset


@compiled
def measure(messages: np.ndarray, start: int, count: int, stop: int, budget: int) -> tuple[int, int, int, int]:
    """The run of messages from ``start`` that can be gathered at once.

    The run ends before a message that carries an error, at the offset ``stop``, or when its bytes would exceed
    ``budget`` (a single message is always taken).

    Returns:
        index of the run's end, bytes of its values, bytes of its keys, 1 where ``stop`` was reached.
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
    pointer_at: int,
    length_at: int,
    positions: np.ndarray,
    data: np.ndarray,
    valid: np.ndarray,
) -> int:
    """Copy values or keys of messages[start:end] into one buffer.

    Args:
        pointer_at, length_at: where in a message the pointer and its length stand.
        positions: int32, end - start + 1: Arrow's offsets.
        data: uint8: the bytes.
        valid: uint8, end - start: 0 for a null pointer.

    Returns:
        how many are null.
    """
    position, nulls = 0, 0
    target = data.ctypes.data
    for i in range(start, end):
        message = messages[i]
        source, length = load(message + pointer_at, types.int64), load(message + length_at, types.int64)
        positions[i - start] = position
        if source == 0:
            nulls += 1
            valid[i - start] = 0
        else:
            valid[i - start] = 1
            if length > 0:
                copy(target + position, source, length)
                position += length
    positions[end - start] = position
    return nulls


@compiled
def gather_offsets(messages: np.ndarray, start: int, end: int, offsets: np.ndarray) -> None:
    """Offsets (int64) of messages[start:end]."""
    for i in range(start, end):
        offsets[i - start] = load(messages[i] + _OFFSET, types.int64)


@compiled
def gather_timestamps(
    messages: np.ndarray, start: int, end: int, timestamp_of: int, timestamps: np.ndarray, kinds: np.ndarray
) -> None:
    """Timestamps (int64, ms) and their types (int32) of messages[start:end]."""
    kind = np.zeros(1, np.int32)
    for i in range(start, end):
        timestamps[i - start] = call(timestamp_of, messages[i], kind.ctypes.data, 0)
        kinds[i - start] = kind[0]


@compiled
def gather_epochs(messages: np.ndarray, start: int, end: int, epoch_of: int, epochs: np.ndarray) -> None:
    """Leader epochs (int32, -1 where the broker told none) of messages[start:end]."""
    for i in range(start, end):
        epochs[i - start] = types.int32(call(epoch_of, messages[i], 0, 0))


@compiled
def release(messages: np.ndarray, start: int, end: int, destroy: int) -> None:
    """Give messages[start:end] back to librdkafka."""
    for i in range(start, end):
        call(destroy, messages[i], 0, 0)
