"""The compiled loop that writes rows of columns as JSON objects."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import types

from kafka_sql.runtime.numba_support import compiled, copy, load, store

# Columns of a part: one for each of an object's fields
KIND: Final = 0
NAME: Final = 1  # address and length of what stands before the value, followed by zeros up to a whole word
NAME_SIZE: Final = 2
VALUES: Final = 3  # address of the numbers, of the bits, or of a text's int32 offsets
DATA: Final = 4  # address of a text's bytes; the first of the bits
VALID: Final = 5  # address of a byte for each row; 0 where none is null
WIDTH: Final = 6  # how many these are

# Kinds: text as it is, text in quotes, Arrow's text of a floating number, int64 ten-thousandths, truth as bits,
# signed numbers of so many bytes
TEXT, QUOTED, FLOAT, DECIMALS, BOOLEAN, INT8, INT16, INT32, INT64 = range(9)

WORD: Final = 8  # bytes
LONGEST_INTEGER: Final = 20
LONGER: Final = 7  # at most, than Arrow's text: "Infinity" in quotes, where that has inf
_QUOTE: Final = ord('"')
_NAN: Final = np.frombuffer(b'"NaN"', np.uint8)
_POSITIVE: Final = np.frombuffer(b'"Infinity"', np.uint8)
_NEGATIVE: Final = np.frombuffer(b'"-Infinity"', np.uint8)
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
def is_plain(data: np.ndarray) -> bool:
    """Whether nothing in a text needs to be escaped: no control character, quote or backslash.

    Args:
        data: uint8.
    """
    found = False
    for i in range(len(data)):  # to the end: so it is done many bytes at once
        found |= (data[i] < 32) | (data[i] == 34) | (data[i] == 92)
    return not found


@compiled
def _put_name(target: int, name: int, size: int) -> int:
    """Write whole words: what is too much is written over by what comes next. A call for so few bytes takes longer."""
    for at in range(0, size, WORD):
        store(target + at, load(name + at, types.uint64))
    return target + size


@compiled
def _put_text(target: int, part: np.ndarray, row: int) -> int:
    offsets = part[VALUES] + 4 * row
    start = types.int64(load(offsets, types.int32))
    size = types.int64(load(offsets + 4, types.int32)) - start
    copy(target, part[DATA] + start, size)
    return target + size


@compiled
def _put_bytes(target: int, text: np.ndarray) -> int:
    for i in range(len(text)):
        store(target + i, text[i])
    return target + len(text)


@compiled
def _put_float(target: int, part: np.ndarray, row: int) -> int:
    """Write Arrow's text with the fraction that a whole number is to keep, and what is no number as text."""
    end = _put_text(target, part, row)
    last = load(end - 1, types.uint8)
    if last == 110:  # nan
        return _put_bytes(target, _NAN)
    if last == 102:  # inf, -inf
        return _put_bytes(target, _NEGATIVE) if load(target, types.uint8) == 45 else _put_bytes(target, _POSITIVE)
    for at in range(target, end):
        byte = load(at, types.uint8)
        if byte == 46 or byte == 101:  # a point or an exponent
            return end
    store(end, types.uint8(46))
    store(end + 1, types.uint8(48))
    return end + 2


@compiled
def ten_thousandths(numbers: np.ndarray, out: np.ndarray) -> bool:
    """Whether all numbers have four decimals at most, and a size at which no exponent is written.

    Args:
        numbers: float64.
        out: int64, as many; filled with ten thousand times each.
    """
    for i in range(len(numbers)):
        number = numbers[i]
        size = abs(number)
        scaled = np.rint(size * 10_000.0)
        # a number has one decimal of fewer than 16 digits at most
        plain = 1e-3 <= size < 1e7 or (size == 0.0 and not np.signbit(number))
        if not plain or scaled / 10_000.0 != size:
            return False
        out[i] = types.int64(scaled) if number > 0.0 else -types.int64(scaled)
    return True


@compiled
def _put_decimals(target: int, value: int) -> int:
    """Write ten-thousandths as a number with a fraction, without needless zeros."""
    if value < 0:
        store(target, types.uint8(45))  # the minus sign
        target, value = target + 1, -value
    fraction = value % 10_000
    target = _put_integer(target, value // 10_000)
    store(target, types.uint8(46))  # the point
    end = target + 1
    while True:
        store(end, types.uint8(fraction // 1000 + 48))
        end, fraction = end + 1, fraction % 1000 * 10
        if fraction == 0:
            return end


@compiled
def _put_truth(target: int, part: np.ndarray, row: int) -> int:
    bit = part[DATA] + row
    if load(part[VALUES] + (bit >> 3), types.uint8) >> (bit & 7) & 1:
        store(target, types.uint32(0x65757274))  # "true"
        return target + 4
    store(target, types.uint8(102))  # "f", "alse"
    store(target + 1, types.uint32(0x65736C61))
    return target + 5


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
        out: uint8, with room for all that there can be, and a word.
        positions: int32, a row more than there are rows: where each begins and ends.
    """
    base = types.int64(out.ctypes.data)
    target = base
    for row in range(len(positions) - 1):
        positions[row] = target - base
        for i in range(len(parts)):
            part = parts[i]
            target = _put_name(target, part[NAME], part[NAME_SIZE])
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
            elif kind == FLOAT:
                target = _put_float(target, part, row)
            elif kind == DECIMALS:
                target = _put_decimals(target, types.int64(load(part[VALUES] + 8 * row, types.int64)))
            elif kind == BOOLEAN:
                target = _put_truth(target, part, row)
            else:
                target = _put_integer(target, _integer(part, row))
        store(target, types.uint8(125))  # the closing brace
        target += 1
    positions[len(positions) - 1] = target - base
