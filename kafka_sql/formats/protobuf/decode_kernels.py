"""Decode messages into column buffers with a loop that numba compiles: no Python object per record.

Steps return the address at which decoding continues, or the negative of a failure in ``opcodes``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from kafka_sql.formats.columnar import column_buffers as s
from kafka_sql.formats.columnar.buffer_kernels import load_int64, slot_cell, store_int64
from kafka_sql.formats.protobuf import opcodes as o
from kafka_sql.formats.protobuf.wire_kernels import is_utf8, read_varint, skip_group, skip_value
from kafka_sql.runtime.numba_support import compiled, copy, helper, inline_helper, load, store

REASON, FIELD, OFFSET, FAILURE_CELLS = 0, 1, 2, 3  # FIELD is the slot if the reason is FULL or FULL_OF_BYTES
FRAME_CELLS = 4
_FIELD_SIZE, _MESSAGE_SIZE, _DEFAULT_SIZE = 8 * o.FIELD_CELLS, 8 * o.MESSAGE_CELLS, 8 * o.DEFAULT_CELLS


class Batch(NamedTuple):
    """What the decode loop reads and fills, as addresses.

    Attributes:
        data: bytes of all messages.
        starts, ends: int64: where each message begins and ends in ``data``.
        count: number of messages.
        fields: int64, n x FIELD_CELLS.
        messages: int64, n x MESSAGE_CELLS; the first one is the payload's.
        defaults: int64, n x DEFAULT_CELLS.
        members: int64: numbers of fields, of oneofs and of those that are required.
        constants: int64: defaults, and numbers of enums.
        literals: bytes of defaults.
        literal_ranges: int64, n x 2: offset and length of each literal.
        slots, counts, bytes_used, nulls: tables of the ColumnBuffers; ``nulls`` counts nulls.
        slot_count: number of slots.
        skip_malformed: whether to skip malformed messages.
        seen: int64 per field: the serial number of the message that had the field last.
        serial: int64, 1: serial number of the message that started last.
        frames: int64, depth x FRAME_CELLS: the enclosing messages' end, number, serial and expected field.
        saved: int64, 3 x slot_count: counts, bytes and nulls before the row.
        outcomes: uint8 per message: 0, or why it was not decoded.
        failure: int64, FAILURE_CELLS: the last one; the offset in the message is -1 if it is unknown.
    """

    data: int
    starts: int
    ends: int
    count: int
    fields: int
    messages: int
    defaults: int
    members: int
    constants: int
    literals: int
    literal_ranges: int
    slots: int
    counts: int
    bytes_used: int
    nulls: int
    slot_count: int
    skip_malformed: int
    seen: int
    serial: int
    frames: int
    saved: int
    outcomes: int
    failure: int


@compiled
def decode_rows(batch: Batch) -> int:
    """Decode messages until one fails; return its index, or ``batch.count`` if none does."""
    size = 8 * batch.slot_count
    for row in range(batch.count):
        copy(batch.saved, batch.counts, size)
        copy(batch.saved + size, batch.bytes_used, size)
        copy(batch.saved + 2 * size, batch.nulls, size)
        start, end = load_int64(batch.starts, row), load_int64(batch.ends, row)
        reason = -_decode_row(batch, batch.data + start, batch.data + end)
        if reason >= o.FULL:
            return row
        store(batch.outcomes + row, types.uint8(reason))
        if reason != 0:
            copy(batch.counts, batch.saved, size)
            copy(batch.bytes_used, batch.saved + size, size)
            copy(batch.nulls, batch.saved + 2 * size, size)
            if reason != o.NOT_CANONICAL and not batch.skip_malformed:
                return row
    return batch.count


@inline_helper
def _decode_row(batch: Batch, begin: int, end: int) -> int:
    """Decode the message between two addresses; return 0 or a negative failure."""
    at, depth, message, serial = begin, 0, batch.messages, _next_serial(batch)
    expected, number_of_field = load_int64(message, o.FIRST_FIELD), np.int64(-1)
    if at > end:
        return _fail(batch, o.TRUNCATED, -1, 0)
    if not _append_defaults(batch, message):
        return -o.FULL
    while True:
        while at >= end:
            missing = _missing_field(batch, message, serial)
            if missing >= 0:
                return _fail(batch, o.LACKS_REQUIRED, missing, at - begin)
            if depth == 0:
                return 0
            depth -= 1
            frame = batch.frames + 8 * FRAME_CELLS * depth
            end, message = load_int64(frame, 0), load_int64(frame, 1)
            serial, expected = load_int64(frame, 2), load_int64(frame, 3)
        tag, at = read_varint(at, end)
        if at < 0:
            return _fail(batch, -at, number_of_field, -1)  # names the field before the tag
        number, wire_type = (tag & 0xFFFFFFFF) >> 3, tag & 7
        if number == 0 or wire_type == o.EGROUP:
            return _fail(batch, o.BAD_TAG, number_of_field, at - begin)
        number_of_field = _find_field(batch, message, number, expected)
        field = batch.fields + _FIELD_SIZE * number_of_field
        opcode, is_repeated, is_packed = o.UNMAPPED, False, False
        if number_of_field >= 0:
            opcode, is_repeated = load_int64(field, o.OPCODE), load_int64(field, o.LIST_SLOT) >= 0
            expected = number_of_field if is_repeated else number_of_field + 1
            field_wire_type = load_int64(field, o.WIRE_TYPE)
            is_packed = is_repeated and wire_type == o.LEN and opcode < o.BYTES and opcode != o.UNMAPPED
            if field_wire_type >= 0 and field_wire_type != wire_type and not is_packed:
                number_of_field, opcode = np.int64(-1), o.UNMAPPED  # like an unknown field
            elif _has_other_member(batch, field, number_of_field, serial):
                return -o.NOT_CANONICAL
        if opcode == o.UNMAPPED:
            at = _skip_field(batch, number_of_field, number, wire_type, serial, at, end)
            if at < 0:
                return at
            continue
        is_mergeable = not is_repeated and (opcode == o.MESSAGE or load_int64(field, o.IS_SERIALIZED))
        if is_mergeable and load_int64(batch.seen, number_of_field) == serial:
            return -o.NOT_CANONICAL  # its occurrences must be merged
        if opcode != o.CLOSED_ENUM:
            store_int64(batch.seen, number_of_field, serial)
        stop = end
        if opcode >= o.BYTES or is_packed:
            at, stop = _read_length(at, end)
            if at < 0:
                return _fail(batch, -at, number_of_field, -1)
        if opcode == o.MESSAGE:
            child = batch.messages + _MESSAGE_SIZE * load_int64(field, o.A)
            if not _start_message(batch, field, child, is_repeated):
                return -o.FULL
            _save_frame(batch, depth, end, message, serial, expected)
            depth += 1
            end, message, serial = stop, child, _next_serial(batch)
            expected = load_int64(message, o.FIRST_FIELD)
            continue
        value_offset = at - begin
        if is_packed:
            at = _append_packed(batch, field, number_of_field, opcode, serial, at, stop)
        elif is_repeated:
            at = _append_element(batch, field, number_of_field, opcode, serial, at, stop)
        else:
            at = _replace_value(batch, field, number_of_field, opcode, serial, at, stop)
        if at <= -o.FULL:
            return at
        if at < 0:
            return _fail(batch, -at, number_of_field, value_offset if at == -o.BAD_UTF_8 else -1)


@helper
def _fail(batch: Batch, reason: int, field: int, offset: int) -> int:
    """Record a failure; return its negative."""
    store_int64(batch.failure, REASON, reason)
    store_int64(batch.failure, FIELD, field)
    store_int64(batch.failure, OFFSET, offset)
    return -reason


@inline_helper
def _save_frame(batch: Batch, depth: int, end: int, message: int, serial: int, expected: int) -> None:
    """Save the state of a message that a nested one interrupts."""
    frame = batch.frames + 8 * FRAME_CELLS * depth
    store_int64(frame, 0, end)
    store_int64(frame, 1, message)
    store_int64(frame, 2, serial)
    store_int64(frame, 3, expected)


@inline_helper
def _read_length(at: int, end: int) -> tuple[int, int]:
    """Return where a value with a length begins and ends."""
    length, at = read_varint(at, end)
    if at >= 0 and (length < 0 or length > end - at):
        at = np.int64(-o.TRUNCATED)
    return at, at + length


@inline_helper
def _skip_field(batch: Batch, number_of_field: int, number: int, wire_type: int, serial: int, at: int, end: int) -> int:
    """Skip the value of a field without a column."""
    if number_of_field >= 0:
        store_int64(batch.seen, number_of_field, serial)
    at = skip_group(at, end, number) if wire_type == o.SGROUP else skip_value(at, end, wire_type)
    return _fail(batch, -at, number_of_field, -1) if at < 0 else at


@inline_helper
def _next_serial(batch: Batch) -> int:
    """Return a new message's serial number."""
    serial = load_int64(batch.serial, 0) + 1
    store_int64(batch.serial, 0, serial)
    return serial


@inline_helper
def _missing_field(batch: Batch, message: int, serial: int) -> int:
    """Return a required field that the message did not have, or -1."""
    first = load_int64(message, o.REQUIRED)
    missing = np.int64(-1)
    for k in range(first, first + load_int64(message, o.REQUIRED_COUNT)):
        member = load_int64(batch.members, k)
        if load_int64(batch.seen, member) != serial:
            missing = member
    return missing


@inline_helper
def _find_field(batch: Batch, message: int, number: int, expected: int) -> int:
    """Return the message's field of a number, -1 if it is unknown.

    Args:
        expected: the field to try first, as fields mostly are in order.
    """
    low = load_int64(message, o.FIRST_FIELD)
    last = low + load_int64(message, o.FIELD_COUNT)
    if expected < last and load_int64(batch.fields + _FIELD_SIZE * expected, o.NUMBER) == number:
        return expected
    high = last
    while low < high:
        middle = (low + high) >> 1
        if load_int64(batch.fields + _FIELD_SIZE * middle, o.NUMBER) < number:
            low = middle + 1
        else:
            high = middle
    if low < last and load_int64(batch.fields + _FIELD_SIZE * low, o.NUMBER) == number:
        return low
    return np.int64(-1)


@inline_helper
def _has_other_member(batch: Batch, field: int, number_of_field: int, serial: int) -> bool:
    """Return whether the message already had another field of the field's oneof."""
    count = load_int64(field, o.MEMBER_COUNT)
    if count <= 1:
        return False
    first = load_int64(field, o.MEMBERS)
    for k in range(first, first + count):
        member = load_int64(batch.members, k)
        if member != number_of_field and load_int64(batch.seen, member) == serial:
            return True
    return False


@helper
def _append_defaults(batch: Batch, message: int) -> bool:
    """Append an entry to each of a message's slots, as without any field; return False if one is full."""
    first = batch.defaults + _DEFAULT_SIZE * load_int64(message, o.FIRST_DEFAULT)
    for default in range(first, first + _DEFAULT_SIZE * load_int64(message, o.DEFAULT_COUNT), _DEFAULT_SIZE):
        opcode, slot = load_int64(default, o.DEFAULT_OPCODE), load_int64(default, o.DEFAULT_SLOT)
        a = load_int64(default, o.DEFAULT_A)
        entry, values = load_int64(batch.counts, slot), slot_cell(batch.slots, slot, s.VALUES)
        if entry >= slot_cell(batch.slots, slot, s.CAPACITY):
            _fail(batch, o.FULL, slot, -1)
            return False
        store_int64(batch.counts, slot, entry + 1)
        is_null = opcode & 1
        store_int64(batch.nulls, slot, load_int64(batch.nulls, slot) + is_null)
        store(slot_cell(batch.slots, slot, s.VALID) + entry, types.uint8(1 - is_null))
        if opcode <= o.NUMBER_NULL:
            bits = np.int64(0) if is_null else load_int64(batch.constants, a)
            _store_default(values, entry, slot_cell(batch.slots, slot, s.WIDTH), bits)
        elif opcode <= o.BYTES_NULL:
            used = load_int64(batch.bytes_used, slot)
            if opcode == o.BYTES_DEFAULT:
                length = load_int64(batch.literal_ranges, 2 * a + 1)
                if used + length > slot_cell(batch.slots, slot, s.BYTES_CAPACITY):
                    _fail(batch, o.FULL_OF_BYTES, slot, -1)
                    return False
                literal = batch.literals + load_int64(batch.literal_ranges, 2 * a)
                copy(slot_cell(batch.slots, slot, s.DATA) + used, literal, length)
                used += length
                store_int64(batch.bytes_used, slot, used)
            store(values + 4 * entry + 4, types.int32(used))
        elif opcode <= o.LIST_NULL:
            store(values + 4 * entry + 4, types.int32(load_int64(batch.counts, a)))
    return True


@inline_helper
def _store_default(values: int, entry: int, width: int, bits: int) -> None:
    """Write a number of a given width."""
    if width == 4:
        store(values + 4 * entry, types.int32(bits))
    elif width == 8:
        store(values + 8 * entry, bits)
    elif width == 1:
        store(values + entry, types.uint8(bits))
    else:
        store(values + 16 * entry, bits)
        store(values + 16 * entry + 8, np.int64(0))


@inline_helper
def _set_valid(batch: Batch, slot: int) -> int:
    """Mark a slot's last entry as not null; return its index."""
    entry = load_int64(batch.counts, slot) - 1
    valid = slot_cell(batch.slots, slot, s.VALID) + entry
    if load(valid, types.uint8) == 0:
        store(valid, types.uint8(1))
        store_int64(batch.nulls, slot, load_int64(batch.nulls, slot) - 1)
    return entry


@inline_helper
def _extend_list(batch: Batch, slot: int, element_slot: int) -> None:
    """Extend a list slot's last entry to the elements that have been appended."""
    entry = _set_valid(batch, slot)
    store(slot_cell(batch.slots, slot, s.VALUES) + 4 * entry + 4, types.int32(load_int64(batch.counts, element_slot)))


@inline_helper
def _start_message(batch: Batch, field: int, message: int, is_repeated: bool) -> bool:
    """Start a nested message; return False if a slot is full."""
    slot = load_int64(field, o.SLOT)
    if not is_repeated:
        _set_valid(batch, slot)
        return True
    if not _append_defaults(batch, message):
        return False
    _extend_list(batch, load_int64(field, o.LIST_SLOT), slot)
    return True


@inline_helper
def _replace_value(batch: Batch, field: int, number_of_field: int, opcode: int, serial: int, at: int, stop: int) -> int:
    """Decode the value of a field that is not repeated: of several, the last counts."""
    slot = load_int64(field, o.SLOT)
    if opcode >= o.BYTES:
        if opcode == o.STRING and not is_utf8(at, stop):
            return -o.BAD_UTF_8
        entry = _set_valid(batch, slot)
        values = slot_cell(batch.slots, slot, s.VALUES)
        return _store_bytes(batch, slot, values, entry, np.int64(load(values + 4 * entry, types.int32)), at, stop)
    bits, at = _read_number(opcode, at, stop)
    if at < 0:
        return at
    if opcode == o.CLOSED_ENUM:
        if not _is_known(batch, field, bits):
            return at
        store_int64(batch.seen, number_of_field, serial)
    _store_number(opcode, slot_cell(batch.slots, slot, s.VALUES), _set_valid(batch, slot), bits)
    return at


@inline_helper
def _append_element(
    batch: Batch, field: int, number_of_field: int, opcode: int, serial: int, at: int, stop: int
) -> int:
    """Decode one element of a repeated field."""
    slot = load_int64(field, o.SLOT)
    entry = load_int64(batch.counts, slot)
    values = slot_cell(batch.slots, slot, s.VALUES)
    bits = np.int64(0)
    if opcode < o.BYTES:
        bits, at = _read_number(opcode, at, stop)
        if at < 0:
            return at
        if opcode == o.CLOSED_ENUM:
            if not _is_known(batch, field, bits):
                return at
            store_int64(batch.seen, number_of_field, serial)
    if entry >= slot_cell(batch.slots, slot, s.CAPACITY):
        return _fail(batch, o.FULL, slot, -1)
    store_int64(batch.counts, slot, entry + 1)
    store(slot_cell(batch.slots, slot, s.VALID) + entry, types.uint8(1))
    if opcode < o.BYTES:
        _store_number(opcode, values, entry, bits)
    else:
        if opcode == o.STRING and not is_utf8(at, stop):
            return -o.BAD_UTF_8
        at = _store_bytes(batch, slot, values, entry, load_int64(batch.bytes_used, slot), at, stop)
        if at < 0:
            return at
    _extend_list(batch, load_int64(field, o.LIST_SLOT), slot)
    return at


@helper
def _append_packed(batch: Batch, field: int, number_of_field: int, opcode: int, serial: int, at: int, stop: int) -> int:
    """Decode all elements of a packed field."""
    while at < stop:
        at = _append_element(batch, field, number_of_field, opcode, serial, at, stop)
        if at < 0:
            return at
    return at


@inline_helper
def _read_number(opcode: int, at: int, end: int) -> tuple[int, int]:
    """Return the bits of a number, and where it ends."""
    if opcode <= o.CLOSED_ENUM:
        return read_varint(at, end)
    if opcode <= o.FIXED_4_UNSIGNED:
        if at + 4 > end:
            return np.int64(0), -o.TRUNCATED
        return np.int64(load(at, types.int32)), at + 4
    if at + 8 > end:
        return np.int64(0), -o.TRUNCATED
    return load(at, types.int64), at + 8


@helper
def _is_known(batch: Batch, field: int, bits: int) -> bool:
    """Return whether a number is one of a closed enum's."""
    number, first, is_known = np.int64(types.int32(bits)), load_int64(field, o.A), False
    for k in range(first, first + load_int64(field, o.B)):
        is_known = is_known or load_int64(batch.constants, k) == number
    return is_known


@inline_helper
def _store_number(opcode: int, values: int, entry: int, bits: int) -> None:
    """Write a number as its column has it."""
    if opcode in (o.VARINT_32, o.CLOSED_ENUM, o.FIXED_4):
        store(values + 4 * entry, types.int32(bits))
    elif opcode in (o.VARINT_64, o.FIXED_8):
        store(values + 8 * entry, bits)
    elif opcode == o.BOOL:
        store(values + entry, types.uint8(bits != 0))
    elif opcode == o.ZIGZAG_32:
        word = bits & 0xFFFFFFFF
        store(values + 4 * entry, types.int32((word >> 1) ^ -(word & 1)))
    elif opcode == o.ZIGZAG_64:
        store(values + 8 * entry, np.int64(np.uint64(bits) >> np.uint64(1)) ^ -(bits & 1))
    elif opcode in (o.UNSIGNED_32, o.FIXED_4_UNSIGNED):
        store(values + 8 * entry, bits & 0xFFFFFFFF)
    else:
        store(values + 16 * entry, bits)
        store(values + 16 * entry + 8, np.int64(0))


@inline_helper
def _store_bytes(batch: Batch, slot: int, values: int, entry: int, used: int, at: int, stop: int) -> int:
    """Write an entry's bytes after the ``used`` bytes of the entries before it."""
    length = stop - at
    if used + length > slot_cell(batch.slots, slot, s.BYTES_CAPACITY):
        return _fail(batch, o.FULL_OF_BYTES, slot, -1)
    copy(slot_cell(batch.slots, slot, s.DATA) + used, at, length)
    store_int64(batch.bytes_used, slot, used + length)
    store(values + 4 * entry + 4, types.int32(used + length))
    return stop
