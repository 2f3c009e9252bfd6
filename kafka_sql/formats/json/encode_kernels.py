"""Encode rows as JSON objects with a loop that numba compiles."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numba import types

from kafka_sql.formats.columnar.buffer_kernels import load_int64
from kafka_sql.runtime.numba_support import compiled, copy, helper, load, store

# Cells of a field's row
TYPE: Final = 0  # one of the types below
NAME: Final = 1  # address of the comma, name and colon before the value, padded to whole words
NAME_SIZE: Final = 2
VALUES: Final = 3  # address of the numbers, of the bits, or of a string's int32 offsets
DATA: Final = 4  # address of a string's bytes; of BOOLEAN, the number of the first bit
VALID: Final = 5  # address of a byte per row, which is 0 if the value is null; 0 if no value is null
FIELD_CELLS: Final = 6

# Types: text to copy, text to put in quotes, Arrow's text of a float, doubles as int64 ten-thousandths, bits, integers
TEXT, QUOTED, FLOAT, TEN_THOUSANDTHS, BOOLEAN, INT8, INT16, INT32, INT64 = range(9)

WORD: Final = 8  # bytes
MAX_INTEGER_SIZE: Final = 20
MAX_FLOAT_GROWTH: Final = 7  # by how many bytes "-Infinity" in quotes is longer than Arrow's -inf
_MINUS, _POINT, _QUOTE, _COMMA, _OPEN, _CLOSE = 45, 46, 34, 44, 123, 125
_NULL, _TRUE, _ALSE = 0x6C6C756E, 0x65757274, 0x65736C61  # "null", "true", and "alse" of "false"; little-endian
_ZERO: Final = 48
_LOWER_E, _LOWER_F, _LOWER_N = 101, 102, 110
_NAN: Final = np.frombuffer(b'"NaN"', np.uint8)
_INFINITY: Final = np.frombuffer(b'"Infinity"', np.uint8)
_NEGATIVE_INFINITY: Final = np.frombuffer(b'"-Infinity"', np.uint8)
_DIGIT_PAIRS: Final = np.frombuffer(b"".join(b"%02d" % n for n in range(100)), np.uint8)


class Objects(NamedTuple):
    """What the loop reads and writes, as addresses."""

    fields: int  # int64, field_count x FIELD_CELLS
    field_count: int
    row_count: int
    output: int  # capacity for all rows, and a word
    offsets: int  # int32, row_count + 1: where each row begins and ends in the output
    skip_null: int  # 1 to leave out fields that are null


@compiled
def encode_rows(objects: Objects) -> int:
    """Write the rows one after the other; return the size of the output."""
    target = objects.output
    for row in range(objects.row_count):
        start = target
        store(objects.offsets + 4 * row, types.int32(start - objects.output))
        for i in range(objects.field_count):
            field = objects.fields + 8 * FIELD_CELLS * i
            valid = load_int64(field, VALID)
            is_null = valid != 0 and load(valid + row, types.uint8) == 0
            if is_null and objects.skip_null:
                continue
            target = _write_words(target, load_int64(field, NAME), load_int64(field, NAME_SIZE))
            if is_null:
                store(target, types.uint32(_NULL))
                target += 4
            else:
                target = _write_value(target, field, row)
        if target == start:  # no field was written, so there is no comma to overwrite
            target += 1
        store(start, types.uint8(_OPEN))  # over the first comma
        store(target, types.uint8(_CLOSE))
        target += 1
    store(objects.offsets + 4 * objects.row_count, types.int32(target - objects.output))
    return target - objects.output


@helper
def _write_value(target: int, field: int, row: int) -> int:
    """Write a value that is not null, and return where it ends."""
    type = load_int64(field, TYPE)
    if type == TEXT:
        return _write_text(target, field, row)
    if type == QUOTED:
        store(target, types.uint8(_QUOTE))
        target = _write_text(target + 1, field, row)
        store(target, types.uint8(_QUOTE))
        return target + 1
    if type == FLOAT:
        return _write_float(target, field, row)
    if type == TEN_THOUSANDTHS:
        return _write_ten_thousandths(target, load_int64(load_int64(field, VALUES), row))
    if type == BOOLEAN:
        return _write_boolean(target, field, row)
    return _write_integer(target, _load_integer(type, load_int64(field, VALUES), row))


@helper
def _write_words(target: int, source: int, size: int) -> int:
    """Copy whole words, which is faster than memcpy for few bytes. The next write replaces what is beyond ``size``."""
    for offset in range(0, size, WORD):
        store(target + offset, load(source + offset, types.uint64))
    return target + size


@helper
def _write_text(target: int, field: int, row: int) -> int:
    offsets = load_int64(field, VALUES) + 4 * row
    start = types.int64(load(offsets, types.int32))
    size = types.int64(load(offsets + 4, types.int32)) - start
    copy(target, load_int64(field, DATA) + start, size)
    return target + size


@helper
def _write_bytes(target: int, text: np.ndarray) -> int:
    for i in range(len(text)):
        store(target + i, text[i])
    return target + len(text)


@helper
def _write_float(target: int, field: int, row: int) -> int:
    """Write Arrow's text of a float; with ``.0`` if it is an integer, and in quotes if it is not finite."""
    end = _write_text(target, field, row)
    last = load(end - 1, types.uint8)
    if last == _LOWER_N:  # nan
        return _write_bytes(target, _NAN)
    if last == _LOWER_F:  # inf, -inf
        return _write_bytes(target, _NEGATIVE_INFINITY if load(target, types.uint8) == _MINUS else _INFINITY)
    for cursor in range(target, end):
        byte = load(cursor, types.uint8)
        if byte in (_POINT, _LOWER_E):
            return end
    store(end, types.uint8(_POINT))
    store(end + 1, types.uint8(_ZERO))
    return end + 2


@compiled
def to_ten_thousandths(numbers: np.ndarray, output: np.ndarray) -> bool:
    """Multiply doubles by 10,000; return False if one has more than four decimals, or is written with an exponent."""
    for i in range(len(numbers)):
        number = numbers[i]
        magnitude = abs(number)
        scaled = np.rint(magnitude * 10_000.0)
        # In this range, no two numbers of four decimals are the same double.
        in_range = 1e-3 <= magnitude < 1e7 or (magnitude == 0.0 and not np.signbit(number))
        if not in_range or scaled / 10_000.0 != magnitude:
            return False
        output[i] = types.int64(scaled) if number > 0.0 else -types.int64(scaled)
    return True


@helper
def _write_ten_thousandths(target: int, value: int) -> int:
    """Write a number of ten-thousandths with one to four decimals."""
    if value < 0:
        store(target, types.uint8(_MINUS))
        target, value = target + 1, -value
    fraction = value % 10_000
    target = _write_integer(target, value // 10_000)
    store(target, types.uint8(_POINT))
    end = target + 1
    while True:
        store(end, types.uint8(fraction // 1000 + _ZERO))
        end, fraction = end + 1, fraction % 1000 * 10
        if fraction == 0:
            return end


@helper
def _write_boolean(target: int, field: int, row: int) -> int:
    bit = load_int64(field, DATA) + row
    if load(load_int64(field, VALUES) + (bit >> 3), types.uint8) >> (bit & 7) & 1:
        store(target, types.uint32(_TRUE))
        return target + 4
    store(target, types.uint8(_LOWER_F))
    store(target + 1, types.uint32(_ALSE))
    return target + 5


@helper
def _load_integer(type: int, values: int, row: int) -> int:
    if type == INT64:
        return types.int64(load(values + 8 * row, types.int64))
    if type == INT32:
        return types.int64(load(values + 4 * row, types.int32))
    if type == INT16:
        return types.int64(load(values + 2 * row, types.int16))
    return types.int64(load(values + row, types.int8))


@helper
def _write_integer(target: int, value: int) -> int:
    """Write the decimal digits of an integer, two at a time from the end."""
    remaining = np.uint64(value)
    if value < 0:
        store(target, types.uint8(_MINUS))
        target += 1
        remaining = np.uint64(0) - remaining
    digits, limit = 1, np.uint64(10)
    while digits < 19 and remaining >= limit:
        digits += 1
        limit *= np.uint64(10)
    cursor = target + digits
    while remaining >= np.uint64(100):
        pair = types.int64(remaining % np.uint64(100)) * 2
        remaining //= np.uint64(100)
        cursor -= 2
        store(cursor, _DIGIT_PAIRS[pair])
        store(cursor + 1, _DIGIT_PAIRS[pair + 1])
    if remaining >= np.uint64(10):
        pair = types.int64(remaining) * 2
        store(cursor - 2, _DIGIT_PAIRS[pair])
        store(cursor - 1, _DIGIT_PAIRS[pair + 1])
    else:
        store(cursor - 1, types.uint8(types.int64(remaining) + _ZERO))
    return target + digits
