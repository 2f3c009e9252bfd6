"""Compiled loops that cut payloads of CSV into values, as Jackson's CsvDecoder does, eight bytes at a time."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from kafka_sql.formats.csv.values import strip
from kafka_sql.runtime.numba_support import helper, inline_helper, load, trailing_zeros

_CR: Final = 13
_LF: Final = 10
_SPACE: Final = 32
_ONES: Final = np.uint64(0x0101_0101_0101_0101)
_TOPS: Final = np.uint64(0x8080_8080_8080_8080)
_CRS: Final = np.uint64(0x0D0D_0D0D_0D0D_0D0D)
_LFS: Final = np.uint64(0x0A0A_0A0A_0A0A_0A0A)


@helper
def all_of(byte: int, other: int) -> int:
    """A word of a byte alone, or of another where there is none."""
    return np.uint64(byte if byte >= 0 else other) * _ONES


@helper
def _zeros(word: int) -> int:
    """A word whose lowest bit that is set stands in the first byte of ``word`` that is 0."""
    return (word - _ONES) & ~word & _TOPS


@inline_helper
def _find(at: int, end: int, limit: int, a: int, b: int, c: int, d: int) -> int:
    """Where the first of the bytes stands of which four words consist; the end where there is none."""
    while at < end and at <= limit:
        word = load(at, types.uint64)
        found = _zeros(word ^ a) | _zeros(word ^ b) | _zeros(word ^ c) | _zeros(word ^ d)
        if found != np.uint64(0):
            return min(at + (trailing_zeros(found) >> 3), end)
        at += 8
    while at < end:
        word = np.uint64(load(at, types.uint8)) * _ONES
        if word in (a, b, c, d):
            break
        at += 1
    return min(at, end)


@helper
def cut_quoted(
    at: int, end: int, limit: int, separator: int, quote: int, escape: int
) -> tuple[int, int, int, bool, bool]:
    """The value that begins behind a quote, as ``_cut``."""
    start, escaped = at, False
    quotes, escapes = all_of(quote, quote), all_of(escape, quote)
    while True:
        at = _find(at, end, limit, quotes, quotes, escapes, escapes)
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
        if byte in (_CR, _LF):
            break
        if byte > _SPACE:
            return -1, at, at, False, False
    return start, stop, at, False, escaped


@inline_helper
def cut(
    at: int, end: int, limit: int, separator: int, escape: int, separators: int, escapes: int, trim: bool
) -> tuple[int, int, int, bool, bool]:
    """A value: where it begins and ends, where the next begins, whether there is a next, and whether it has escapes.

    The first is -1 where it is left alone.

    Args:
        separators, escapes: words of these bytes alone.
    """
    start, escaped, more = at, False, False
    while True:
        at = _find(at, end, limit, separators, escapes, _CRS, _LFS)
        if at >= end:
            break
        byte = load(at, types.uint8)
        if byte == separator:
            more = True
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
        while stop > start and load(stop - 1, types.uint8) <= _SPACE:
            stop -= 1
    return start, stop, at + 1, more, escaped


@helper
def has_elements(start: int, stop: int, inner: int) -> bool:
    """Whether the text of an array or row has elements: a blank one has not."""
    low, high = strip(start, stop)
    if low < high:
        return True
    while start < stop and types.int64(load(start, types.uint8)) != inner:
        start += 1
    return start < stop


@helper
def is_strange(at: int, end: int, comments: bool) -> bool:
    """Whether a payload may be in another encoding, or begin with a comment."""
    if at == end:
        return True
    first = load(at, types.uint8)
    if first == 0xEF or first >= 0xFE or (comments and (first == 35 or first in (_SPACE, _CR, _LF))):
        return True
    zero = False
    for k in range(at, min(at + 4, end)):
        zero = zero or load(k, types.uint8) == 0
    return zero
