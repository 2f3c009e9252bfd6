"""Numba helpers that read protobuf's wire format by address.

They return the address behind what they read, or the negative of a failure in ``opcodes``.
"""

from __future__ import annotations

import numpy as np
from numba import types

from kafka_sql.formats.protobuf import opcodes as o
from kafka_sql.runtime.numba_support import helper, load

_HIGH_BITS = -0x7F7F7F7F7F7F7F80  # of eight bytes; ASCII has none of them
_DEEPEST_GROUP = 100


@helper
def read_varint(at: int, end: int) -> tuple[int, int]:
    """Return the bits of a number of at most ten bytes, and where it ends."""
    bits, shift = np.uint64(0), np.uint64(0)
    while True:
        if at >= end:
            return np.int64(0), -o.TRUNCATED
        byte = np.uint64(load(at, types.uint8))
        at += 1
        bits |= (byte & np.uint64(0x7F)) << shift
        if byte < np.uint64(0x80):
            return np.int64(bits), at
        shift += np.uint64(7)
        if shift > np.uint64(63):
            return np.int64(0), -o.BAD_NUMBER


@helper
def is_utf8(at: int, end: int) -> bool:
    """Return whether bytes are UTF-8, without surrogates and overlong forms."""
    while at < end:
        if at + 8 <= end and load(at, types.int64) & _HIGH_BITS == 0:
            at += 8
            continue
        first = load(at, types.uint8)
        if first < 0x80:
            at += 1
            continue
        if first < 0xC2 or first > 0xF4:
            return False
        continuation_bytes = 1 if first < 0xE0 else 2 if first < 0xF0 else 3
        if at + continuation_bytes >= end:
            return False
        second = load(at + 1, types.uint8)
        if (first == 0xE0 and second < 0xA0) or (first == 0xED and second > 0x9F):
            return False
        if (first == 0xF0 and second < 0x90) or (first == 0xF4 and second > 0x8F):
            return False
        for k in range(continuation_bytes):
            if load(at + 1 + k, types.uint8) & 0xC0 != 0x80:
                return False
        at += continuation_bytes + 1
    return True


@helper
def skip_value(at: int, end: int, wire_type: int) -> int:
    """Skip a value that is not a group."""
    if wire_type == o.VARINT:
        _, at = read_varint(at, end)
        return at
    if wire_type == o.LEN:
        length, at = read_varint(at, end)
        if at < 0:
            return at
        return at + length if 0 <= length <= end - at else -o.TRUNCATED
    if wire_type == o.I64:
        return at + 8 if at + 8 <= end else -o.TRUNCATED
    if wire_type == o.I32:
        return at + 4 if at + 4 <= end else -o.TRUNCATED
    return -o.BAD_TAG


@helper
def skip_group(at: int, end: int, number: int) -> int:
    """Skip a group and the groups inside it.

    Args:
        number: the field's.
    """
    open_groups = np.zeros(_DEEPEST_GROUP, np.int64)
    open_groups[0], depth = number, 1
    while depth > 0:
        tag, at = read_varint(at, end)
        if at < 0:
            return at
        number, wire_type = (tag & 0xFFFFFFFF) >> 3, tag & 7
        if number == 0:
            return -o.BAD_TAG
        if wire_type == o.SGROUP:
            if depth >= _DEEPEST_GROUP:
                return -o.BAD_TAG
            open_groups[depth] = number
            depth += 1
        elif wire_type == o.EGROUP:
            if open_groups[depth - 1] != number:
                return -o.BAD_TAG
            depth -= 1
        else:
            at = skip_value(at, end, wire_type)
            if at < 0:
                return at
    return at
