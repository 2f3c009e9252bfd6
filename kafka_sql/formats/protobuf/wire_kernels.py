"""The pieces of the loop that reads messages: numbers, texts, what is left out, and the entries of a message."""

from __future__ import annotations

import numpy as np
from numba import types

from kafka_sql.formats.protobuf import opcodes as i
from kafka_sql.runtime.numba_support import compiled, copy, load, store

# Columns of a slot, as slots.py makes them
VALUES, VALID, DATA, ROOM, BYTES_ROOM, WIDTH = 0, 1, 2, 3, 4, 5

_HIGH_BITS = -0x7F7F7F7F7F7F7F80  # of eight bytes: what is not ASCII has one


@compiled
def uvarint(data: np.ndarray, at: int, end: int) -> tuple[int, int]:
    """The bits of a number of at most ten bytes, and where it ends; -1 where the bytes end, -2 for too long."""
    bits, shift = np.uint64(0), np.uint64(0)
    while True:
        if at >= end:
            return np.int64(0), -1
        b = np.uint64(data[at])
        at += 1
        bits |= (b & np.uint64(0x7F)) << shift
        if b < np.uint64(0x80):
            return np.int64(bits), at
        shift += np.uint64(7)
        if shift > np.uint64(63):
            return np.int64(0), -2


@compiled
def is_utf_8(data: np.ndarray, at: int, end: int) -> bool:
    """Whether bytes are UTF-8, without surrogates and overlong forms."""
    data_at = np.int64(data.ctypes.data)
    while at < end:
        if at + 8 <= end and load(data_at + at, types.int64) & _HIGH_BITS == 0:
            at += 8
            continue
        b = data[at]
        if b < 0x80:
            at += 1
            continue
        if b < 0xC2 or b > 0xF4:
            return False
        more = 1 if b < 0xE0 else 2 if b < 0xF0 else 3
        if at + more >= end:
            return False
        second = data[at + 1]
        if (b == 0xE0 and second < 0xA0) or (b == 0xED and second > 0x9F):
            return False
        if (b == 0xF0 and second < 0x90) or (b == 0xF4 and second > 0x8F):
            return False
        for j in range(more):
            if data[at + 1 + j] & 0xC0 != 0x80:
                return False
        at += more + 1
    return True


@compiled
def skipped(data: np.ndarray, at: int, end: int, wire: int) -> int:
    """Where a value that is no group ends; below zero for an error, as of ``uvarint``, -3 for a wrong tag."""
    if wire == i.VARINT:
        _, at = uvarint(data, at, end)
    elif wire == i.LENGTH:
        length, at = uvarint(data, at, end)
        if at >= 0:
            at = at + length if 0 <= length <= end - at else -1
    elif wire == i.EIGHT:
        at = at + 8 if at + 8 <= end else -1
    elif wire == i.FOUR:
        at = at + 4 if at + 4 <= end else -1
    else:
        at = -3
    return at


@compiled
def skipped_group(data: np.ndarray, at: int, end: int, number: int) -> int:
    """The same of a group, with those that are in it."""
    open_groups = np.zeros(100, np.int64)
    open_groups[0], depth = number, 1
    while depth > 0:
        tag, at = uvarint(data, at, end)
        if at < 0:
            return at
        number, wire = (tag & 0xFFFFFFFF) >> 3, tag & 7
        if number == 0:
            return -3
        if wire == i.GROUP:
            if depth >= 100:
                return -3
            open_groups[depth] = number
            depth += 1
        elif wire == i.END_GROUP:
            if open_groups[depth - 1] != number:
                return -3
            depth -= 1
        else:
            at = skipped(data, at, end, wire)
            if at < 0:
                return at
    return at


@compiled
def entries(
    inits: np.ndarray,
    first: int,
    count: int,
    constants: np.ndarray,
    texts: np.ndarray,
    places: np.ndarray,
    slots: np.ndarray,
    counts: np.ndarray,
    used: np.ndarray,
    nulls: np.ndarray,
) -> int:
    """Make an entry in each of a message's slots, as it is without any field; -1, or the slot that is full."""
    for k in range(first, first + count):
        op, slot, a = inits[k, i.INIT_OP], inits[k, i.INIT_SLOT], inits[k, i.INIT_A]
        n, values = counts[slot], slots[slot, VALUES]
        if n >= slots[slot, ROOM]:
            return slot
        counts[slot] = n + 1
        null = op & 1
        nulls[slot] += null
        store(slots[slot, VALID] + n, types.uint8(1 - null))
        if op <= i.NULL_NUMBER:
            width, bits = slots[slot, WIDTH], np.int64(0) if null else constants[a]
            if width == 4:
                store(values + 4 * n, types.int32(bits))
            elif width == 8:
                store(values + 8 * n, bits)
            elif width == 1:
                store(values + n, types.uint8(bits))
            else:
                store(values + 16 * n, bits)
                store(values + 16 * n + 8, np.int64(0))
        elif op == i.TEXT:
            length = places[a, 1]
            if used[slot] + length > slots[slot, BYTES_ROOM]:
                counts[slot] = n  # told apart by the caller, as there is room for it
                return slot
            copy(slots[slot, DATA] + used[slot], np.int64(texts.ctypes.data) + places[a, 0], length)
            used[slot] += length
            store(values + 4 * n + 4, types.int32(used[slot]))
        elif op == i.NULL_TEXT:
            store(values + 4 * n + 4, types.int32(used[slot]))
        elif op <= i.NULL_LIST:
            store(values + 4 * n + 4, types.int32(counts[a]))
    return -1
