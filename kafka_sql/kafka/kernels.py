"""Compiled loops over librdkafka's message structs: no Python object per record.

numba compiles them at first use and keeps the result in its cache. The C functions are given as addresses, because a
kernel that holds a ctypes function as a constant cannot be cached.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from kafka_sql.kafka import library
from kafka_sql.kafka.library import Message

# int32 Arrow offsets, the address of the bytes, uint8 validity
_Column = tuple["np.ndarray[Any, Any]", int, "np.ndarray[Any, Any]"]
F = TypeVar("F", bound=Callable[..., Any])

_ERR: Final = Message.err.offset
_LENGTH: Final = Message.length.offset
_KEY_LENGTH: Final = Message.key_length.offset
_OFFSET: Final = Message.offset.offset
_UNIT_COUNT: Final = len(library.UNITS)
_VALUE_UNIT, _KEY_UNIT, _TIME_UNIT = (
    library.UNITS.index(tag) * library.UNIT.itemsize + 8 for tag in (library.VALUE, library.KEY, library.TIMESTAMP)
)
_BYTE: Final = ir.IntType(8).as_pointer()


def _compiled(function: F) -> F:
    """numba.njit, cached where numba finds a folder that it can write (a locked-down executor may have none)."""
    try:
        return cast(F, numba.njit(nogil=True, cache=True)(function))
    except RuntimeError:  # "cannot cache function: no locator available"
        return cast(F, numba.njit(nogil=True)(function))


@intrinsic
def _load(typing: Any, address: Any, kind: Any) -> Any:
    """The value of type ``kind`` at ``address``."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], context.get_value_type(kind.dtype).as_pointer())
        return builder.load(pointer)

    return kind.dtype(address, kind), code


@intrinsic
def _store(typing: Any, address: Any, value: Any) -> Any:
    """Write ``value`` at ``address``."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], context.get_value_type(value).as_pointer())
        builder.store(arguments[1], pointer)
        return context.get_dummy_value()

    return types.void(address, value), code


@intrinsic
def _copy(typing: Any, target: Any, source: Any, size: Any) -> Any:
    """memcpy between addresses."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, of = (builder.inttoptr(a, _BYTE) for a in arguments[:2])
        cgutils.raw_memcpy(builder, to, of, arguments[2], 1)
        return context.get_dummy_value()

    return types.void(target, source, size), code


@intrinsic
def _call(typing: Any, function: Any, first: Any, second: Any, third: Any) -> Any:
    """Call a C function ``int64 f(int64, int64, int64)`` by its address; the ABI lets a callee ignore arguments."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word] * 3).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], kind), arguments[1:])

    return types.int64(function, first, second, third), code


@_compiled
def _point(unit: int, column: _Column, row: int) -> None:
    """Put a row's pointer and size into a unit; both are 0 for null."""
    positions, data, valid = column
    if valid[row]:
        _store(unit, data + positions[row])
        _store(unit + 8, types.int64(positions[row + 1] - positions[row]))
    else:
        _store(unit, types.int64(0))
        _store(unit + 8, types.int64(0))


@_compiled
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
        if _load(message + _ERR, types.int32) != 0:
            return i, values, keys, 0
        if _load(message + _OFFSET, types.int64) >= stop:
            return i, values, keys, 1
        value, key = _load(message + _LENGTH, types.int64), _load(message + _KEY_LENGTH, types.int64)
        if i > start and values + value + keys + key > budget:
            return i, values, keys, 0
        values += value
        keys += key
    return count, values, keys, 0


@_compiled
def gather_bytes(
    messages: np.ndarray,
    start: int,
    end: int,
    pointer_at: int,
    length_at: int,
    terminator: int,
    positions: np.ndarray,
    data: np.ndarray,
    valid: np.ndarray,
) -> int:
    """Copy values or keys of messages[start:end] into one buffer.

    Args:
        pointer_at, length_at: where in a message the pointer and its length stand.
        terminator: byte to put after each, or -1.
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
        source, length = _load(message + pointer_at, types.int64), _load(message + length_at, types.int64)
        positions[i - start] = position
        if source == 0:
            nulls += 1
            valid[i - start] = 0
        else:
            valid[i - start] = 1
            if length > 0:
                _copy(target + position, source, length)
                position += length
        if terminator >= 0:
            data[position] = terminator
            position += 1
    positions[end - start] = position
    return nulls


@_compiled
def gather_places(
    messages: np.ndarray,
    start: int,
    end: int,
    timestamp_of: int,
    offsets: np.ndarray,
    timestamps: np.ndarray,
    timestamp_types: np.ndarray,
) -> None:
    """Offsets (int64), timestamps (int64, ms) and timestamp types (int32) of messages[start:end]."""
    kind = np.zeros(1, np.int32)
    for i in range(start, end):
        offsets[i - start] = _load(messages[i] + _OFFSET, types.int64)
        timestamps[i - start] = _call(timestamp_of, messages[i], kind.ctypes.data, 0)
        timestamp_types[i - start] = kind[0]


@_compiled
def release(messages: np.ndarray, start: int, end: int, destroy: int) -> None:
    """Give messages[start:end] back to librdkafka."""
    for i in range(start, end):
        _call(destroy, messages[i], 0, 0)


@_compiled
def produce_rows(
    calls: np.ndarray, units: np.ndarray, start: int, end: int, values: _Column, keys: _Column, timestamps: np.ndarray
) -> tuple[int, int]:
    """Hand rows [start, end) to ``rd_kafka_produceva``, stopping at the first that it refuses.

    Args:
        calls: int64: the producer's handle, and the addresses of produceva, error_code and error_destroy.
        units: the bytes of ``library.UNITS``, with all that is the same for each row filled in.
        timestamps: int64 milliseconds since 1970, 0 for now.

    Returns:
        the row that was refused (``end`` if none) and librdkafka's error code (0 if none).
    """
    base = units.ctypes.data
    for i in range(start, end):
        _point(base + _VALUE_UNIT, values, i)
        _point(base + _KEY_UNIT, keys, i)
        _store(base + _TIME_UNIT, timestamps[i])
        error = _call(calls[1], calls[0], base, _UNIT_COUNT)
        if error != 0:
            code = types.int32(_call(calls[2], error, 0, 0))
            _call(calls[3], error, 0, 0)
            return i, code
    return end, 0
