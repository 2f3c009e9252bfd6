"""Compiled loops that read JSON's values by address: those of columns that are not nested, and those of no column."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from kafka_sql.formats.columnar import decode_plan as p
from kafka_sql.formats.columnar import scalar_kernels
from kafka_sql.formats.columnar.buffer_kernels import INEXACT, REJECTED, store_number
from kafka_sql.formats.json import strings
from kafka_sql.runtime.numba_support import copy, helper, load, store

QUOTE, COMMA, COLON, OPEN, CLOSE, OPEN_LIST, CLOSE_LIST = 34, 44, 58, 123, 125, 91, 93
_TRUE, _NULL, _ALSE = 0x65757274, 0x6C6C756E, 0x65736C61  # four bytes as a little-endian word
_DEEPEST: Final = 60  # of what no column takes


@helper
def space(at: int, end: int) -> int:
    while at < end:
        byte = load(at, types.uint8)
        if byte > 32 or not (byte == 32 or byte == 10 or byte == 13 or byte == 9):
            break
        at += 1
    return at


@helper
def literal(at: int, end: int) -> int:
    """The length of true, false or null; 0 where there is none."""
    if end - at >= 4:
        word = load(at, types.uint32)
        if word in (_TRUE, _NULL):
            return 4
        if end - at >= 5 and load(at, types.uint8) == 102 and load(at + 1, types.uint32) == _ALSE:
            return 5
    return 0


@helper
def colon(at: int, end: int) -> int:
    """Where the value behind a name begins; -1 where there is none."""
    at = space(at, end)
    if at >= end or load(at, types.uint8) != COLON:
        return -1
    at = space(at + 1, end)
    return at if at < end else -1


@helper
def _skip_name(at: int, end: int, limit: int) -> int:
    if at >= end or load(at, types.uint8) != QUOTE:
        return -1
    at = strings.skip(at + 1, end, limit)
    return colon(at, end) if at >= 0 else -1


@helper
def skip(at: int, end: int, limit: int) -> int:
    """Where a value ends that no column takes; -1 where it is no JSON, or nested too deep for this."""
    depth, objects = 0, np.uint64(0)  # a bit for each that is open
    while True:
        if at >= end:
            return -1
        byte = load(at, types.uint8)
        if byte == QUOTE:
            at = strings.skip(at + 1, end, limit)
        elif byte in (OPEN, OPEN_LIST):
            if depth == _DEEPEST:
                return -1
            at = space(at + 1, end)
            if at >= end:
                return -1
            if load(at, types.uint8) != byte + 2:
                depth += 1
                objects = (objects << np.uint64(1)) | np.uint64(byte == OPEN)
                if byte == OPEN:
                    at = _skip_name(at, end, limit)
                    if at < 0:
                        return -1
                continue
            at += 1  # an empty one
        else:
            length = literal(at, end)
            at = at + length if length > 0 else scalar_kernels.scan_number(at, end)[0]
        while True:
            if at < 0 or depth == 0:
                return at
            at = space(at, end)
            if at >= end:
                return -1
            byte = load(at, types.uint8)
            inside = objects & np.uint64(1)
            at += 1
            if byte == COMMA:
                at = space(at, end)
                if inside:
                    at = _skip_name(at, end, limit)
                    if at < 0:
                        return -1
                break
            if byte != (CLOSE if inside else CLOSE_LIST):
                return -1
            depth -= 1
            objects >>= np.uint64(1)


@helper
def same(at: int, other: int, size: int) -> bool:
    while size >= 8:
        if load(at, types.uint64) != load(other, types.uint64):
            return False
        at += 8
        other += 8
        size -= 8
    while size > 0:
        if load(at, types.uint8) != load(other, types.uint8):
            return False
        at += 1
        other += 1
        size -= 1
    return True


@helper
def find(at: int, stop: int, names: np.ndarray, names_at: int, first: int, fields: int, guess: int) -> int:
    """Which field a name in quotes is; -1 where it is none, -2 where it has escapes."""
    for j in range(fields):
        k = guess + j if guess + j < fields else guess + j - fields
        if names[first + k, p.NAME_SIZE] == stop - at and same(
            at, names_at + names[first + k, p.NAME_OFFSET], stop - at
        ):
            return k
    while at < stop:
        if load(at, types.uint8) == 92:
            return -2
        at += 1
    return -1


@helper
def scalar(
    at: int,
    end: int,
    limit: int,
    row: int,
    iso: bool,
    values: int,
    n: int,
    text: int,
) -> tuple[int, int]:
    """Read a value that is not nested; where it ends (-1 where it is left alone), and where its text does.

    A number that is yet to be read ends at -2 - its end.

    Args:
        row: address of the slot's row in the program.
        values: address of the slot's values, n: which is written.
        text: address for the bytes of a text.
    """
    kind, byte = load(row + 8 * p.TYPE, types.int64), load(at, types.uint8)
    if kind == p.STRING:
        if byte == QUOTE:
            return strings.take(at + 1, end, limit, text)
        begin, length = at, literal(at, end)
        at = at + length if length > 0 else scalar_kernels.scan_number(at, end)[0]
        if at >= 0:
            copy(text, begin, at - begin)
            text += at - begin
        return at, text
    if kind == p.BOOLEAN:
        length = literal(at, end)
        store(values + n, types.uint8(length == 4))
        return at + length if length > 0 else -1, text
    quoted = byte == QUOTE
    at += quoted
    if kind <= p.DECIMAL:
        begin = at
        at, mantissa, exponent, flags = scalar_kernels.scan_number(at, end)
        if at < 0:
            return -1, text
        written = store_number(row, values, n, mantissa, exponent, flags)
        if written == REJECTED:
            return -1, text
        if quoted:
            if at >= end or load(at, types.uint8) != QUOTE:
                return -1, text
            at += 1
        return -2 - at if written == INEXACT else at, text
    if not quoted:
        return -1, text
    if kind == p.TIMESTAMP:
        micros, at = scalar_kernels.parse_timestamp(
            at, end, 84 if iso else 32, load(row + 8 * p.SCALE, types.int64) == 1
        )
        store(values + 8 * n, micros)
        if micros == scalar_kernels.INVALID:
            return -1, text
    elif kind == p.DATE:
        days = scalar_kernels.parse_date(at, end)
        store(values + 4 * n, types.int32(days))
        if days == scalar_kernels.INVALID:
            return -1, text
        at += 10
    elif kind == p.TIME:
        nanos, at = scalar_kernels.parse_time(at, end)
        store(values + 8 * n, nanos // 1_000_000 * 1_000_000)
        if nanos == scalar_kernels.INVALID:
            return -1, text
    else:
        at, text = scalar_kernels.decode_base64(at, end, text)
    if at >= end or load(at, types.uint8) != QUOTE:
        return -1, text
    return at + 1, text
