"""The compiled loop that writes rows of columns as JSON objects."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import types

from kafka_sql.compiled import compiled, copy, load, store

# Columns of a part: one for each of an object's fields
KIND: Final = 0
NAME: Final = 1  # address and length of what stands before the value
NAME_SIZE: Final = 2
VALUES: Final = 3  # address of the numbers, or of a text's int32 offsets
DATA: Final = 4  # address of a text's bytes
VALID: Final = 5  # address of a byte for each row; 0 where none is null
WIDTH: Final = 6  # how many these are

# Kinds: text as it is, text in quotes, signed numbers of so many bytes
TEXT, QUOTED, INT8, INT16, INT32, INT64 = range(6)

LONGEST_INTEGER: Final = 20
_QUOTE: Final = ord('"')
_PAIRS: Final = np.frombuffer(b"".join(b"%02d" % n for n in range(100)), np.uint8)


@compiled
def _put_integer(target: int, value: int) -> int:
    """Write a number's decimal digits; where they end."""
    rest = np.uint64(value)
    if value < 0:
        store(target, types.uint8(45))  # the minus sign
        target += 1
        rest = np.uint64(0) - rest
    digits, limit = 1, np.uint64(10)
    while digits < 19 and rest >= limit:
        digits += 1
        limit *= np.uint64(10)
    at = target + digits
    while rest >= np.uint64(100):
        pair = types.int64(rest % np.uint64(100)) * 2
        rest //= np.uint64(100)
        at -= 2
        store(at, _PAIRS[pair])
        store(at + 1, _PAIRS[pair + 1])
    if rest >= np.uint64(10):
        pair = types.int64(rest) * 2
        store(at - 2, _PAIRS[pair])
        store(at - 1, _PAIRS[pair + 1])
    else:
        store(at - 1, types.uint8(types.int64(rest) + 48))
    return target + digits


@compiled
def _put_text(target: int, part: np.ndarray, row: int) -> int:
    offsets = part[VALUES] + 4 * row
    start = types.int64(load(offsets, types.int32))
    size = types.int64(load(offsets + 4, types.int32)) - start
    copy(target, part[DATA] + start, size)
    return target + size


@compiled
def _integer(part: np.ndarray, row: int) -> Any:
    kind, values = part[KIND], part[VALUES]
    if kind == INT64:
        return types.int64(load(values + 8 * row, types.int64))
    if kind == INT32:
        return types.int64(load(values + 4 * row, types.int32))
    if kind == INT16:
        return types.int64(load(values + 2 * row, types.int16))
    return types.int64(load(values + row, types.int8))


@compiled
def write_objects(parts: np.ndarray, out: np.ndarray, positions: np.ndarray) -> None:
    """Write the rows one behind the other.

    Args:
        parts: int64, a row for each field.
        out: uint8, with room for all that there can be.
        positions: int32, a row more than there are rows: where each begins and ends.
    """
    base = types.int64(out.ctypes.data)
    target = base
    for row in range(len(positions) - 1):
        positions[row] = target - base
        for i in range(len(parts)):
            part = parts[i]
            copy(target, part[NAME], part[NAME_SIZE])
            target += part[NAME_SIZE]
            kind = part[KIND]
            if part[VALID] != 0 and load(part[VALID] + row, types.uint8) == 0:
                store(target, types.uint32(0x6C6C756E))  # "null"; numba's platforms are little-endian
                target += 4
            elif kind == TEXT:
                target = _put_text(target, part, row)
            elif kind == QUOTED:
                store(target, types.uint8(_QUOTE))
                target = _put_text(target + 1, part, row)
                store(target, types.uint8(_QUOTE))
                target += 1
            else:
                target = _put_integer(target, _integer(part, row))
        store(target, types.uint8(125))  # the closing brace
        target += 1
    positions[len(positions) - 1] = target - base
