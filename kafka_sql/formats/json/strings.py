"""Compiled loops that read JSON strings by address, eight bytes at a time where they are plain.

Each is given where the string begins, behind its quote, and where the payload ends. What is no string, no UTF-8, or has
half of a surrogate pair is left to the exact way.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from kafka_sql.runtime.numba_support import helper, load, store, trailing_zeros

_QUOTE: Final = 34
_BACKSLASH: Final = 92
_ONES: Final = np.uint64(0x0101_0101_0101_0101)
_TOPS: Final = np.uint64(0x8080_8080_8080_8080)
_QUOTES: Final = np.uint64(0x2222_2222_2222_2222)
_BACKSLASHES: Final = np.uint64(0x5C5C_5C5C_5C5C_5C5C)
_NO_ESCAPE: Final = 255
_ESCAPES: Final = np.full(256, _NO_ESCAPE, np.uint8)  # what stands behind a backslash to what it means
_ESCAPES[np.frombuffer(b'"\\/bfnrt', np.uint8)] = np.frombuffer(b'"\\/\b\f\n\r\t', np.uint8)
_HEX: Final = np.full(256, 1 << 20, np.int64)
_HEX[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)
_HEX[np.frombuffer(b"ABCDEF", np.uint8)] = np.arange(10, 16)


@helper
def _special(word: int) -> int:
    """A word whose lowest bit that is set stands in the first byte of ``word`` that is not plain ASCII."""
    quotes, backslashes = word ^ _QUOTES, word ^ _BACKSLASHES
    return (((quotes - _ONES) & ~quotes) | ((backslashes - _ONES) & ~backslashes) | word) & _TOPS


@helper
def _sequence(at: int, end: int) -> int:
    """The length of a character of two bytes or more in UTF-8; 0 where it is none."""
    first = load(at, types.uint8)
    length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if first < 0xC2 or first > 0xF4 or end - at < length:
        return 0
    second = load(at + 1, types.uint8)
    if second & 0xC0 != 0x80:
        return 0
    if (first == 0xE0 and second < 0xA0) or (first == 0xED and second > 0x9F):
        return 0
    if (first == 0xF0 and second < 0x90) or (first == 0xF4 and second > 0x8F):
        return 0
    for i in range(2, length):
        if load(at + i, types.uint8) & 0xC0 != 0x80:
            return 0
    return length


@helper
def _hex(at: int) -> int:
    return (
        (_HEX[load(at, types.uint8)] << 12)
        + (_HEX[load(at + 1, types.uint8)] << 8)
        + (_HEX[load(at + 2, types.uint8)] << 4)
        + _HEX[load(at + 3, types.uint8)]
    )


@helper
def _escape(at: int, end: int) -> tuple[int, int]:
    """The character that an escape means (-1 where it is none), and where it ends."""
    if end - at < 2:
        return -1, at
    letter = load(at + 1, types.uint8)
    if letter != 117:  # u
        meant = types.int64(_ESCAPES[letter])
        return -1 if meant == _NO_ESCAPE else meant, at + 2
    if end - at < 6:
        return -1, at
    code = _hex(at + 2)
    if code < 0xD800 or 0xE000 <= code < 0x10000:
        return code, at + 6
    if code >= 0xDC00 or end - at < 12 or load(at + 6, types.uint8) != _BACKSLASH or load(at + 7, types.uint8) != 117:
        return -1, at
    low = _hex(at + 8)
    if low < 0xDC00 or low >= 0xE000:
        return -1, at
    return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), at + 12


@helper
def _put(target: int, code: int) -> int:
    """Write a character in UTF-8; where it ends."""
    if code < 0x80:
        store(target, types.uint8(code))
        return target + 1
    if code < 0x800:
        store(target, types.uint8(0xC0 | (code >> 6)))
    else:
        if code < 0x10000:
            store(target, types.uint8(0xE0 | (code >> 12)))
        else:
            store(target, types.uint8(0xF0 | (code >> 18)))
            target += 1
            store(target, types.uint8(0x80 | ((code >> 12) & 63)))
        target += 1
        store(target, types.uint8(0x80 | ((code >> 6) & 63)))
    store(target + 1, types.uint8(0x80 | (code & 63)))
    return target + 2


@helper
def take(at: int, end: int, limit: int, target: int) -> tuple[int, int]:
    """Write a string's text; where the string ends, behind its quote (-1 where it is left alone), and the text.

    Args:
        limit: the last address from which a word can be loaded.
        target: has room for the rest of the payload and eight bytes.
    """
    while at < end:
        if at <= limit:
            word = load(at, types.uint64)
            store(target, word)
            special = _special(word)
            if special == np.uint64(0):
                at += 8
                target += 8
                continue
            plain = trailing_zeros(special) >> 3
            at += plain
            target += plain
            if at >= end:
                break
        byte = load(at, types.uint8)
        if byte == _QUOTE:
            return at + 1, target
        if byte == _BACKSLASH:
            code, at = _escape(at, end)
            if code < 0:
                break
            target = _put(target, code)
        elif byte >= 0x80:
            length = _sequence(at, end)
            if length == 0:
                break
            for i in range(length):
                store(target + i, load(at + i, types.uint8))
            at += length
            target += length
        else:
            store(target, byte)
            at += 1
            target += 1
    return -1, target


@helper
def skip(at: int, end: int, limit: int) -> int:
    """Where a string ends, behind its quote; -1 where it is left alone."""
    while at < end:
        if at <= limit:
            special = _special(load(at, types.uint64))
            if special == np.uint64(0):
                at += 8
                continue
            at += trailing_zeros(special) >> 3
            if at >= end:
                break
        byte = load(at, types.uint8)
        if byte == _QUOTE:
            return at + 1
        if byte == _BACKSLASH:
            code, at = _escape(at, end)
            if code < 0:
                break
        elif byte >= 0x80:
            length = _sequence(at, end)
            if length == 0:
                break
            at += length
        else:
            at += 1
    return -1
