"""Numba helpers that parse and store CSV values by address."""

from __future__ import annotations

from typing import Final

from numba import types

from kafka_sql.formats.columnar import decode_plan
from kafka_sql.formats.columnar.buffer_kernels import REJECTED, STORED, load_int64, store_number, store_temporal
from kafka_sql.formats.columnar.scalar_kernels import scan_number
from kafka_sql.runtime.numba_support import copy, helper, inline_helper, load, store

CR: Final = 13
LF: Final = 10
SPACE: Final = 32
_TAB: Final = 9
_TRUE: Final = 0x65757274  # "true" as a little-endian word
_TO_LOWER: Final = 0x20202020
_GREGORIAN: Final = -141_427  # 1582-10-15; java.sql.Date reads earlier dates in the Julian calendar


@helper
def strip(cursor: int, stop: int) -> tuple[int, int]:
    """Return the bounds of a string without the characters that Java's String.trim removes."""
    while cursor < stop and load(cursor, types.uint8) <= SPACE:
        cursor += 1
    while stop > cursor and load(stop - 1, types.uint8) <= SPACE:
        stop -= 1
    return cursor, stop


@helper
def copy_text(cursor: int, stop: int, last_word: int, target: int) -> None:
    """Copy a string, eight bytes at a time if they can be loaded; this writes up to seven bytes past its end."""
    if stop <= last_word:
        while cursor < stop:
            store(target, load(cursor, types.uint64))
            cursor += 8
            target += 8
    else:
        copy(target, cursor, stop - cursor)


@helper
def copy_unescaped(cursor: int, stop: int, quote: int, escape: int, target: int) -> int:
    """Write a string without its escapes and doubled quotes, and return where it ends."""
    while cursor < stop:
        byte = load(cursor, types.uint8)
        if byte == quote:
            cursor += 1
        elif byte == escape:
            cursor += 1
            byte = load(cursor, types.uint8)
            if byte == 48:  # 0
                byte = types.uint8(0)
            elif byte == 110:  # n
                byte = types.uint8(LF)
            elif byte == 114:  # r
                byte = types.uint8(CR)
            elif byte == 116:  # t
                byte = types.uint8(_TAB)
        store(target, byte)
        target += 1
        cursor += 1
    return target


@inline_helper
def store_value(plan_row: int, values: int, entry: int, cursor: int, stop: int) -> int:
    """Parse and store a value of fixed width; return REJECTED, STORED or INEXACT as ``store_number`` does."""
    type = load_int64(plan_row, decode_plan.TYPE)
    if type <= decode_plan.DOUBLE:
        cursor, stop = strip(cursor, stop)
    if type == decode_plan.BOOLEAN:
        is_true = stop - cursor == 4 and load(cursor, types.uint32) | _TO_LOWER == _TRUE
        store(values + entry, types.uint8(is_true))
        return STORED
    if type <= decode_plan.DECIMAL:
        end, mantissa, exponent, flags = scan_number(cursor, stop)
        return store_number(plan_row, values, entry, mantissa, exponent, flags) if end == stop else REJECTED
    end = store_temporal(plan_row, values, entry, cursor, stop, SPACE, 0)
    if end != stop or (type == decode_plan.DATE and load(values + 4 * entry, types.int32) < _GREGORIAN):
        return REJECTED
    return STORED
