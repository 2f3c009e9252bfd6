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
def _find_any(at: int, end: int, last_word: int, a: int, b: int, c: int, d: int) -> int:
    """Return the address of the first byte equal to any of four broadcast bytes, or ``end``.

    Args:
        last_word: the last address from which eight bytes can be loaded.
    """
    while at < end and at <= last_word:
        word = load(at, types.uint64)
        mask = zero_byte_mask(word ^ a) | zero_byte_mask(word ^ b) | zero_byte_mask(word ^ c) | zero_byte_mask(word ^ d)
        if mask != np.uint64(0):
            return min(at + (trailing_zeros(mask) >> 3), end)
        at += 8
    while at < end:
        word = np.uint64(load(at, types.uint8)) * LOW_BITS
        if word in (a, b, c, d):
            break
        at += 1
    return min(at, end)


@helper
def split_quoted(
    at: int, end: int, last_word: int, separator: int, quote: int, escape: int
) -> tuple[int, int, int, bool, bool]:
    """Split off the value whose opening quote is before ``at``. Returns what ``split_unquoted`` does."""
    start, escaped = at, False
    quotes, escapes = broadcast(quote), broadcast(escape if escape >= 0 else quote)
    while True:
        at = _find_any(at, end, last_word, quotes, quotes, escapes, escapes)
        if at >= end:
            return -1, at, at, False, False
        if load(at, types.uint8) == quote and (at + 1 >= end or load(at + 1, types.uint8) != quote):
            break
        escaped = True
        at += 2
    stop = at
    at += 1
    while at < end:
        byte = load(at, types.uint8)
        at += 1
        if byte == separator:
            return start, stop, at, True, escaped
        if byte in (CR, LF):
            break
        if byte > SPACE:
            return -1, at, at, False, False
    return start, stop, at, False, escaped


@inline_helper
def split_unquoted(
    at: int, end: int, last_word: int, separator: int, escape: int, separators: int, escapes: int, trim: int
) -> tuple[int, int, int, bool, bool]:
    """Split off a value that is not in quotes.

    Args:
        separators, escapes: these bytes, broadcast.

    Returns:
        where the value begins (-1 if this is left to the fallback) and ends, where the next one begins, whether there
        is a next one, and whether the value has escapes.
    """
    start, escaped, has_next = at, False, False
    while True:
        at = _find_any(at, end, last_word, separators, escapes, _CRS, _LFS)
        if at >= end:
            break
        byte = load(at, types.uint8)
        if byte == separator:
            has_next = True
            break
        if byte != escape:  # a line end
            break
        escaped = True
        at += 2
        if at > end:
            return -1, at, at, False, False
    if trim and escaped:
        return -1, at, at, False, False
    stop = at
    if trim:
        while stop > start and load(stop - 1, types.uint8) <= SPACE:
            stop -= 1
    return start, stop, at + 1, has_next, escaped


@helper
def skip_blanks(at: int, end: int, separator: int) -> int:
    """Return the address of the first byte that 'csv.trim-spaces' does not skip before a value."""
    while at < end:
        byte = load(at, types.uint8)
        if byte > SPACE or byte in (separator, CR, LF):
            break
        at += 1
    return at


@helper
def has_elements(start: int, stop: int, element_separator: int) -> bool:
    """Return whether the text of an ARRAY or ROW has elements; a blank one has none."""
    low, high = strip(start, stop)
    if low < high:
        return True
    while start < stop and types.int64(load(start, types.uint8)) != element_separator:
        start += 1
    return start < stop


@helper
def needs_fallback(at: int, end: int, comments: int) -> bool:
    """Return whether a payload is empty, may have another encoding than UTF-8, or may begin with a comment."""
    if at == end:
        return True
    first = load(at, types.uint8)
    if first == 0xEF or first >= 0xFE or (comments and (first == _HASH or first in (SPACE, CR, LF))):
        return True
    has_zero = False
    for i in range(at, min(at + 4, end)):
        has_zero = has_zero or load(i, types.uint8) == 0
    return has_zero
