"""Numba helpers that scan JSON by address: strings, names, literals, and values to skip.

Strings are scanned eight bytes at a time while they are ASCII without escapes. A scan that returns -1 found malformed
JSON, malformed UTF-8, an unpaired surrogate or nesting that is too deep. The fallback then decodes the payload, or
reports the error.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from kafka_sql.formats.columnar import decode_plan
from kafka_sql.formats.columnar.buffer_kernels import name_cell
from kafka_sql.formats.columnar.scalar_kernels import HIGH_BITS, equal_bytes, scan_number, zero_byte_mask
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
def skip_space(cursor: int, end: int) -> int:
    """Return the address of the first byte that is not JSON white space."""
    while cursor < end:
        byte = load(cursor, types.uint8)
        if byte > 32 or not (byte == 32 or byte == 10 or byte == 13 or byte == 9):
            break
        cursor += 1
    return cursor


@helper
def literal_size(cursor: int, end: int) -> int:
    """Return the length of true, false or null; 0 if there is none at this address."""
    if end - cursor >= 4:
        word = load(cursor, types.uint32)
        if word in (_TRUE, _NULL):
            return 4
        if end - cursor >= 5 and load(cursor, types.uint8) == _LOWER_F and load(cursor + 1, types.uint32) == _ALSE:
            return 5
    return 0


@helper
def skip_colon(cursor: int, end: int) -> int:
    """Return the address of the value that follows a name; -1 if there is none."""
    cursor = skip_space(cursor, end)
    if cursor >= end or load(cursor, types.uint8) != COLON:
        return -1
    cursor = skip_space(cursor + 1, end)
    return cursor if cursor < end else -1


@helper
def _special_byte_mask(word: int) -> int:
    """Return a word whose lowest set bit is in the first byte that is a quote, a backslash or not ASCII."""
    return zero_byte_mask(word ^ _QUOTES) | zero_byte_mask(word ^ _BACKSLASHES) | (word & HIGH_BITS)


@helper
def _utf8_sequence_size(cursor: int, end: int) -> int:
    """Return the length of a UTF-8 character of two or more bytes; 0 if it is malformed."""
    first = load(cursor, types.uint8)
    length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if first < 0xC2 or first > 0xF4 or end - cursor < length:
        return 0
    second = load(cursor + 1, types.uint8)
    if second & 0xC0 != 0x80:
        return 0
    if (first == 0xE0 and second < 0xA0) or (first == 0xED and second > 0x9F):
        return 0
    if (first == 0xF0 and second < 0x90) or (first == 0xF4 and second > 0x8F):
        return 0
    for i in range(2, length):
        if load(cursor + i, types.uint8) & 0xC0 != 0x80:
            return 0
    return length


@helper
def _hex_code(cursor: int) -> int:
    """Return the number that four hex digits denote; more than 0xFFFF if one of them is not a digit."""
    return (
        (_HEX[load(cursor, types.uint8)] << 12)
        + (_HEX[load(cursor + 1, types.uint8)] << 8)
        + (_HEX[load(cursor + 2, types.uint8)] << 4)
        + _HEX[load(cursor + 3, types.uint8)]
    )


@helper
def _scan_escape(cursor: int, end: int) -> tuple[int, int]:
    """Return the character that an escape stands for (-1 if it is malformed), and where the escape ends."""
    if end - cursor < 2:
        return -1, cursor
    letter = load(cursor + 1, types.uint8)
    if letter != _LOWER_U:
        character = types.int64(_ESCAPES[letter])
        return -1 if character == _NO_ESCAPE else character, cursor + 2
    if end - cursor < 6:
        return -1, cursor
    code = _hex_code(cursor + 2)
    if code < 0xD800 or 0xE000 <= code < 0x10000:
        return code, cursor + 6
    if (
        code >= 0xDC00
        or end - cursor < 12
        or load(cursor + 6, types.uint8) != _BACKSLASH
        or load(cursor + 7, types.uint8) != _LOWER_U
    ):
        return -1, cursor
    low = _hex_code(cursor + 8)
    if low < 0xDC00 or low >= 0xE000:
        return -1, cursor
    return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), cursor + 12


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
def copy_string(cursor: int, end: int, last_word: int, target: int) -> tuple[int, int]:
    """Write the content of the string whose opening quote is before ``cursor``.

    Args:
        last_word: the last address from which eight bytes can be loaded.
        target: has capacity for the rest of the payload and eight bytes.

    Returns:
        the address after the closing quote (-1 if the string is malformed), and the address after the written content.
    """
    while cursor < end:
        if cursor <= last_word:
            word = load(cursor, types.uint64)
            store(target, word)
            special = _special_byte_mask(word)
            if special == np.uint64(0):
                cursor += 8
                target += 8
                continue
            count = trailing_zeros(special) >> 3
            cursor += count
            target += count
            if cursor >= end:
                break
        byte = load(cursor, types.uint8)
        if byte == QUOTE:
            return cursor + 1, target
        if byte == _BACKSLASH:
            code, cursor = _scan_escape(cursor, end)
            if code < 0:
                break
            target = _store_utf8(target, code)
        elif byte >= 0x80:
            size = _utf8_sequence_size(cursor, end)
            if size == 0:
                break
            for i in range(size):
                store(target + i, load(cursor + i, types.uint8))
            cursor += size
            target += size
        else:
            store(target, byte)
            cursor += 1
            target += 1
    return -1, target


@helper
def skip_string(cursor: int, end: int, last_word: int) -> int:
    """Return the address after the string whose opening quote is before ``cursor``; -1 if it is malformed."""
    while cursor < end:
        if cursor <= last_word:
            special = _special_byte_mask(load(cursor, types.uint64))
            if special == np.uint64(0):
                cursor += 8
                continue
            cursor += trailing_zeros(special) >> 3
            if cursor >= end:
                break
        byte = load(cursor, types.uint8)
        if byte == QUOTE:
            return cursor + 1
        if byte == _BACKSLASH:
            code, cursor = _scan_escape(cursor, end)
            if code < 0:
                break
        elif byte >= 0x80:
            size = _utf8_sequence_size(cursor, end)
            if size == 0:
                break
            cursor += size
        else:
            cursor += 1
    return -1


@helper
def find_field(cursor: int, stop: int, names: int, name_bytes: int, first: int, count: int, guess: int) -> int:
    """Return the index of the ROW field whose quoted name is between ``cursor`` and ``stop``.

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
        size = name_cell(names, first + field, decode_plan.NAME_SIZE)
        if size == stop - cursor and equal_bytes(
            cursor, name_bytes + name_cell(names, first + field, decode_plan.NAME_OFFSET), size
        ):
            return field
    while cursor < stop:
        if load(cursor, types.uint8) == _BACKSLASH:
            return -2
        cursor += 1
    return -1


@helper
def _skip_name(cursor: int, end: int, last_word: int) -> int:
    if cursor >= end or load(cursor, types.uint8) != QUOTE:
        return -1
    cursor = skip_string(cursor + 1, end, last_word)
    return skip_colon(cursor, end) if cursor >= 0 else -1


@helper
def skip_value(cursor: int, end: int, last_word: int) -> int:
    """Return the address after a value that no column reads; -1 if it is malformed."""
    depth, objects = 0, np.uint64(0)  # a bit per open container: 1 for an object, 0 for an array
    while True:
        if cursor >= end:
            return -1
        byte = load(cursor, types.uint8)
        if byte == QUOTE:
            cursor = skip_string(cursor + 1, end, last_word)
        elif byte in (OPEN_OBJECT, OPEN_ARRAY):
            if depth == _MAX_SKIPPED_DEPTH:
                return -1
            cursor = skip_space(cursor + 1, end)
            if cursor >= end:
                return -1
            if load(cursor, types.uint8) != byte + 2:  # not its closing bracket
                depth += 1
                objects = (objects << np.uint64(1)) | np.uint64(byte == OPEN_OBJECT)
                if byte == OPEN_OBJECT:
                    cursor = _skip_name(cursor, end, last_word)
                    if cursor < 0:
                        return -1
                continue
            cursor += 1
        else:
            size = literal_size(cursor, end)
            cursor = cursor + size if size > 0 else scan_number(cursor, end)[0]
        while True:
            if cursor < 0 or depth == 0:
                return cursor
            cursor = skip_space(cursor, end)
            if cursor >= end:
                return -1
            byte = load(cursor, types.uint8)
            in_object = objects & np.uint64(1)
            cursor += 1
            if byte == COMMA:
                cursor = skip_space(cursor, end)
                if in_object:
                    cursor = _skip_name(cursor, end, last_word)
                    if cursor < 0:
                        return -1
                break
            if byte != (CLOSE_OBJECT if in_object else CLOSE_ARRAY):
                return -1
            depth -= 1
            objects >>= np.uint64(1)
