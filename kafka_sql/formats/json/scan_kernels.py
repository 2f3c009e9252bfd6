"""Numba helpers that scan JSON by address: strings, names, literals, and values to skip.

Strings are scanned eight bytes at a time while they are ASCII without escapes. A scan that returns -1 found malformed
JSON, malformed UTF-8, an unpaired surrogate or nesting that is too deep. The fallback then decodes the payload, or
reports the error.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from kafka_sql.formats.columnar import decode_plan as p
from kafka_sql.formats.columnar.buffer_kernels import name_cell
from kafka_sql.formats.columnar.scalar_kernels import scan_number
from kafka_sql.formats.columnar.scan_kernels import HIGH_BITS, equal_bytes, zero_byte_mask
from kafka_sql.runtime.numba_support import helper, load, store, trailing_zeros

QUOTE, COMMA, COLON, OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY = 34, 44, 58, 123, 125, 91, 93
_BACKSLASH: Final = 92
_LOWER_F: Final = 102
_LOWER_U: Final = 117
_TRUE, _NULL, _ALSE = 0x65757274, 0x6C6C756E, 0x65736C61  # four bytes as a little-endian word
_MAX_SKIPPED_DEPTH: Final = 60  # bits of the word that holds the open containers

_QUOTES: Final = np.uint64(0x2222_2222_2222_2222)
_BACKSLASHES: Final = np.uint64(0x5C5C_5C5C_5C5C_5C5C)
_NO_ESCAPE: Final = 255
_ESCAPES: Final = np.full(256, _NO_ESCAPE, np.uint8)  # the character that a letter after a backslash stands for
_ESCAPES[np.frombuffer(b'"\\/bfnrt', np.uint8)] = np.frombuffer(b'"\\/\b\f\n\r\t', np.uint8)
_HEX: Final = np.full(256, 1 << 20, np.int64)  # a hex digit's value; more than 0xFFFF for any other byte
_HEX[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)
_HEX[np.frombuffer(b"ABCDEF", np.uint8)] = np.arange(10, 16)


@helper
def skip_space(at: int, end: int) -> int:
    """Return the address of the first byte that is not JSON white space."""
    while at < end:
        byte = load(at, types.uint8)
        if byte > 32 or not (byte == 32 or byte == 10 or byte == 13 or byte == 9):
            break
        at += 1
    return at


@helper
def literal_size(at: int, end: int) -> int:
    """Return the length of true, false or null; 0 if there is none at this address."""
    if end - at >= 4:
        word = load(at, types.uint32)
        if word in (_TRUE, _NULL):
            return 4
        if end - at >= 5 and load(at, types.uint8) == _LOWER_F and load(at + 1, types.uint32) == _ALSE:
            return 5
    return 0


@helper
def skip_colon(at: int, end: int) -> int:
    """Return the address of the value that follows a name; -1 if there is none."""
    at = skip_space(at, end)
    if at >= end or load(at, types.uint8) != COLON:
        return -1
    at = skip_space(at + 1, end)
    return at if at < end else -1


@helper
def _special_byte_mask(word: int) -> int:
    """Return a word whose lowest set bit is in the first byte that is a quote, a backslash or not ASCII."""
    return zero_byte_mask(word ^ _QUOTES) | zero_byte_mask(word ^ _BACKSLASHES) | (word & HIGH_BITS)


@helper
def _utf8_sequence_size(at: int, end: int) -> int:
    """Return the length of a UTF-8 character of two or more bytes; 0 if it is malformed."""
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
def _hex_code(at: int) -> int:
    """Return the number that four hex digits denote; more than 0xFFFF if one of them is not a digit."""
    return (
        (_HEX[load(at, types.uint8)] << 12)
        + (_HEX[load(at + 1, types.uint8)] << 8)
        + (_HEX[load(at + 2, types.uint8)] << 4)
        + _HEX[load(at + 3, types.uint8)]
    )


@helper
def _scan_escape(at: int, end: int) -> tuple[int, int]:
    """Return the character that an escape stands for (-1 if it is malformed), and where the escape ends."""
    if end - at < 2:
        return -1, at
    letter = load(at + 1, types.uint8)
    if letter != _LOWER_U:
        character = types.int64(_ESCAPES[letter])
        return -1 if character == _NO_ESCAPE else character, at + 2
    if end - at < 6:
        return -1, at
    code = _hex_code(at + 2)
    if code < 0xD800 or 0xE000 <= code < 0x10000:
        return code, at + 6
    if (
        code >= 0xDC00
        or end - at < 12
        or load(at + 6, types.uint8) != _BACKSLASH
        or load(at + 7, types.uint8) != _LOWER_U
    ):
        return -1, at
    low = _hex_code(at + 8)
    if low < 0xDC00 or low >= 0xE000:
        return -1, at
    return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), at + 12


@helper
def _store_utf8(target: int, code: int) -> int:
    """Write a character as UTF-8, and return where it ends."""
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
def copy_string(at: int, end: int, last_word: int, target: int) -> tuple[int, int]:
    """Write the content of the string whose opening quote is before ``at``.

    Args:
        last_word: the last address from which eight bytes can be loaded.
        target: has capacity for the rest of the payload and eight bytes.

    Returns:
        the address after the closing quote (-1 if the string is malformed), and the address after the written content.
    """
    while at < end:
        if at <= last_word:
            word = load(at, types.uint64)
            store(target, word)
            special = _special_byte_mask(word)
            if special == np.uint64(0):
                at += 8
                target += 8
                continue
            count = trailing_zeros(special) >> 3
            at += count
            target += count
            if at >= end:
                break
        byte = load(at, types.uint8)
        if byte == QUOTE:
            return at + 1, target
        if byte == _BACKSLASH:
            code, at = _scan_escape(at, end)
            if code < 0:
                break
            target = _store_utf8(target, code)
        elif byte >= 0x80:
            size = _utf8_sequence_size(at, end)
            if size == 0:
                break
            for i in range(size):
                store(target + i, load(at + i, types.uint8))
            at += size
            target += size
        else:
            store(target, byte)
            at += 1
            target += 1
    return -1, target


@helper
def skip_string(at: int, end: int, last_word: int) -> int:
    """Return the address after the string whose opening quote is before ``at``; -1 if it is malformed."""
    while at < end:
        if at <= last_word:
            special = _special_byte_mask(load(at, types.uint64))
            if special == np.uint64(0):
                at += 8
                continue
            at += trailing_zeros(special) >> 3
            if at >= end:
                break
        byte = load(at, types.uint8)
        if byte == QUOTE:
            return at + 1
        if byte == _BACKSLASH:
            code, at = _scan_escape(at, end)
            if code < 0:
                break
        elif byte >= 0x80:
            size = _utf8_sequence_size(at, end)
            if size == 0:
                break
            at += size
        else:
            at += 1
    return -1


@helper
def find_field(at: int, stop: int, names: int, name_bytes: int, first: int, count: int, guess: int) -> int:
    """Return the index of the ROW field whose quoted name is between ``at`` and ``stop``.

    Args:
        names, name_bytes: addresses of the table of names, and of the names' bytes.
        first: the row of the first field's name in that table.
        count: number of fields.
        guess: index of the field to compare first.

    Returns:
        the index; -1 if no field has this name, -2 if the name has escapes and must be decoded first.
    """
    for i in range(count):
        field = guess + i if guess + i < count else guess + i - count
        size = name_cell(names, first + field, p.NAME_SIZE)
        if size == stop - at and equal_bytes(at, name_bytes + name_cell(names, first + field, p.NAME_OFFSET), size):
            return field
    while at < stop:
        if load(at, types.uint8) == _BACKSLASH:
            return -2
        at += 1
    return -1


@helper
def _skip_name(at: int, end: int, last_word: int) -> int:
    if at >= end or load(at, types.uint8) != QUOTE:
        return -1
    at = skip_string(at + 1, end, last_word)
    return skip_colon(at, end) if at >= 0 else -1


@helper
def skip_value(at: int, end: int, last_word: int) -> int:
    """Return the address after a value that no column reads; -1 if it is malformed."""
    depth, objects = 0, np.uint64(0)  # a bit per open container: 1 for an object, 0 for an array
    while True:
        if at >= end:
            return -1
        byte = load(at, types.uint8)
        if byte == QUOTE:
            at = skip_string(at + 1, end, last_word)
        elif byte in (OPEN_OBJECT, OPEN_ARRAY):
            if depth == _MAX_SKIPPED_DEPTH:
                return -1
            at = skip_space(at + 1, end)
            if at >= end:
                return -1
            if load(at, types.uint8) != byte + 2:  # not its closing bracket
                depth += 1
                objects = (objects << np.uint64(1)) | np.uint64(byte == OPEN_OBJECT)
                if byte == OPEN_OBJECT:
                    at = _skip_name(at, end, last_word)
                    if at < 0:
                        return -1
                continue
            at += 1
        else:
            size = literal_size(at, end)
            at = at + size if size > 0 else scan_number(at, end)[0]
        while True:
            if at < 0 or depth == 0:
                return at
            at = skip_space(at, end)
            if at >= end:
                return -1
            byte = load(at, types.uint8)
            in_object = objects & np.uint64(1)
            at += 1
            if byte == COMMA:
                at = skip_space(at, end)
                if in_object:
                    at = _skip_name(at, end, last_word)
                    if at < 0:
                        return -1
                break
            if byte != (CLOSE_OBJECT if in_object else CLOSE_ARRAY):
                return -1
            depth -= 1
            objects >>= np.uint64(1)
