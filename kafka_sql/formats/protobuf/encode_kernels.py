"""The compiled loop that writes rows of arrays as messages, from the end: a message's length stands before it."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from kafka_sql.runtime.numba_support import compiled, copy, load, store

# Columns of an instruction
OP: Final = 0
SLOT: Final = 1
LEVEL: Final = 2  # whose row is written: of the batch at 0, of an array's elements beyond
TAG: Final = 3  # the tag's number
KIND: Final = 4  # of a value
MODE: Final = 5
NULL_BITS: Final = 6  # what is written for null, where it is
JUMP: Final = 7
WIDTH: Final = 8

# What to do
FIELD: Final = 1
ELEMENTS: Final = 2  # of an array of values, each with its tag
PACKED: Final = 3
ENTER: Final = 4  # a message: its fields follow, from the last to the first
LEAVE: Final = 5
LOOP: Final = 6  # the elements of an array of messages
NEXT: Final = 7
END: Final = 8

# Of a FIELD or ENTER: what null and nothing are
ABSENT: Final = 0  # null is not written
NO_DEFAULT: Final = 1  # nor is zero
ALWAYS: Final = 2  # null is written as something
REQUIRED: Final = 3  # null is an error

# How a value is written
INT: Final = 1  # of four bytes, as a number with its sign
UNSIGNED: Final = 2  # of four bytes, without
ZIGZAG: Final = 3
LONG: Final = 4
ZIGZAG_LONG: Final = 5
BOOLEAN: Final = 6
FOUR: Final = 7
EIGHT: Final = 8
LONG_AS_FOUR: Final = 9
DECIMAL: Final = 10  # of sixteen bytes, of which the lower eight count
DECIMAL_AS_EIGHT: Final = 11
TEXT: Final = 12

# Columns of a slot
VALUES: Final = 0
VALID: Final = 1  # address of the bitmap, 0 for none
DATA: Final = 2
OFFSET: Final = 3

NULL_FOUND: Final = -1


@compiled
def put(at: int, value: int) -> int:
    """Write a number before ``at``; where it begins."""
    bits, size = np.uint64(value), 1
    rest = bits >> np.uint64(7)
    while rest:
        size += 1
        rest >>= np.uint64(7)
    at -= size
    for k in range(size - 1):
        store(at + k, types.uint8((bits & np.uint64(0x7F)) | np.uint64(0x80)))
        bits >>= np.uint64(7)
    store(at + size - 1, types.uint8(bits))
    return at


@compiled
def bits_of(kind: int, values: int, n: int) -> int:
    """A value that is no text, as a word."""
    if kind <= ZIGZAG or kind == FOUR:
        return np.int64(load(values + 4 * n, types.int32))
    if kind == BOOLEAN:
        return np.int64((load(values + (n >> 3), types.uint8) >> (n & 7)) & 1)
    if kind in (DECIMAL, DECIMAL_AS_EIGHT):
        return load(values + 16 * n, types.int64)
    return load(values + 8 * n, types.int64)


@compiled
def put_bits(at: int, kind: int, bits: int) -> int:
    """Write a value before ``at``; where it begins."""
    if kind in (FOUR, LONG_AS_FOUR):
        store(at - 4, types.int32(bits))
        return at - 4
    if kind in (EIGHT, DECIMAL_AS_EIGHT):
        store(at - 8, bits)
        return at - 8
    if kind == UNSIGNED:
        bits &= 0xFFFFFFFF
    elif kind == ZIGZAG:
        bits = ((bits << 1) ^ (bits >> 31)) & 0xFFFFFFFF
    elif kind == ZIGZAG_LONG:
        bits = (bits << 1) ^ (bits >> 63)
    return put(at, bits)


@compiled
def is_there(slots: np.ndarray, slot: int, n: int) -> bool:
    """Whether an entry is not null."""
    valid = slots[slot, VALID]
    return valid == 0 or (load(valid + (n >> 3), types.uint8) >> (n & 7)) & 1 != 0


@compiled
def put_value(at: int, kind: int, slots: np.ndarray, slot: int, n: int, null_bits: int, literal: np.ndarray) -> int:
    """Write an entry, or what stands for a null one, before ``at``; where it begins."""
    there = is_there(slots, slot, n)
    values = slots[slot, VALUES]
    if kind == TEXT:
        if there:
            start = np.int64(load(values + 4 * n, types.int32))
            length = np.int64(load(values + 4 * n + 4, types.int32)) - start
            source = slots[slot, DATA] + start
        else:
            length = np.int64(len(literal)) if null_bits else np.int64(0)
            source = np.int64(literal.ctypes.data)
        at -= length
        copy(at, source, length)
        return put(at, length)
    return put_bits(at, kind, bits_of(kind, values, n) if there else null_bits)


@compiled
def run(
    program: np.ndarray,
    slots: np.ndarray,
    rows: int,
    header: np.ndarray,
    literal: np.ndarray,
    depth: int,
    out: np.ndarray,
    positions: np.ndarray,
    failure: np.ndarray,
) -> int:
    """Write all rows.

    Args:
        header: uint8: what stands before each message.
        literal: uint8: what a null text of an array or map is.
        depth: of messages and arrays in each other.
        out: uint8, with room for all that there can be.
        positions: int64, rows + 1: where the payloads stand in it.
        failure: int64, 2: instruction and row.

    Returns:
        how many rows there are, or NULL_FOUND.
    """
    row, first = np.zeros(depth + 1, np.int64), np.zeros(depth + 1, np.int64)
    ends = np.zeros(depth + 1, np.int64)
    base, header_at = np.int64(out.ctypes.data), np.int64(header.ctypes.data)
    at = base + len(out)
    positions[rows] = len(out)
    for k in range(rows - 1, -1, -1):
        row[0] = k
        pc, open_messages = 0, 0
        while True:
            op, slot, level = program[pc, OP], program[pc, SLOT], program[pc, LEVEL]
            tag, kind, mode = program[pc, TAG], program[pc, KIND], program[pc, MODE]
            pc += 1
            if op == END:
                break
            n = row[level] + slots[slot, OFFSET]
            if op == FIELD:
                if mode != ALWAYS and not is_there(slots, slot, n):
                    if mode == REQUIRED:
                        failure[0], failure[1] = pc - 1, k
                        return NULL_FOUND
                    continue
                if mode == NO_DEFAULT:
                    values = slots[slot, VALUES]
                    if kind == TEXT:
                        if load(values + 4 * n, types.int32) == load(values + 4 * n + 4, types.int32):
                            continue
                    elif bits_of(kind, values, n) == 0:
                        continue
                at = put_value(at, kind, slots, slot, n, program[pc - 1, NULL_BITS], literal)
                at = put(at, tag)
            elif op == ENTER:
                if not is_there(slots, slot, n):
                    if mode == REQUIRED:
                        failure[0], failure[1] = pc - 1, k
                        return NULL_FOUND
                    pc = program[pc - 1, JUMP]
                    if mode == ALWAYS:
                        at = put(put(at, 0), tag)
                else:
                    ends[open_messages] = at
                    open_messages += 1
            elif op == LEAVE:
                open_messages -= 1
                at = put(put(at, ends[open_messages] - at), tag)
            elif op == NEXT:
                row[level] -= 1
                if row[level] >= first[level]:
                    pc = program[pc - 1, JUMP]
            else:
                start, end = np.int64(0), np.int64(0)
                if is_there(slots, slot, n):
                    start = np.int64(load(slots[slot, VALUES] + 4 * n, types.int32))
                    end = np.int64(load(slots[slot, VALUES] + 4 * n + 4, types.int32))
                if op == LOOP:
                    if start == end:
                        pc = program[pc - 1, JUMP]
                    else:
                        row[level + 1], first[level + 1] = end - 1, start
                elif start < end:
                    child, null_bits, stop = program[pc - 1, JUMP], program[pc - 1, NULL_BITS], at
                    for j in range(end - 1, start - 1, -1):
                        at = put_value(at, kind, slots, child, j + slots[child, OFFSET], null_bits, literal)
                        if op == ELEMENTS:
                            at = put(at, tag)
                    if op == PACKED:
                        at = put(put(at, stop - at), tag)
        at -= len(header)
        copy(at, header_at, len(header))
        positions[k] = at - base
    return rows
