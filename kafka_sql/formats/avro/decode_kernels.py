"""Decode Avro's binary encoding into column buffers with a loop that numba compiles: no Python object per record.

Steps return the address at which decoding continues, or the negative of a failure in ``opcodes``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from kafka_sql.formats.avro import opcodes
from kafka_sql.formats.columnar import column_buffers
from kafka_sql.formats.columnar.buffer_kernels import load_int64, slot_cell, store_bits, store_int64
from kafka_sql.runtime.numba_support import compiled, copy, helper, inline_helper, load, store

_OPERATION_SIZE = 8 * opcodes.OPERATION_CELLS
REASON, OPERATION, DETAIL = 0, 1, 2  # cells of a failure


class Batch(NamedTuple):
    """What the decode loop reads and fills, as addresses."""

    data: int  # bytes of all payloads
    # int64: where each payload begins and ends in ``data``
    starts: int
    ends: int
    # range of the payloads to decode
    begin: int
    end: int
    operations: int  # int64, n x OPERATION_CELLS: the plan
    jumps: int  # int64: numbers of operations, one per branch of a union
    literals: int  # bytes of enum symbols and defaults
    literal_ranges: int  # int64, n x 2: offset and length of each literal; the length of an unknown symbol is -1
    # tables of the ColumnBuffers
    slots: int
    counts: int
    bytes_used: int
    nulls: int
    # int64: of an array, the elements that remain in its block; of a subroutine, the operation that called it
    cells: int
    failure: int  # int64, 3: the failure, the number of the operation, and the offset in the payload or the full slot


@compiled
def decode_rows(batch: Batch) -> int:
    """Decode payloads until one fails; return its position, or ``batch.end`` if none does."""
    for position in range(batch.begin, batch.end):
        start, end = load_int64(batch.starts, position), load_int64(batch.ends, position)
        if not _decode_row(batch, batch.data + start, batch.data + end):
            return position
    return batch.end


@inline_helper
def _decode_row(batch: Batch, begin: int, end: int) -> bool:
    """Decode the payload between two addresses; return False after recording a failure."""
    cursor, operation = begin, batch.operations
    while True:
        opcode, start = load_int64(operation, opcodes.OPCODE), cursor
        next_operation = operation + _OPERATION_SIZE
        if opcode < opcodes.UNION:
            cursor = _append_value(batch, operation, opcode, cursor, end)
        elif opcode == opcodes.UNION:
            branch, cursor = read_varint(cursor, end, opcodes.INT_SIZE)
            if cursor >= 0:
                if branch < 0 or branch >= load_int64(operation, opcodes.A):
                    cursor = -opcodes.BAD_BRANCH
                else:
                    target = load_int64(batch.jumps, load_int64(operation, opcodes.B) + branch)
                    next_operation = batch.operations + _OPERATION_SIZE * target
        elif opcode == opcodes.JUMP:
            next_operation = batch.operations + _OPERATION_SIZE * load_int64(operation, opcodes.A)
        elif opcode == opcodes.ARRAY or opcode == opcodes.NEXT:
            cursor, next_operation = _step_array(batch, operation, opcode, cursor, end)
        elif opcode == opcodes.CALL:
            store_int64(
                batch.cells, load_int64(operation, opcodes.C), (operation - batch.operations) // _OPERATION_SIZE
            )
            next_operation = batch.operations + _OPERATION_SIZE * load_int64(operation, opcodes.A)
        elif opcode == opcodes.RETURN:
            caller = load_int64(batch.cells, load_int64(operation, opcodes.C))
            target = load_int64(batch.operations + _OPERATION_SIZE * caller, opcodes.B)
            next_operation = batch.operations + _OPERATION_SIZE * target
        elif opcode == opcodes.END_LIST:
            if not _append_list(batch, load_int64(operation, opcodes.SLOT), load_int64(operation, opcodes.A)):
                cursor = -opcodes.FULL
        elif opcode < opcodes.FAIL:
            cursor = _skip_value(operation, opcode, cursor, end)
        elif opcode == opcodes.FAIL:
            cursor = -opcodes.FAILED
        else:
            return True
        if cursor < 0:
            return _record_failure(batch, operation, start - begin, -cursor)
        operation = next_operation


@helper
def _record_failure(batch: Batch, operation: int, offset: int, reason: int) -> bool:
    """Record why and where decoding stopped; return False."""
    store_int64(batch.failure, REASON, reason)
    store_int64(batch.failure, OPERATION, (operation - batch.operations) // _OPERATION_SIZE)
    store_int64(batch.failure, DETAIL, load_int64(operation, opcodes.SLOT) if reason >= opcodes.FULL else offset)
    return False


@helper
def read_varint(cursor: int, end: int, max_size: int) -> tuple[int, int]:
    """Read a zigzag number of at most ``max_size`` bytes; return it and where it ends, or a negative failure."""
    if cursor >= end:
        return 0, -opcodes.TRUNCATED
    byte = np.uint64(load(cursor, types.uint8))
    bits = byte & np.uint64(0x7F)
    shift = np.uint64(7)
    cursor += 1
    remaining = max_size - 1
    while byte & np.uint64(0x80):
        if remaining == 0:
            return 0, -opcodes.BAD_NUMBER
        if cursor >= end:
            return 0, -opcodes.TRUNCATED
        byte = np.uint64(load(cursor, types.uint8))
        bits |= (byte & np.uint64(0x7F)) << shift
        shift += np.uint64(7)
        cursor += 1
        remaining -= 1
    if max_size == opcodes.INT_SIZE:
        bits &= np.uint64(0xFFFFFFFF)
    return np.int64(bits >> np.uint64(1)) ^ -np.int64(bits & np.uint64(1)), cursor


@inline_helper
def _append_value(batch: Batch, operation: int, opcode: int, cursor: int, end: int) -> int:
    """Append an entry to the operation's slot."""
    slot = load_int64(operation, opcodes.SLOT)
    entry = load_int64(batch.counts, slot)
    if entry >= slot_cell(batch.slots, slot, column_buffers.CAPACITY):
        return -opcodes.FULL
    store_int64(batch.counts, slot, entry + 1)
    values = slot_cell(batch.slots, slot, column_buffers.VALUES)
    valid = slot_cell(batch.slots, slot, column_buffers.VALID) + entry
    store(valid, types.uint8(opcode != opcodes.NULL))
    if opcode <= opcodes.INTEGER_TO_DOUBLE:
        width = slot_cell(batch.slots, slot, column_buffers.WIDTH)
        return _append_integer(operation, opcode, width, values, entry, cursor, end)
    if opcode <= opcodes.BOOLEAN:
        return _append_fixed_width(opcode, values, entry, cursor, end)
    if opcode <= opcodes.ENUM or opcode == opcodes.LITERAL:
        return _append_bytes(batch, operation, opcode, slot, values, entry, cursor, end)
    if opcode <= opcodes.DECIMAL_FIXED:
        return _append_decimal(batch.nulls + 8 * slot, operation, opcode, values + 16 * entry, valid, cursor, end)
    if opcode == opcodes.NULL:
        _append_null(batch, operation, slot, values, entry)
    elif opcode == opcodes.CONSTANT:
        width = slot_cell(batch.slots, slot, column_buffers.WIDTH)
        store_bits(values, entry, width, load_int64(operation, opcodes.A), load_int64(operation, opcodes.B))
    return cursor  # a ROW has no values of its own


@inline_helper
def _append_integer(operation: int, opcode: int, width: int, values: int, entry: int, cursor: int, end: int) -> int:
    """Append an int or long."""
    value, cursor = read_varint(cursor, end, load_int64(operation, opcodes.A))
    if opcode == opcodes.INTEGER:
        store_bits(values, entry, width, value, np.int64(0))
    elif opcode == opcodes.INTEGER_TO_FLOAT:
        store(values + 4 * entry, types.float32(value))
    elif opcode == opcodes.INTEGER_TO_DOUBLE:
        store(values + 8 * entry, types.float64(value))
    else:
        factor = load_int64(operation, opcodes.B)
        scaled = value * factor if factor > 0 else value // -factor
        store(values + 8 * entry, scaled)
        if opcode == opcodes.TIME and cursor >= 0 and (scaled < 0 or scaled >= load_int64(operation, opcodes.C)):
            return -opcodes.BAD_TIME
        return -opcodes.TOO_LARGE if factor > 0 and scaled // factor != value else cursor
    return cursor


@inline_helper
def _append_fixed_width(opcode: int, values: int, entry: int, cursor: int, end: int) -> int:
    """Append a float, double or boolean."""
    if opcode == opcodes.BOOLEAN:
        if cursor >= end:
            return -opcodes.TRUNCATED
        store(values + entry, types.uint8(load(cursor, types.uint8) == 1))
        return cursor + 1
    if opcode == opcodes.DOUBLE:
        if cursor + 8 > end:
            return -opcodes.TRUNCATED
        store(values + 8 * entry, load(cursor, types.int64))
        return cursor + 8
    if cursor + 4 > end:
        return -opcodes.TRUNCATED
    if opcode == opcodes.FLOAT:
        store(values + 4 * entry, load(cursor, types.int32))
    else:
        store(values + 8 * entry, types.float64(load(cursor, types.float32)))
    return cursor + 4


@inline_helper
def _append_bytes(
    batch: Batch, operation: int, opcode: int, slot: int, values: int, entry: int, cursor: int, end: int
) -> int:
    """Append a string, bytes, an enum's symbol or a literal."""
    operand = load_int64(operation, opcodes.A)
    if opcode <= opcodes.FIXED:
        length = operand
        if opcode == opcodes.BYTES:
            length, cursor = read_varint(cursor, end, opcodes.LONG_SIZE)
            if cursor < 0:
                return cursor
            if length < 0:
                return -opcodes.BAD_LENGTH
        if length > end - cursor:
            return -opcodes.TRUNCATED
        source, cursor = cursor, cursor + length
    else:
        literal = operand
        if opcode == opcodes.ENUM:
            symbol, cursor = read_varint(cursor, end, opcodes.INT_SIZE)
            if cursor < 0:
                return cursor
            if symbol < 0 or symbol >= operand:
                return -opcodes.BAD_SYMBOL
            literal = load_int64(operation, opcodes.B) + symbol
        source = batch.literals + load_int64(batch.literal_ranges, 2 * literal)
        length = load_int64(batch.literal_ranges, 2 * literal + 1)
        if length < 0:
            return -opcodes.BAD_SYMBOL
    used_bytes = load_int64(batch.bytes_used, slot)
    if used_bytes + length > slot_cell(batch.slots, slot, column_buffers.BYTES_CAPACITY):
        return -opcodes.FULL_OF_BYTES
    copy(slot_cell(batch.slots, slot, column_buffers.DATA) + used_bytes, source, length)
    store_int64(batch.bytes_used, slot, used_bytes + length)
    store(values + 4 * entry + 4, types.int32(used_bytes + length))
    return cursor


@helper
def _append_decimal(nulls: int, operation: int, opcode: int, target: int, valid: int, cursor: int, end: int) -> int:
    """Write a decimal of 16 bytes to ``target``: null if it does not fit and null is allowed."""
    length = load_int64(operation, opcodes.A)
    if opcode == opcodes.DECIMAL:
        length, cursor = read_varint(cursor, end, opcodes.LONG_SIZE)
        if cursor < 0:
            return cursor
    if length < 0:
        return -opcodes.BAD_LENGTH
    if length > end - cursor:
        return -opcodes.TRUNCATED
    if length == 0:
        return -opcodes.BAD_DECIMAL
    sign = np.int64(-1) if load(cursor, types.uint8) >= 128 else np.int64(0)
    high, low, overflow = sign, sign, False
    for j in range(length):
        byte = np.int64(load(cursor + j, types.uint8))
        overflow = overflow or (length - j > 16 and byte != sign & 0xFF)
        high = (high << 8) | ((low >> 56) & 0xFF)
        low = (low << 8) | byte
    store(target, low)
    store(target + 8, high)
    if overflow or (high < 0) != (sign < 0):
        if load_int64(operation, opcodes.C) == 0:
            return -opcodes.TOO_LARGE
        store_int64(nulls, 0, load_int64(nulls, 0) + 1)
        store(valid, types.uint8(0))
    return cursor + length


@inline_helper
def _append_null(batch: Batch, operation: int, slot: int, values: int, entry: int) -> None:
    """Write what buffers hold for null: zero, or an empty range."""
    store_int64(batch.nulls, slot, load_int64(batch.nulls, slot) + 1)
    width = slot_cell(batch.slots, slot, column_buffers.WIDTH)
    if width == column_buffers.VARIABLE:
        store(values + 4 * entry + 4, types.int32(load_int64(batch.bytes_used, slot)))
    elif width == column_buffers.LIST:
        child = load_int64(operation, opcodes.A)
        store(values + 4 * entry + 4, types.int32(load_int64(batch.counts, child)))
    else:
        store_bits(values, entry, width, np.int64(0), np.int64(0))


@inline_helper
def _step_array(batch: Batch, operation: int, opcode: int, cursor: int, end: int) -> tuple[int, int]:
    """Start an array or map, or its next element; return where decoding continues in the payload and in the plan."""
    counter = batch.cells + 8 * load_int64(operation, opcodes.C)
    if opcode == opcodes.ARRAY:
        body, remaining = operation + _OPERATION_SIZE, np.int64(0)
    else:
        body = batch.operations + _OPERATION_SIZE * load_int64(operation, opcodes.A)
        remaining = load_int64(counter, 0) - 1
    if remaining == 0:  # another block
        remaining, cursor = read_varint(cursor, end, opcodes.LONG_SIZE)
        if cursor >= 0 and remaining < 0:  # its size in bytes follows
            remaining = -remaining
            _, cursor = read_varint(cursor, end, opcodes.LONG_SIZE)
        if cursor < 0:
            return cursor, operation
        if remaining == 0:
            slot = load_int64(operation, opcodes.SLOT)
            child = load_int64(body - _OPERATION_SIZE, opcodes.A)
            if slot >= 0 and not _append_list(batch, slot, child):
                return -opcodes.FULL, operation
            return cursor, batch.operations + _OPERATION_SIZE * load_int64(operation, opcodes.B)
    if remaining < 0 or remaining > end - cursor:  # each element takes at least a byte
        return -opcodes.TRUNCATED, operation
    store_int64(counter, 0, remaining)
    return cursor, body


@inline_helper
def _append_list(batch: Batch, slot: int, child: int) -> bool:
    """Append the entry of a list whose elements have been appended; return False if there is no capacity."""
    entry = load_int64(batch.counts, slot)
    if entry >= slot_cell(batch.slots, slot, column_buffers.CAPACITY):
        return False
    store(slot_cell(batch.slots, slot, column_buffers.VALID) + entry, types.uint8(1))
    store(
        slot_cell(batch.slots, slot, column_buffers.VALUES) + 4 * entry + 4,
        types.int32(load_int64(batch.counts, child)),
    )
    store_int64(batch.counts, slot, entry + 1)
    return True


@inline_helper
def _skip_value(operation: int, opcode: int, cursor: int, end: int) -> int:
    """Skip a value that no column needs."""
    operand = load_int64(operation, opcodes.A)
    if opcode == opcodes.SKIP_NUMBER:
        _, cursor = read_varint(cursor, end, opcodes.LONG_SIZE)
        return cursor
    if opcode == opcodes.SKIP_FIXED:
        return cursor + operand if operand <= end - cursor else -opcodes.TRUNCATED
    count, cursor = read_varint(cursor, end, opcodes.LONG_SIZE)
    if opcode == opcodes.SKIP_BYTES:
        if cursor < 0:
            return cursor
        if count < 0:
            return -opcodes.BAD_LENGTH
        return cursor + count if count <= end - cursor else -opcodes.TRUNCATED
    # the blocks of an array whose elements take no bytes
    while count != 0 and cursor >= 0:
        if count < 0:  # the block's size in bytes follows
            _, cursor = read_varint(cursor, end, opcodes.LONG_SIZE)
        if cursor >= 0:
            count, cursor = read_varint(cursor, end, opcodes.LONG_SIZE)
    return cursor
