"""Compiled loops that read CSV's values by address."""

from __future__ import annotations

from typing import Final

from numba import types

from kafka_sql.formats.columnar import decode_plan as p
from kafka_sql.formats.columnar import scalar_kernels
from kafka_sql.formats.columnar.buffer_kernels import INEXACT, REJECTED, store_number
from kafka_sql.runtime.numba_support import copy, helper, inline_helper, load, store

_CR: Final = 13
_LF: Final = 10
_SPACE: Final = 32
_GREGORIAN: Final = -141_427  # 1582-10-15; java.sql.Date reads what is before in the Julian calendar


@helper
def strip(at: int, stop: int) -> tuple[int, int]:
    """The text without what Java's String.trim removes."""
    while at < stop and load(at, types.uint8) <= _SPACE:
        at += 1
    while stop > at and load(stop - 1, types.uint8) <= _SPACE:
        stop -= 1
    return at, stop


@helper
def same(at: int, other: int, size: int) -> bool:
    same = True
    for i in range(size):
        same = same and load(at + i, types.uint8) == load(other + i, types.uint8)
    return same


@helper
def _copy(at: int, stop: int, limit: int, target: int) -> None:
    """Copy a text, eight bytes at a time where that many can be read."""
    if stop <= limit:
        while at < stop:
            store(target, load(at, types.uint64))
            at += 8
            target += 8
    else:
        copy(target, at, stop - at)


@helper
def unescaped(at: int, stop: int, quote: int, escape: int, target: int) -> int:
    """Write a text that has escapes or doubled quotes; where it ends."""
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
                byte = types.uint8(_LF)
            elif byte == 114:  # r
                byte = types.uint8(_CR)
            elif byte == 116:  # t
                byte = types.uint8(9)
        store(target, byte)
        target += 1
        at += 1
    return target


@inline_helper
def scalar(at: int, stop: int, limit: int, row: int, values: int, n: int, text: int) -> tuple[bool, int]:
    """Read a value; whether it certainly is one, and where its text ends (-1 for a number that is yet to be read)."""
    kind = load(row + 8 * p.TYPE, types.int64)
    if kind == p.STRING:
        _copy(at, stop, limit, text)
        return True, text + stop - at
    if kind <= p.DOUBLE:
        at, stop = strip(at, stop)
    if kind == p.BOOLEAN:
        true = stop - at == 4 and load(at, types.uint32) | 0x20202020 == 0x65757274
        store(values + n, types.uint8(true))
        return True, text
    if kind <= p.DECIMAL:
        end, mantissa, exponent, flags = scalar_kernels.scan_number(at, stop)
        if end != stop:
            return False, text
        written = store_number(row, values, n, mantissa, exponent, flags)
        return written != REJECTED, -1 if written == INEXACT else text
    if kind == p.TIMESTAMP:
        micros, end = scalar_kernels.parse_timestamp(at, stop, _SPACE, load(row + 8 * p.SCALE, types.int64) == 1)
        store(values + 8 * n, micros)
        return micros != scalar_kernels.INVALID and end == stop, text
    if kind == p.DATE:
        days = scalar_kernels.parse_date(at, stop)
        store(values + 4 * n, types.int32(days))
        return days >= _GREGORIAN and stop - at == 10, text
    if kind == p.TIME:
        nanos, end = scalar_kernels.parse_time(at, stop)
        store(values + 8 * n, nanos // 1_000_000 * 1_000_000)
        return nanos != scalar_kernels.INVALID and end == stop, text
    end, text = scalar_kernels.decode_base64(at, stop, text)
    return end == stop, text
