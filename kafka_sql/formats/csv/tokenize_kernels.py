"""Numba helpers that split a CSV payload into values as Jackson's CsvDecoder does, eight bytes at a time."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from kafka_sql.formats.columnar.scan_kernels import LOW_BITS, broadcast, zero_byte_mask
from kafka_sql.formats.csv.value_kernels import CR, LF, SPACE, strip
from kafka_sql.runtime.numba_support import helper, inline_helper, load, trailing_zeros

_CRS: Final = np.uint64(CR) * LOW_BITS
_LFS: Final = np.uint64(LF) * LOW_BITS
_HASH: Final = 35


@inline_helper
def _find_any(cursor: int, end: int, last_word: int, word_a: int, word_b: int, word_c: int, word_d: int) -> int:
    """Return the address of the first byte equal to any of four broadcast bytes, or ``end``.

    Args:
        last_word: the last address from which eight bytes can be loaded.
    """
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
        if byte in (CR, LF):
            break
        if byte > SPACE:
            return -1, cursor, cursor, False, False
    return start, stop, cursor, False, escaped


@inline_helper
def split_unquoted(
    cursor: int, end: int, last_word: int, separator: int, escape: int, separators: int, escapes: int, trim: int
) -> tuple[int, int, int, bool, bool]:
    """Split off a value that is not in quotes.

    Args:
        separators, escapes: these bytes, broadcast.

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
        while stop > start and load(stop - 1, types.uint8) <= SPACE:
            stop -= 1
    return start, stop, cursor + 1, has_next, escaped


@helper
def skip_blanks(cursor: int, end: int, separator: int) -> int:
    """Return the address of the first byte that 'csv.trim-spaces' does not skip before a value."""
    while cursor < end:
        byte = load(cursor, types.uint8)
        if byte > SPACE or byte in (separator, CR, LF):
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
    if first == 0xEF or first >= 0xFE or (comments and (first == _HASH or first in (SPACE, CR, LF))):
        return True
    has_zero = False
    for i in range(cursor, min(cursor + 4, end)):
        has_zero = has_zero or load(i, types.uint8) == 0
    return has_zero
