"""Encode Arrow arrays as Avro's binary encoding with a loop that numba compiles: no Python object per record.

Steps return the address after what they wrote, or a negative failure.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numba import types

from kafka_sql.formats.columnar.array_kernels import DATA, INPUT_CELLS, OFFSET, VALUES, is_valid
from kafka_sql.formats.columnar.buffer_kernels import load_int64, store_int64
from kafka_sql.runtime.numba_support import compiled, copy, helper, inline_helper, load, store

# Cells of an operation
OPCODE: Final = 0
INPUT: Final = 1  # number of the array to read
DEPTH: Final = 2  # number of arrays around the value; the entry to read is at this index of ``Batch.positions``
A: Final = 3  # operands, whose meaning depends on the opcode
B: Final = 4
C: Final = 5
OPERATION_CELLS: Final = 6
_OPERATION_SIZE: Final = 8 * OPERATION_CELLS

# Write a value of the input
BYTE: Final = 1
SHORT: Final = 2
INT: Final = 3
LONG: Final = 4  # times A, or divided by -A if A is negative
FLOAT: Final = 5
DOUBLE: Final = 6
BOOLEAN: Final = 7
BYTES: Final = 8
FIXED: Final = 9  # of A bytes
DECIMAL: Final = 10
DECIMAL_FIXED: Final = 11  # of A bytes
# Control flow
# A is the branch of null, -1 if null is not allowed; B is that of the value; C is the operation after the value
UNION: Final = 20
ARRAY: Final = 21  # C is the operation after the array; the body follows
NEXT: Final = 22  # end of the body, which starts at operation A
END: Final = 23

# Failures
NULL_FOUND: Final = -1
WRONG_LENGTH: Final = -2


class Batch(NamedTuple):
    """What the encode loop reads and writes, as addresses."""

    operations: int  # int64, n x OPERATION_CELLS
    inputs: int  # int64, n x INPUT_CELLS
    row_count: int  # rows of the batch
    # bytes before each payload
    header: int
    header_size: int
    output: int  # has space for all payloads
    offsets: int  # int32, row_count + 1: where each payload begins and ends in the output
    # int64 per depth: the entry to read next, and the end of the array that it is in
    positions: int
    ends: int
    failed_operation: int  # int64, 1


@compiled
def encode_rows(batch: Batch) -> int:
    """Encode all rows; return 0, or a failure."""
    cursor = batch.output
    for row in range(batch.row_count):
        store(batch.offsets + 4 * row, types.int32(cursor - batch.output))
        copy(cursor, batch.header, batch.header_size)
        store_int64(batch.positions, 0, row)
        cursor = _encode_row(batch, cursor + batch.header_size)
        if cursor < 0:
            return cursor
    store(batch.offsets + 4 * batch.row_count, types.int32(cursor - batch.output))
    return 0


@inline_helper
def _encode_row(batch: Batch, cursor: int) -> int:
    """Carry out the operations for a row."""
    operation = batch.operations
    while True:
        opcode, depth = load_int64(operation, OPCODE), load_int64(operation, DEPTH)
        if opcode == END:
            return cursor
        array = batch.inputs + 8 * INPUT_CELLS * load_int64(operation, INPUT)
        entry = load_int64(batch.positions, depth) + load_int64(array, OFFSET)
        next_operation = operation + _OPERATION_SIZE
        if opcode == UNION:
            null_branch = load_int64(operation, A)
            if is_valid(array, entry):
                if null_branch >= 0:
                    cursor = write_varint(cursor, load_int64(operation, B))
            elif null_branch < 0:
                cursor = NULL_FOUND
            else:
                cursor = write_varint(cursor, null_branch)
                next_operation = batch.operations + _OPERATION_SIZE * load_int64(operation, C)
        elif opcode < UNION:
            cursor = _write_value(operation, opcode, array, load_int64(array, VALUES), entry, cursor)
        else:
            cursor, next_operation = _step_array(batch, operation, opcode, depth, array, entry, cursor)
        if cursor < 0:
            store_int64(batch.failed_operation, 0, (operation - batch.operations) // _OPERATION_SIZE)
            return cursor
        operation = next_operation


@helper
def write_varint(cursor: int, value: int) -> int:
    """Write a zigzag number; return where it ends."""
    bits = (np.uint64(value) << np.uint64(1)) ^ np.uint64(value >> 63)
    while bits > np.uint64(0x7F):
        store(cursor, types.uint8((bits & np.uint64(0x7F)) | np.uint64(0x80)))
        bits >>= np.uint64(7)
        cursor += 1
    store(cursor, types.uint8(bits))
    return cursor + 1


@inline_helper
def _write_value(operation: int, opcode: int, array: int, values: int, entry: int, cursor: int) -> int:
    """Write an entry that is not null."""
    if opcode == INT:
        return write_varint(cursor, np.int64(load(values + 4 * entry, types.int32)))
    if opcode == LONG:
        value, factor = load(values + 8 * entry, types.int64), load_int64(operation, A)
        return write_varint(cursor, value * factor if factor > 0 else value // -factor)
    if opcode in (BYTES, FIXED):
        return _write_bytes(operation, opcode, array, values, entry, cursor)
    if opcode == DOUBLE:
        store(cursor, load(values + 8 * entry, types.int64))
        return cursor + 8
    if opcode == FLOAT:
        store(cursor, load(values + 4 * entry, types.int32))
        return cursor + 4
    if opcode == BOOLEAN:
        store(cursor, types.uint8((load(values + (entry >> 3), types.uint8) >> (entry & 7)) & 1))
        return cursor + 1
    if opcode == BYTE:
        return write_varint(cursor, np.int64(load(values + entry, types.int8)))
    if opcode == SHORT:
        return write_varint(cursor, np.int64(load(values + 2 * entry, types.int16)))
    return _write_decimal(operation, opcode, values + 16 * entry, cursor)


@inline_helper
def _write_bytes(operation: int, opcode: int, array: int, values: int, entry: int, cursor: int) -> int:
    """Write a string, bytes or fixed."""
    start = np.int64(load(values + 4 * entry, types.int32))
    length = np.int64(load(values + 4 * entry + 4, types.int32)) - start
    if opcode == BYTES:
        cursor = write_varint(cursor, length)
    elif length != load_int64(operation, A):
        return WRONG_LENGTH
    copy(cursor, load_int64(array, DATA) + start, length)
    return cursor + length


@helper
def _write_decimal(operation: int, opcode: int, source: int, cursor: int) -> int:
    """Write the 16 bytes of a decimal as the shortest big-endian number, or padded to a fixed."""
    low, high = load(source, types.int64), load(source + 8, types.int64)
    size = 16
    while size > 1:  # omit bytes that only repeat the sign
        byte, next_byte = _byte_of(low, high, size - 1), _byte_of(low, high, size - 2)
        if not ((byte == 0 and next_byte < 128) or (byte == 255 and next_byte >= 128)):
            break
        size -= 1
    if opcode == DECIMAL:
        cursor = write_varint(cursor, size)
    else:
        fixed_size = load_int64(operation, A)
        if size > fixed_size:
            return WRONG_LENGTH
        for _ in range(fixed_size - size):
            store(cursor, types.uint8(255 if high < 0 else 0))
            cursor += 1
    for k in range(size):
        store(cursor + k, types.uint8(_byte_of(low, high, size - 1 - k)))
    return cursor + size


@inline_helper
def _byte_of(low: int, high: int, k: int) -> int:
    """Return byte ``k`` of a number of two words; 0 is the lowest."""
    return ((high >> (8 * (k - 8))) if k >= 8 else (low >> (8 * k))) & 0xFF


@inline_helper
def _step_array(
    batch: Batch, operation: int, opcode: int, depth: int, array: int, entry: int, cursor: int
) -> tuple[int, int]:
    """Start an array or map, or its next element; return where to continue in the output and the operations."""
    body = operation + _OPERATION_SIZE
    if opcode == ARRAY:
        values = load_int64(array, VALUES)
        start = np.int64(load(values + 4 * entry, types.int32))
        end = np.int64(load(values + 4 * entry + 4, types.int32))
        if start == end:
            return write_varint(cursor, 0), batch.operations + _OPERATION_SIZE * load_int64(operation, C)
        store_int64(batch.positions, depth + 1, start)
        store_int64(batch.ends, depth + 1, end)
        return write_varint(cursor, end - start), body
    position = load_int64(batch.positions, depth) + 1
    store_int64(batch.positions, depth, position)
    if position < load_int64(batch.ends, depth):
        return cursor, batch.operations + _OPERATION_SIZE * load_int64(operation, A)
    return write_varint(cursor, 0), body
