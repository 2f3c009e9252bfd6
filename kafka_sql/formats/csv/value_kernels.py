"""Numba helpers that parse and store CSV values by address."""

from __future__ import annotations

from typing import Final

from numba import types

from kafka_sql.formats.columnar import decode_plan as p
from kafka_sql.formats.columnar.buffer_kernels import REJECTED, STORED, load_int64, store_number, store_temporal
from kafka_sql.formats.columnar.scalar_kernels import scan_number
from kafka_sql.runtime.numba_support import copy, helper, inline_helper, load, store

CR: Final = 13
LF: Final = 10
SPACE: Final = 32
_TAB: Final = 9
_TRUE: Final = 0x65757274  # four bytes as a little-endian word
_TO_LOWER: Final = 0x20202020
_GREGORIAN: Final = -141_427  # 1582-10-15; java.sql.Date reads earlier dates in the Julian calendar


@helper
def strip(at: int, stop: int) -> tuple[int, int]:
    """Return the bounds of a text without what Java's String.trim removes."""
    while at < stop and load(at, types.uint8) <= SPACE:
        at += 1
    while stop > at and load(stop - 1, types.uint8) <= SPACE:
        stop -= 1
    return at, stop


@helper
def copy_text(at: int, stop: int, last_word: int, target: int) -> None:
    """Copy a text; eight bytes at a time, and up to seven more than needed, if they can be loaded."""
    if stop <= last_word:
        while at < stop:
            store(target, load(at, types.uint64))
            at += 8
            target += 8
    else:
        copy(target, at, stop - at)


@helper
def copy_unescaped(at: int, stop: int, quote: int, escape: int, target: int) -> int:
    """Write a text without its escapes and doubled quotes, and return where it ends."""
    while at < stop:
        byte = load(at, types.uint8)
        if byte == quote:
            at += 1
        elif byte == escape:
            at += 1
            byte = load(at, types.uint8)
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
        at += 1
    return target


@inline_helper
def store_value(plan_row: int, values: int, entry: int, at: int, stop: int) -> int:
    """Parse and store a value of fixed width: REJECTED, STORED or INEXACT, as ``store_number``."""
    type_ = load_int64(plan_row, p.TYPE)
    if type_ <= p.DOUBLE:
        at, stop = strip(at, stop)
    if type_ == p.BOOLEAN:
        is_true = stop - at == 4 and load(at, types.uint32) | _TO_LOWER == _TRUE
        store(values + entry, types.uint8(is_true))
        return STORED
    if type_ <= p.DECIMAL:
        end, mantissa, exponent, flags = scan_number(at, stop)
        return store_number(plan_row, values, entry, mantissa, exponent, flags) if end == stop else REJECTED
    end = store_temporal(plan_row, values, entry, at, stop, SPACE)
    if end != stop or (type_ == p.DATE and load(values + 4 * entry, types.int32) < _GREGORIAN):
        return REJECTED
    return STORED
