"""Numba helpers that read protobuf's wire format by address.

They return the address after what they read, or the negative of a failure in ``opcodes``.
"""

from __future__ import annotations

import numpy as np
from numba import types

from kafka_sql.formats.protobuf import opcodes
from kafka_sql.runtime.numba_support import helper, load

_HIGH_BITS = -0x7F7F7F7F7F7F7F80  # of eight bytes; ASCII has none of them
_DEEPEST_GROUP = 100


@helper
def read_varint(cursor: int, end: int) -> tuple[int, int]:
    """Return the bits of a number of at most ten bytes, and where it ends."""
    bits, shift = np.uint64(0), np.uint64(0)
    while True:
        if cursor >= end:
            return np.int64(0), -opcodes.TRUNCATED
        byte = np.uint64(load(cursor, types.uint8))
        cursor += 1
        bits |= (byte & np.uint64(0x7F)) << shift
        if byte < np.uint64(0x80):
            return np.int64(bits), cursor
        shift += np.uint64(7)
        if shift > np.uint64(63):
            return np.int64(0), -opcodes.BAD_NUMBER


@helper
def is_utf8(cursor: int, end: int) -> bool:
    """Return whether bytes are UTF-8, without surrogates and overlong forms."""
    while cursor < end:
        if cursor + 8 <= end and load(cursor, types.int64) & _HIGH_BITS == 0:
            cursor += 8
            continue
        first = load(cursor, types.uint8)
        if first < 0x80:
            cursor += 1
            continue
        if first < 0xC2 or first > 0xF4:
            return False
        continuation_bytes = 1 if first < 0xE0 else 2 if first < 0xF0 else 3
        if cursor + continuation_bytes >= end:
            return False
        second = load(cursor + 1, types.uint8)
        if (first == 0xE0 and second < 0xA0) or (first == 0xED and second > 0x9F):
            return False
        if (first == 0xF0 and second < 0x90) or (first == 0xF4 and second > 0x8F):
            return False
        for k in range(continuation_bytes):
            if load(cursor + 1 + k, types.uint8) & 0xC0 != 0x80:
                return False
        cursor += continuation_bytes + 1
    return True


@helper
def skip_value(cursor: int, end: int, wire_type: int) -> int:
    """Skip a value that is not a group."""
    if wire_type == opcodes.VARINT:
        _, cursor = read_varint(cursor, end)
        return cursor
    if wire_type == opcodes.LEN:
        length, cursor = read_varint(cursor, end)
        if cursor < 0:
            return cursor
        return cursor + length if 0 <= length <= end - cursor else -opcodes.TRUNCATED
    if wire_type == opcodes.I64:
        return cursor + 8 if cursor + 8 <= end else -opcodes.TRUNCATED
    if wire_type == opcodes.I32:
        return cursor + 4 if cursor + 4 <= end else -opcodes.TRUNCATED
    return -opcodes.BAD_TAG


@helper
def skip_group(cursor: int, end: int, number: int) -> int:
    """Skip a group and the groups inside it.

    Args:
        number: the field's number.
    """
    open_groups = np.zeros(_DEEPEST_GROUP, np.int64)
    open_groups[0], depth = number, 1
    while depth > 0:
        tag, cursor = read_varint(cursor, end)
        if cursor < 0:
            return cursor
        number, wire_type = (tag & 0xFFFFFFFF) >> 3, tag & 7
        if number == 0:
            return -opcodes.BAD_TAG
        if wire_type == opcodes.SGROUP:
            if depth >= _DEEPEST_GROUP:
                return -opcodes.BAD_TAG
            open_groups[depth] = number
            depth += 1
        elif wire_type == opcodes.EGROUP:
            if open_groups[depth - 1] != number:
                return -opcodes.BAD_TAG
            depth -= 1
        else:
            cursor = skip_value(cursor, end, wire_type)
            if cursor < 0:
                return cursor
    return cursor
