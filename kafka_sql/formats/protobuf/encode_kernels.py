"""Encode Arrow arrays as messages with a loop that numba compiles: no Python object per record.

The loop writes backward, because a nested message's length precedes it. Steps take the address after what they write,
and return the address at which it begins, or a negative failure.
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
TAG: Final = 3
PRESENCE: Final = 4
TARGET: Final = 5  # number of the operation to jump to, or of the elements' array
TYPE: Final = 6  # of a value
# what null is written as in an array or map; for strings, 1 for the literal, and 0 for an empty string
NULL_BITS: Final = 7
OPERATION_CELLS: Final = 8
_OPERATION_SIZE: Final = 8 * OPERATION_CELLS

# Opcodes
FIELD: Final = 1
ELEMENTS: Final = 2  # of an array of values, each with its tag
PACKED: Final = 3
ENTER: Final = 4  # end of a message; the operations of its fields follow, from the last to the first
LEAVE: Final = 5  # start of a message
LOOP: Final = 6  # the elements of an array of messages, from the last to the first
NEXT: Final = 7
END: Final = 8

# Presence of a field or message
EXPLICIT: Final = 0  # null is not written
IMPLICIT: Final = 1  # neither null nor the default value is written
ALWAYS: Final = 2  # null is written as NULL_BITS
REQUIRED: Final = 3  # null is an error

# Types of values
INT: Final = 1  # four bytes, signed
UNSIGNED: Final = 2  # four bytes
ZIGZAG: Final = 3
LONG: Final = 4
ZIGZAG_LONG: Final = 5
BOOLEAN: Final = 6
FIXED32: Final = 7
FIXED64: Final = 8
LONG_AS_FIXED32: Final = 9
DECIMAL: Final = 10  # the lower eight of sixteen bytes
DECIMAL_AS_FIXED64: Final = 11
BYTES: Final = 12  # also strings and serialized messages

NULL_FOUND: Final = -1  # the failure: a required field is null


class Batch(NamedTuple):
    """What the encode loop reads and writes, as addresses."""

    operations: int  # int64, n x OPERATION_CELLS
    inputs: int  # int64, n x INPUT_CELLS
    row_count: int  # rows of the batch
    # bytes before each message
    header: int
    header_size: int
    # what a null string of an array or map is written as
    literal: int
    literal_size: int
    # has space for all messages
    output: int
    output_size: int
    offsets: int  # int64, row_count + 1: where each payload begins and ends in the output
    # int64 per depth: the entry to read next, and the first entry of the array that it is in
    positions: int
    firsts: int
    message_ends: int  # int64 per depth of messages: the address at which each open message ends
    failed_operation: int  # int64, 1


@compiled
def encode_rows(batch: Batch) -> int:
    """Encode all rows, from the last to the first; return 0, or a failure."""
    cursor = batch.output + batch.output_size
    store_int64(batch.offsets, batch.row_count, batch.output_size)
    for row in range(batch.row_count - 1, -1, -1):
        store_int64(batch.positions, 0, row)
        cursor = _encode_row(batch, cursor)
        if cursor < 0:
            return cursor
        cursor -= batch.header_size
        copy(cursor, batch.header, batch.header_size)
        store_int64(batch.offsets, row, cursor - batch.output)
    return 0


@inline_helper
def _encode_row(batch: Batch, cursor: int) -> int:
    """Carry out the operations for a row."""
    operation, open_messages = batch.operations, 0
    while True:
        opcode, depth = load_int64(operation, OPCODE), load_int64(operation, DEPTH)
        if opcode == END:
            return cursor
        array = batch.inputs + 8 * INPUT_CELLS * load_int64(operation, INPUT)
        entry = load_int64(batch.positions, depth) + load_int64(array, OFFSET)
        next_operation = operation + _OPERATION_SIZE
        target = batch.operations + _OPERATION_SIZE * load_int64(operation, TARGET)
        if opcode == FIELD:
            cursor = _write_field(batch, operation, array, entry, cursor)
        elif opcode == ENTER:
            if is_valid(array, entry):
                store_int64(batch.message_ends, open_messages, cursor)
                open_messages += 1
            else:
                next_operation, presence = target, load_int64(operation, PRESENCE)
                if presence == ALWAYS:  # an empty message
                    cursor = write_varint(write_varint(cursor, 0), load_int64(operation, TAG))
                elif presence == REQUIRED:
                    cursor = NULL_FOUND
        elif opcode == LEAVE:
            open_messages -= 1
            length = load_int64(batch.message_ends, open_messages) - cursor
            cursor = write_varint(write_varint(cursor, length), load_int64(operation, TAG))
        elif opcode == NEXT:
            position = load_int64(batch.positions, depth) - 1
            store_int64(batch.positions, depth, position)
            if position >= load_int64(batch.firsts, depth):
                next_operation = target
        else:
            start, end = np.int64(0), np.int64(0)
            if is_valid(array, entry):
                values = load_int64(array, VALUES)
                start = np.int64(load(values + 4 * entry, types.int32))
                end = np.int64(load(values + 4 * entry + 4, types.int32))
            if opcode != LOOP:
                cursor = _write_elements(batch, operation, opcode, start, end, cursor)
            elif start == end:
                next_operation = target
            else:
                store_int64(batch.positions, depth + 1, end - 1)
                store_int64(batch.firsts, depth + 1, start)
        if cursor < 0:
            store_int64(batch.failed_operation, 0, (operation - batch.operations) // _OPERATION_SIZE)
            return cursor
        operation = next_operation


@helper
def write_varint(cursor: int, value: int) -> int:
    """Write a number before ``cursor``."""
    bits, size = np.uint64(value), 1
    remaining_bits = bits >> np.uint64(7)
    while remaining_bits:
        size += 1
        remaining_bits >>= np.uint64(7)
    cursor -= size
    for k in range(size - 1):
        store(cursor + k, types.uint8((bits & np.uint64(0x7F)) | np.uint64(0x80)))
        bits >>= np.uint64(7)
    store(cursor + size - 1, types.uint8(bits))
    return cursor


@inline_helper
def _write_field(batch: Batch, operation: int, array: int, entry: int, cursor: int) -> int:
    """Write a field that is not a message, unless it is absent."""
    presence, type = load_int64(operation, PRESENCE), load_int64(operation, TYPE)
    if presence != ALWAYS and not is_valid(array, entry):
        return NULL_FOUND if presence == REQUIRED else cursor
    if presence == IMPLICIT and _is_default(type, load_int64(array, VALUES), entry):
        return cursor
    cursor = _write_value(batch, type, array, entry, load_int64(operation, NULL_BITS), cursor)
    return write_varint(cursor, load_int64(operation, TAG))


@inline_helper
def _is_default(type: int, values: int, entry: int) -> bool:
    """Return whether a value is zero or empty."""
    if type == BYTES:
        return load(values + 4 * entry, types.int32) == load(values + 4 * entry + 4, types.int32)
    return _load_bits(type, values, entry) == 0


@inline_helper
def _write_elements(batch: Batch, operation: int, opcode: int, start: int, end: int, cursor: int) -> int:
    """Write the elements of an array of values."""
    if start >= end:
        return cursor
    tag, type, null_bits = load_int64(operation, TAG), load_int64(operation, TYPE), load_int64(operation, NULL_BITS)
    elements = batch.inputs + 8 * INPUT_CELLS * load_int64(operation, TARGET)
    offset, packed_end = load_int64(elements, OFFSET), cursor
    for k in range(end - 1, start - 1, -1):
        cursor = _write_value(batch, type, elements, k + offset, null_bits, cursor)
        if opcode == ELEMENTS:
            cursor = write_varint(cursor, tag)
    if opcode == PACKED:
        cursor = write_varint(write_varint(cursor, packed_end - cursor), tag)
    return cursor


@inline_helper
def _write_value(batch: Batch, type: int, array: int, entry: int, null_bits: int, cursor: int) -> int:
    """Write an entry, or what null is written as."""
    valid, values = is_valid(array, entry), load_int64(array, VALUES)
    if type != BYTES:
        return _write_bits(cursor, type, _load_bits(type, values, entry) if valid else null_bits)
    if valid:
        start = np.int64(load(values + 4 * entry, types.int32))
        length = np.int64(load(values + 4 * entry + 4, types.int32)) - start
        source = load_int64(array, DATA) + start
    else:
        source, length = batch.literal, batch.literal_size if null_bits else np.int64(0)
    cursor -= length
    copy(cursor, source, length)
    return write_varint(cursor, length)


@inline_helper
def _load_bits(type: int, values: int, entry: int) -> int:
    """Return a number as a word."""
    if type <= ZIGZAG or type == FIXED32:
        return np.int64(load(values + 4 * entry, types.int32))
    if type == BOOLEAN:
        return np.int64((load(values + (entry >> 3), types.uint8) >> (entry & 7)) & 1)
    if type in (DECIMAL, DECIMAL_AS_FIXED64):
        return load(values + 16 * entry, types.int64)
    return load(values + 8 * entry, types.int64)


@inline_helper
def _write_bits(cursor: int, type: int, bits: int) -> int:
    """Write a number before ``cursor``."""
    if type in (FIXED32, LONG_AS_FIXED32):
        store(cursor - 4, types.int32(bits))
        return cursor - 4
    if type in (FIXED64, DECIMAL_AS_FIXED64):
        store(cursor - 8, bits)
        return cursor - 8
    if type == UNSIGNED:
        bits &= 0xFFFFFFFF
    elif type == ZIGZAG:
        bits = ((bits << 1) ^ (bits >> 31)) & 0xFFFFFFFF
    elif type == ZIGZAG_LONG:
        bits = (bits << 1) ^ (bits >> 63)
    return write_varint(cursor, bits)
