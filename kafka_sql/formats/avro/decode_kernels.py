"""Decode Avro's binary encoding into column buffers with a loop that numba compiles: no Python object per record.

Steps return the address at which decoding continues, or the negative of a failure in ``opcodes``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from kafka_sql.formats.avro import opcodes as o
from kafka_sql.formats.columnar import column_buffers as s
from kafka_sql.formats.columnar.buffer_kernels import load_int64, slot_cell, store_int64
from kafka_sql.runtime.numba_support import compiled, copy, helper, inline_helper, load, store

_INT_SIZE = 5  # bytes of the longest int
_LONG_SIZE = 10
_OPERATION_SIZE = 8 * o.OPERATION_CELLS
REASON, OPERATION, DETAIL = 0, 1, 2  # cells of a failure


class Batch(NamedTuple):
    """What the decode loop reads and fills, as addresses.

    Attributes:
        data: bytes of all payloads.
        offsets: int32: where each payload begins and ends in ``data``.
        indices: int64: which payloads to decode.
        begin, end: range of ``indices`` to decode.
        header_size: bytes to skip at the start of each payload.
        operations: int64, n x OPERATION_CELLS: the plan.
        jumps: int64: numbers of operations, one per branch of a union.
        literals: bytes of enum symbols and defaults.
        literal_ranges: int64, n x 2: offset and length of each literal; the length of an unknown symbol is -1.
        slots, counts, bytes_used, nulls: tables of the ColumnBuffers.
        remaining: int64 per depth of arrays: elements that remain in the current block.
        failure: int64, 3: the failure, the number of the operation, and the offset in the payload or the full slot.
    """

    data: int
    offsets: int
    indices: int
    begin: int
    end: int
    header_size: int
    operations: int
    jumps: int
    literals: int
    literal_ranges: int
    slots: int
    counts: int
    bytes_used: int
    nulls: int
    remaining: int
    failure: int


@compiled
def decode_rows(batch: Batch) -> int:
    """Decode payloads until one fails; return its position in ``batch.indices``, or ``batch.end`` if none does."""
    for position in range(batch.begin, batch.end):
        offsets = batch.offsets + 4 * load_int64(batch.indices, position)
        begin = batch.data + load(offsets, types.int32)
        if not _decode_row(batch, begin, batch.data + load(offsets + 4, types.int32)):
            return position
    return batch.end


@inline_helper
def _decode_row(batch: Batch, begin: int, end: int) -> bool:
    """Decode the payload between two addresses; return False after recording a failure."""
    at = begin + batch.header_size
    operation = batch.operations
    if at > end:
        return _record_failure(batch, operation, -1, o.TRUNCATED)
    while True:
        opcode, start = load_int64(operation, o.OPCODE), at
        following = operation + _OPERATION_SIZE
        if opcode < o.UNION:
            at = _append_value(batch, operation, opcode, at, end)
        elif opcode == o.UNION:
            branch, at = read_varint(at, end, _INT_SIZE)
            if at >= 0:
                if branch < 0 or branch >= load_int64(operation, o.A):
                    at = -o.BAD_BRANCH
                else:
                    target = load_int64(batch.jumps, load_int64(operation, o.B) + branch)
                    following = batch.operations + _OPERATION_SIZE * target
        elif opcode == o.JUMP:
            following = batch.operations + _OPERATION_SIZE * load_int64(operation, o.A)
        elif opcode == o.ARRAY or opcode == o.NEXT:
            at, following = _step_array(batch, operation, opcode, at, end)
        elif opcode == o.EMPTY:
            if not _append_list(batch, load_int64(operation, o.SLOT), load_int64(operation, o.A)):
                at = -o.FULL
        elif opcode < o.FAIL:
            at = _skip_value(operation, opcode, at, end)
        elif opcode == o.FAIL:
            at = -o.FAILED
        else:
            return True
        if at < 0:
            return _record_failure(batch, operation, start - begin, -at)
        operation = following


@helper
def _record_failure(batch: Batch, operation: int, offset: int, reason: int) -> bool:
    """Record why and where decoding stopped; return False."""
    store_int64(batch.failure, REASON, reason)
    store_int64(batch.failure, OPERATION, (operation - batch.operations) // _OPERATION_SIZE)
    store_int64(batch.failure, DETAIL, load_int64(operation, o.SLOT) if reason >= o.FULL else offset)
    return False


@helper
def read_varint(at: int, end: int, longest: int) -> tuple[int, int]:
    """Read a zigzag number of at most ``longest`` bytes; return it and where it ends, or a negative failure."""
    if at >= end:
        return 0, -o.TRUNCATED
    byte = np.uint64(load(at, types.uint8))
    bits = byte & np.uint64(0x7F)
    shift = np.uint64(7)
    at += 1
    left = longest - 1
    while byte & np.uint64(0x80):
        if left == 0:
            return 0, -o.BAD_NUMBER
        if at >= end:
            return 0, -o.TRUNCATED
        byte = np.uint64(load(at, types.uint8))
        bits |= (byte & np.uint64(0x7F)) << shift
        shift += np.uint64(7)
        at += 1
        left -= 1
    if longest == _INT_SIZE:
        bits &= np.uint64(0xFFFFFFFF)
    return np.int64(bits >> np.uint64(1)) ^ -np.int64(bits & np.uint64(1)), at


@inline_helper
def _append_value(batch: Batch, operation: int, opcode: int, at: int, end: int) -> int:
    """Append an entry to the operation's slot."""
    slot = load_int64(operation, o.SLOT)
    entry = load_int64(batch.counts, slot)
    if entry >= slot_cell(batch.slots, slot, s.CAPACITY):
        return -o.FULL
    store_int64(batch.counts, slot, entry + 1)
    values = slot_cell(batch.slots, slot, s.VALUES)
    valid = slot_cell(batch.slots, slot, s.VALID) + entry
    store(valid, types.uint8(opcode != o.NULL))
    if opcode <= o.LONG_TO_DOUBLE:
        return _append_integer(operation, opcode, values, entry, at, end)
    if opcode <= o.BOOLEAN:
        return _append_fixed_width(opcode, values, entry, at, end)
    if opcode <= o.ENUM or opcode == o.LITERAL:
        return _append_bytes(batch, operation, opcode, slot, values, entry, at, end)
    if opcode <= o.DECIMAL_FIXED:
        return _append_decimal(batch.nulls + 8 * slot, operation, opcode, values + 16 * entry, valid, at, end)
    if opcode == o.NULL:
        _append_null(batch, operation, slot, values, entry)
    elif opcode == o.CONSTANT:
        _store_number(values, entry, slot_cell(batch.slots, slot, s.WIDTH), load_int64(operation, o.A))
    return at  # a ROW has no values of its own


@inline_helper
def _append_integer(operation: int, opcode: int, values: int, entry: int, at: int, end: int) -> int:
    """Append an int or long."""
    if opcode <= o.SHORT:
        value, at = read_varint(at, end, _INT_SIZE)
        if opcode == o.INT:
            store(values + 4 * entry, types.int32(value))
        elif opcode == o.BYTE:
            store(values + entry, types.int8(value))
        else:
            store(values + 2 * entry, types.int16(value))
        return at
    a = load_int64(operation, o.A)
    if opcode == o.LONG:
        value, at = read_varint(at, end, _INT_SIZE if a == 1 else _LONG_SIZE)
        store(values + 8 * entry, value)
        return at
    if opcode <= o.TIME:
        value, at = read_varint(at, end, _INT_SIZE if load_int64(operation, o.B) == 1 else _LONG_SIZE)
        scaled = value * a if a > 0 else value // -a
        store(values + 8 * entry, scaled)
        if opcode == o.TIME and at >= 0 and (scaled < 0 or scaled >= load_int64(operation, o.C)):
            return -o.BAD_TIME
        return -o.TOO_LARGE if a > 0 and scaled // a != value else at
    value, at = read_varint(at, end, _INT_SIZE if a == 1 else _LONG_SIZE)
    if opcode == o.LONG_TO_FLOAT:
        store(values + 4 * entry, types.float32(value))
    else:
        store(values + 8 * entry, types.float64(value))
    return at


@inline_helper
def _append_fixed_width(opcode: int, values: int, entry: int, at: int, end: int) -> int:
    """Append a float, double or boolean."""
    if opcode == o.BOOLEAN:
        if at >= end:
            return -o.TRUNCATED
        store(values + entry, types.uint8(load(at, types.uint8) == 1))
        return at + 1
    if opcode == o.DOUBLE:
        if at + 8 > end:
            return -o.TRUNCATED
        store(values + 8 * entry, load(at, types.int64))
        return at + 8
    if at + 4 > end:
        return -o.TRUNCATED
    if opcode == o.FLOAT:
        store(values + 4 * entry, load(at, types.int32))
    else:
        store(values + 8 * entry, types.float64(load(at, types.float32)))
    return at + 4


@inline_helper
def _append_bytes(
    batch: Batch, operation: int, opcode: int, slot: int, values: int, entry: int, at: int, end: int
) -> int:
    """Append a string, bytes, an enum's symbol or a literal."""
    a = load_int64(operation, o.A)
    if opcode <= o.FIXED:
        length = a
        if opcode == o.BYTES:
            length, at = read_varint(at, end, _LONG_SIZE)
            if at < 0:
                return at
            if length < 0:
                return -o.BAD_LENGTH
        if length > end - at:
            return -o.TRUNCATED
        source, at = at, at + length
    else:
        literal = a
        if opcode == o.ENUM:
            symbol, at = read_varint(at, end, _INT_SIZE)
            if at < 0:
                return at
            if symbol < 0 or symbol >= a:
                return -o.BAD_SYMBOL
            literal = load_int64(operation, o.B) + symbol
        source = batch.literals + load_int64(batch.literal_ranges, 2 * literal)
        length = load_int64(batch.literal_ranges, 2 * literal + 1)
        if length < 0:
            return -o.BAD_SYMBOL
    used = load_int64(batch.bytes_used, slot)
    if used + length > slot_cell(batch.slots, slot, s.BYTES_CAPACITY):
        return -o.FULL_OF_BYTES
    copy(slot_cell(batch.slots, slot, s.DATA) + used, source, length)
    store_int64(batch.bytes_used, slot, used + length)
    store(values + 4 * entry + 4, types.int32(used + length))
    return at


@helper
def _append_decimal(nulls: int, operation: int, opcode: int, target: int, valid: int, at: int, end: int) -> int:
    """Write a decimal of 16 bytes to ``target``: null if it does not fit and null is allowed."""
    length = load_int64(operation, o.A)
    if opcode == o.DECIMAL:
        length, at = read_varint(at, end, _LONG_SIZE)
        if at < 0:
            return at
    if length < 0:
        return -o.BAD_LENGTH
    if length > end - at:
        return -o.TRUNCATED
    if length == 0:
        return -o.BAD_DECIMAL
    sign = np.int64(-1) if load(at, types.uint8) >= 128 else np.int64(0)
    high, low, overflow = sign, sign, False
    for j in range(length):
        byte = np.int64(load(at + j, types.uint8))
        overflow = overflow or (length - j > 16 and byte != sign & 0xFF)
        high = (high << 8) | ((low >> 56) & 0xFF)
        low = (low << 8) | byte
    store(target, low)
    store(target + 8, high)
    if overflow or (high < 0) != (sign < 0):
        if load_int64(operation, o.C) == 0:
            return -o.TOO_LARGE
        store_int64(nulls, 0, load_int64(nulls, 0) + 1)
        store(valid, types.uint8(0))
    return at + length


@inline_helper
def _append_null(batch: Batch, operation: int, slot: int, values: int, entry: int) -> None:
    """Write what buffers hold for null: zero, or an empty range."""
    store_int64(batch.nulls, slot, load_int64(batch.nulls, slot) + 1)
    width = slot_cell(batch.slots, slot, s.WIDTH)
    if width == s.VARIABLE:
        store(values + 4 * entry + 4, types.int32(load_int64(batch.bytes_used, slot)))
    elif width == s.LIST:
        child = load_int64(operation, o.A)
        store(values + 4 * entry + 4, types.int32(load_int64(batch.counts, child)))
    elif width == 16:
        store(values + 16 * entry, np.int64(0))
        store(values + 16 * entry + 8, np.int64(0))
    elif width != s.STRUCT:
        _store_number(values, entry, width, np.int64(0))


@inline_helper
def _store_number(values: int, entry: int, width: int, bits: int) -> None:
    """Write the lowest ``width`` bytes of a word."""
    if width == 1:
        store(values + entry, types.int8(bits))
    elif width == 2:
        store(values + 2 * entry, types.int16(bits))
    elif width == 4:
        store(values + 4 * entry, types.int32(bits))
    else:
        store(values + 8 * entry, bits)


@inline_helper
def _step_array(batch: Batch, operation: int, opcode: int, at: int, end: int) -> tuple[int, int]:
    """Start an array or map, or its next element; return where decoding continues in the payload and in the plan."""
    remaining = batch.remaining + 8 * load_int64(operation, o.C)
    if opcode == o.ARRAY:
        body, left = operation + _OPERATION_SIZE, np.int64(0)
    else:
        body = batch.operations + _OPERATION_SIZE * load_int64(operation, o.A)
        left = load_int64(remaining, 0) - 1
    if left == 0:  # another block
        left, at = read_varint(at, end, _LONG_SIZE)
        if at >= 0 and left < 0:  # its size in bytes follows
            left = -left
            _, at = read_varint(at, end, _LONG_SIZE)
        if at < 0:
            return at, operation
        if left == 0:
            slot = load_int64(operation, o.SLOT)
            child = load_int64(body - _OPERATION_SIZE, o.A)
            if slot >= 0 and not _append_list(batch, slot, child):
                return -o.FULL, operation
            return at, batch.operations + _OPERATION_SIZE * load_int64(operation, o.B)
    if left < 0 or left > end - at:  # each element takes at least a byte
        return -o.TRUNCATED, operation
    store_int64(remaining, 0, left)
    return at, body


@inline_helper
def _append_list(batch: Batch, slot: int, child: int) -> bool:
    """Append the entry of a list whose elements have been appended; return False if there is no capacity."""
    entry = load_int64(batch.counts, slot)
    if entry >= slot_cell(batch.slots, slot, s.CAPACITY):
        return False
    store(slot_cell(batch.slots, slot, s.VALID) + entry, types.uint8(1))
    store(slot_cell(batch.slots, slot, s.VALUES) + 4 * entry + 4, types.int32(load_int64(batch.counts, child)))
    store_int64(batch.counts, slot, entry + 1)
    return True


@inline_helper
def _skip_value(operation: int, opcode: int, at: int, end: int) -> int:
    """Skip a value that no column needs."""
    a = load_int64(operation, o.A)
    if opcode == o.SKIP_NUMBER:
        _, at = read_varint(at, end, _LONG_SIZE)
        return at
    if opcode == o.SKIP_FIXED:
        return at + a if a <= end - at else -o.TRUNCATED
    count, at = read_varint(at, end, _LONG_SIZE)
    if opcode == o.SKIP_BYTES:
        if at < 0:
            return at
        if count < 0:
            return -o.BAD_LENGTH
        return at + count if count <= end - at else -o.TRUNCATED
    while count != 0 and at >= 0:
        if count < 0:  # the block's size in bytes follows
            _, at = read_varint(at, end, _LONG_SIZE)
        if at >= 0:
            count, at = read_varint(at, end, _LONG_SIZE)
    return at
