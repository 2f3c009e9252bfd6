"""The compiled loop that writes rows of arrays as payloads, and the instructions of its programs."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from kafka_sql.runtime.numba_support import compiled, copy, load, store

# Columns of an instruction
OP: Final = 0
SLOT: Final = 1
LEVEL: Final = 2  # whose row is written: of the batch at 0, of an array's elements beyond
A: Final = 3
B: Final = 4
C: Final = 5

# A value, from its slot
BYTE: Final = 1
SHORT: Final = 2
INT: Final = 3
LONG: Final = 4  # times A, or divided by -A
FLOAT: Final = 5
DOUBLE: Final = 6
BOOLEAN: Final = 7
TEXT: Final = 8
FIXED: Final = 9  # of A bytes
DECIMAL: Final = 10
DECIMAL_FIXED: Final = 11  # of A bytes
# Without one
NULLABLE: Final = 20  # A is null's branch (-1: there is none), B the value's, C where null goes on
ARRAY: Final = 21  # C is where it ends
NEXT: Final = 22  # A is where the elements' body begins
END: Final = 23

# Columns of a slot
VALUES: Final = 0
VALID: Final = 1  # address of the bitmap, 0 for none
DATA: Final = 2
OFFSET: Final = 3  # of the array in its buffers

# What the kernel returns instead of a length
NULL_FOUND: Final = -1
WRONG_LENGTH: Final = -2


@compiled
def put(target: int, value: int) -> int:
    """Write a zigzag number; where it ends."""
    bits = (np.uint64(value) << np.uint64(1)) ^ np.uint64(value >> 63)
    while bits > np.uint64(0x7F):
        store(target, types.uint8((bits & np.uint64(0x7F)) | np.uint64(0x80)))
        bits >>= np.uint64(7)
        target += 1
    store(target, types.uint8(bits))
    return target + 1


@compiled
def run(
    program: np.ndarray,
    slots: np.ndarray,
    rows: int,
    header: np.ndarray,
    depth: int,
    out: np.ndarray,
    positions: np.ndarray,
    failure: np.ndarray,
) -> int:
    """Write all rows.

    Args:
        header: uint8: what stands before each payload.
        out: uint8, with room for all that there can be.
        positions: int32, rows + 1: where the payloads stand in it.
        failure: int64, 2: instruction and row.

    Returns:
        how many rows there are, or NULL_FOUND or WRONG_LENGTH.
    """
    row, last = np.zeros(depth + 1, np.int64), np.zeros(depth + 1, np.int64)
    base, header_at = np.int64(out.ctypes.data), np.int64(header.ctypes.data)  # unsigned, they would make floats
    at = base
    for k in range(rows):
        positions[k] = at - base
        copy(at, header_at, len(header))
        at += len(header)
        row[0] = k
        pc = 0
        while True:
            op, slot, level, a = program[pc, OP], program[pc, SLOT], program[pc, LEVEL], program[pc, A]
            pc += 1
            if op == END:
                break
            n = row[level] + slots[slot, OFFSET]
            values = slots[slot, VALUES]
            if op == NULLABLE:
                bits = slots[slot, VALID]
                if bits == 0 or (load(bits + (n >> 3), types.uint8) >> (n & 7)) & 1:
                    if a >= 0:
                        at = put(at, program[pc - 1, B])
                elif a < 0:
                    failure[0], failure[1] = pc - 1, k
                    return NULL_FOUND
                else:
                    at = put(at, a)
                    pc = program[pc - 1, C]
            elif op == INT:
                at = put(at, np.int64(load(values + 4 * n, types.int32)))
            elif op == LONG:
                value = load(values + 8 * n, types.int64)
                at = put(at, value * a if a > 0 else value // -a)
            elif op in (TEXT, FIXED):
                start = np.int64(load(values + 4 * n, types.int32))
                length = np.int64(load(values + 4 * n + 4, types.int32)) - start
                if op == TEXT:
                    at = put(at, length)
                elif length != a:
                    failure[0], failure[1] = pc - 1, k
                    return WRONG_LENGTH
                copy(at, slots[slot, DATA] + start, length)
                at += length
            elif op == DOUBLE:
                store(at, load(values + 8 * n, types.int64))
                at += 8
            elif op == FLOAT:
                store(at, load(values + 4 * n, types.int32))
                at += 4
            elif op == BOOLEAN:
                store(at, types.uint8((load(values + (n >> 3), types.uint8) >> (n & 7)) & 1))
                at += 1
            elif op == BYTE:
                at = put(at, np.int64(load(values + n, types.int8)))
            elif op == SHORT:
                at = put(at, np.int64(load(values + 2 * n, types.int16)))
            elif op in (DECIMAL, DECIMAL_FIXED):
                low, high = load(values + 16 * n, types.int64), load(values + 16 * n + 8, types.int64)
                size = 16
                while size > 1:  # leave out bytes that only repeat the sign
                    j = size - 1
                    byte = ((high >> (8 * (j - 8))) if j >= 8 else (low >> (8 * j))) & 0xFF
                    below = ((high >> (8 * (j - 9))) if j >= 9 else (low >> (8 * (j - 1)))) & 0xFF
                    if (byte == 0 and below < 128) or (byte == 255 and below >= 128):
                        size -= 1
                    else:
                        break
                if op == DECIMAL:
                    at = put(at, size)
                else:
                    if size > a:
                        failure[0], failure[1] = pc - 1, k
                        return WRONG_LENGTH
                    for _ in range(a - size):
                        store(at, types.uint8(255 if high < 0 else 0))
                        at += 1
                for m in range(size):
                    j = size - 1 - m
                    byte = ((high >> (8 * (j - 8))) if j >= 8 else (low >> (8 * j))) & 0xFF
                    store(at, types.uint8(byte))
                    at += 1
            elif op == ARRAY:
                start = np.int64(load(values + 4 * n, types.int32))
                end = np.int64(load(values + 4 * n + 4, types.int32))
                if start == end:
                    at = put(at, 0)
                    pc = program[pc - 1, C]
                else:
                    at = put(at, end - start)
                    row[level + 1], last[level + 1] = start, end
            elif op == NEXT:
                row[level] += 1
                if row[level] < last[level]:
                    pc = a
                else:
                    at = put(at, 0)
    positions[rows] = at - base
    return rows
