"""Numba helpers that split a CSV payload into values as Jackson's CsvDecoder does, and store the values, by address."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from kafka_sql.formats.columnar import decode_plan
from kafka_sql.formats.columnar.buffer_kernels import REJECTED, STORED, load_int64, store_number, store_temporal
from kafka_sql.formats.columnar.scalar_kernels import LOW_BITS, broadcast, scan_number, zero_byte_mask
from kafka_sql.runtime.numba_support import copy, helper, inline_helper, load, store, trailing_zeros

_TAB, _LF, _CR, _SPACE, _HASH = 9, 10, 13, 32, 35
_CRS: Final = np.uint64(_CR) * LOW_BITS
_LFS: Final = np.uint64(_LF) * LOW_BITS
_TRUE: Final = 0x65757274  # "true" as a little-endian word
_TO_LOWER: Final = 0x20202020
_GREGORIAN: Final = -141_427  # 1582-10-15; java.sql.Date reads earlier dates in the Julian calendar


@helper
def strip(cursor: int, stop: int) -> tuple[int, int]:
    """Return the bounds of a string without the characters that Java's String.trim removes."""
    while cursor < stop and load(cursor, types.uint8) <= _SPACE:
        cursor += 1
    while stop > cursor and load(stop - 1, types.uint8) <= _SPACE:
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
                byte = types.uint8(_LF)
            elif byte == 114:  # r
                byte = types.uint8(_CR)
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
    end = store_temporal(plan_row, values, entry, cursor, stop, _SPACE, 0)
    if end != stop or (type == decode_plan.DATE and load(values + 4 * entry, types.int32) < _GREGORIAN):
        return REJECTED
    return STORED


@inline_helper
def _find_any(cursor: int, end: int, last_word: int, word_a: int, word_b: int, word_c: int, word_d: int) -> int:
    """Return the address of the first byte equal to any of four broadcast bytes, or ``end``."""
    while cursor < end and cursor <= last_word:
        word = load(cursor, types.uint64)
        mask = (
            zero_byte_mask(word ^ word_a)
            | zero_byte_mask(word ^ word_b)
            | zero_byte_mask(word ^ word_c)
            | zero_byte_mask(word ^ word_d)
        )
        if mask != np.uint64(0):
            return min(cursor + (trailing_zeros(mask) >> 3), end)
        cursor += 8
    while cursor < end:
        word = np.uint64(load(cursor, types.uint8)) * LOW_BITS
        if word in (word_a, word_b, word_c, word_d):
            break
        cursor += 1
    return min(cursor, end)


@helper
def split_quoted(
    cursor: int, end: int, last_word: int, separator: int, quote: int, escape: int
) -> tuple[int, int, int, bool, bool]:
    """Split off the value whose opening quote is before ``cursor``. Returns what ``split_unquoted`` does."""
    start, escaped = cursor, False
    quotes, escapes = broadcast(quote), broadcast(escape if escape >= 0 else quote)
    while True:
        cursor = _find_any(cursor, end, last_word, quotes, quotes, escapes, escapes)
        if cursor >= end:
            return -1, cursor, cursor, False, False
        if load(cursor, types.uint8) == quote and (cursor + 1 >= end or load(cursor + 1, types.uint8) != quote):
            break
        escaped = True
        cursor += 2
    stop = cursor
    cursor += 1
    while cursor < end:
        byte = load(cursor, types.uint8)
        cursor += 1
        if byte == separator:
            return start, stop, cursor, True, escaped
        if byte in (_CR, _LF):
            break
        if byte > _SPACE:
            return -1, cursor, cursor, False, False
    return start, stop, cursor, False, escaped


@inline_helper
def split_unquoted(
    cursor: int, end: int, last_word: int, separator: int, escape: int, separators: int, escapes: int, trim: int
) -> tuple[int, int, int, bool, bool]:
    """Split off a value that is not in quotes.

    Returns:
        where the value begins (-1 if this is left to the fallback) and ends, where the next one begins, whether there
        is a next one, and whether the value has escapes.
    """
    start, escaped, has_next = cursor, False, False
    while True:
        cursor = _find_any(cursor, end, last_word, separators, escapes, _CRS, _LFS)
        if cursor >= end:
            break
        byte = load(cursor, types.uint8)
        if byte == separator:
            has_next = True
            break
        if byte != escape:  # a line end
            break
        escaped = True
        cursor += 2
        if cursor > end:
            return -1, cursor, cursor, False, False
    if trim and escaped:
        return -1, cursor, cursor, False, False
    stop = cursor
    if trim:
        while stop > start and load(stop - 1, types.uint8) <= _SPACE:
            stop -= 1
    return start, stop, cursor + 1, has_next, escaped


@helper
def skip_blanks(cursor: int, end: int, separator: int) -> int:
    """Return the address of the first byte that 'csv.trim-spaces' does not skip before a value."""
    while cursor < end:
        byte = load(cursor, types.uint8)
        if byte > _SPACE or byte in (separator, _CR, _LF):
            break
        cursor += 1
    return cursor


@helper
def has_elements(start: int, stop: int, element_separator: int) -> bool:
    """Return whether the text of an ARRAY or ROW has elements; a blank one has none."""
    text_start, text_stop = strip(start, stop)
    if text_start < text_stop:
        return True
    # the separator may itself be blank, such as a tab
    while start < stop and types.int64(load(start, types.uint8)) != element_separator:
        start += 1
    return start < stop


@helper
def needs_fallback(cursor: int, end: int, comments: int) -> bool:
    """Return whether a payload is empty, may not be UTF-8, or may begin with a comment."""
    if cursor == end:
        return True
    first = load(cursor, types.uint8)
    if first == 0xEF or first >= 0xFE or (comments and (first == _HASH or first in (_SPACE, _CR, _LF))):
        return True
    has_zero = False
    for i in range(cursor, min(cursor + 4, end)):
        has_zero = has_zero or load(i, types.uint8) == 0
    return has_zero
