"""Decode messages into column buffers with a loop that numba compiles: no Python object per record.

Steps return the address at which decoding continues, or the negative of a failure in ``opcodes``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from kafka_sql.formats.columnar import column_buffers
from kafka_sql.formats.columnar.buffer_kernels import load_int64, slot_cell, store_int64
from kafka_sql.formats.protobuf import opcodes
from kafka_sql.formats.protobuf.wire_kernels import is_utf8, read_varint, skip_group, skip_value
from kafka_sql.runtime.numba_support import compiled, copy, helper, inline_helper, load, store

REASON, FIELD, OFFSET, FAILURE_CELLS = 0, 1, 2, 3  # FIELD is the slot if the reason is FULL or FULL_OF_BYTES
FRAME_CELLS = 4
_FIELD_SIZE = 8 * opcodes.FIELD_CELLS
_MESSAGE_SIZE = 8 * opcodes.MESSAGE_CELLS
_DEFAULT_SIZE = 8 * opcodes.DEFAULT_CELLS


class Batch(NamedTuple):
    """What the decode loop reads and fills, as addresses."""

    data: int  # bytes of all messages
    # int64: where each message begins and ends in ``data``
    starts: int
    ends: int
    # range of the messages to decode
    begin: int
    end: int
    fields: int  # int64, n x FIELD_CELLS
    messages: int  # int64, n x MESSAGE_CELLS; the first one is the payload's
    defaults: int  # int64, n x DEFAULT_CELLS
    field_indices: int  # int64: indices of the required fields of each message
    constants: int  # int64: defaults, and numbers of enums, which are sorted
    literals: int  # bytes of defaults
    literal_ranges: int  # int64, n x 2: offset and length of each literal
    # tables of the ColumnBuffers; ``nulls`` counts nulls
    slots: int
    counts: int
    bytes_used: int
    nulls: int
    slot_count: int  # number of slots
    skip_malformed: int  # whether to continue after malformed messages
    # int64 per field: serial number of the last message that had the field; negative if it is the value of a map's
    # entry and the enum does not have its number
    last_serials: int
    oneofs: int  # int64, n x 2: serial number of the last message that had a field of the oneof, and that field
    serial: int  # int64, 1: serial number of the last message that was started
    # int64, depth x FRAME_CELLS: of each enclosing message its end, the address of its cells, its serial number, and
    # the field to expect next
    frames: int
    saved_counts: int  # int64, 3 x slot_count: counts, bytes_used and nulls before the row
    outcomes: int  # uint8 per message: 0, or why it was not decoded
    failure: int  # int64, FAILURE_CELLS: the last failure; the offset in the message is -1 if it is unknown
    failures: int  # int64, n x FAILURE_CELLS: the failures of messages that were not decoded


@compiled
def decode_rows(batch: Batch) -> int:
    """Decode messages until one fails; return its index, or ``batch.end`` if none does.

    The row of a message that fails is removed, also if the reason is a slot that is full.
    """
    size = 8 * batch.slot_count
    for row in range(batch.begin, batch.end):
        copy(batch.saved_counts, batch.counts, size)
        copy(batch.saved_counts + size, batch.bytes_used, size)
        copy(batch.saved_counts + 2 * size, batch.nulls, size)
        start, end = load_int64(batch.starts, row), load_int64(batch.ends, row)
        reason = -_decode_row(batch, batch.data + start, batch.data + end)
        store(batch.outcomes + row, types.uint8(reason))
        if reason != 0:
            copy(batch.counts, batch.saved_counts, size)
            copy(batch.bytes_used, batch.saved_counts + size, size)
            copy(batch.nulls, batch.saved_counts + 2 * size, size)
            copy(batch.failures + 8 * FAILURE_CELLS * row, batch.failure, 8 * FAILURE_CELLS)
            if reason >= opcodes.FULL or (reason != opcodes.NOT_CANONICAL and not batch.skip_malformed):
                return row
    return batch.end


@inline_helper
def _decode_row(batch: Batch, begin: int, end: int) -> int:
    """Decode the message between two addresses; return 0 or a negative failure."""
    cursor, depth, message, serial = begin, 0, batch.messages, _next_serial(batch)
    next_field, field_index = load_int64(message, opcodes.FIRST_FIELD), np.int64(-1)
    if cursor > end:
        return _fail(batch, opcodes.TRUNCATED, -1, 0)
    if not _append_defaults(batch, message):
        return -opcodes.FULL
    while True:
        while cursor >= end:
            missing = _missing_field(batch, message, serial)
            if missing >= 0:
                return _fail(batch, opcodes.LACKS_REQUIRED, missing, cursor - begin)
            if load_int64(message, opcodes.ENTRY_VALUE) >= 0:
                _finish_entry(batch, message, serial)
            if depth == 0:
                return 0
            depth -= 1
            frame = batch.frames + 8 * FRAME_CELLS * depth
            end, message = load_int64(frame, 0), load_int64(frame, 1)
            serial, next_field = load_int64(frame, 2), load_int64(frame, 3)
        tag, cursor = read_varint(cursor, end)
        if cursor < 0:
            return _fail(batch, -cursor, field_index, -1)  # names the field before the tag
        number, wire_type = (tag & 0xFFFFFFFF) >> 3, tag & 7
        if number == 0 or wire_type == opcodes.EGROUP:
            return _fail(batch, opcodes.BAD_TAG, field_index, cursor - begin)
        field_index = _find_field(batch, message, number, next_field)
        field = batch.fields + _FIELD_SIZE * field_index
        opcode, is_repeated, is_packed = opcodes.UNMAPPED, False, False
        if field_index >= 0:
            opcode, is_repeated = load_int64(field, opcodes.OPCODE), load_int64(field, opcodes.LIST_SLOT) >= 0
            next_field = field_index if is_repeated else field_index + 1
            field_wire_type = load_int64(field, opcodes.WIRE_TYPE)
            is_packed = (
                is_repeated and wire_type == opcodes.LEN and opcode < opcodes.BYTES and opcode != opcodes.UNMAPPED
            )
            if field_wire_type >= 0 and field_wire_type != wire_type and not is_packed:
                field_index, opcode = np.int64(-1), opcodes.UNMAPPED  # like an unknown field
            elif _has_other_member(batch, field, field_index, serial):
                return -opcodes.NOT_CANONICAL
        if opcode == opcodes.UNMAPPED:
            cursor = _skip_field(batch, field_index, number, wire_type, serial, cursor, end)
            if cursor < 0:
                return cursor
            continue
        is_mergeable = not is_repeated and (opcode == opcodes.MESSAGE or load_int64(field, opcodes.IS_SERIALIZED))
        if is_mergeable and load_int64(batch.last_serials, field_index) == serial:
            return -opcodes.NOT_CANONICAL  # its occurrences must be merged
        if opcode != opcodes.CLOSED_ENUM:
            _mark_present(batch, field, field_index, serial)
        stop = end
        if opcode >= opcodes.BYTES or is_packed:
            cursor, stop = _read_length(cursor, end)
            if cursor < 0:
                return _fail(batch, -cursor, field_index, -1)
        if opcode == opcodes.MESSAGE:
            child = batch.messages + _MESSAGE_SIZE * load_int64(field, opcodes.A)
            if not _start_message(batch, field, child, is_repeated):
                return -opcodes.FULL
            _save_frame(batch, depth, end, message, serial, next_field)
            depth += 1
            end, message, serial = stop, child, _next_serial(batch)
            next_field = load_int64(message, opcodes.FIRST_FIELD)
            continue
        value_offset = cursor - begin
        if is_packed:
            cursor = _append_packed(batch, field, field_index, opcode, serial, cursor, stop)
        elif is_repeated:
            cursor = _append_element(batch, field, field_index, opcode, serial, cursor, stop)
        else:
            cursor = _replace_value(batch, field, field_index, opcode, serial, cursor, stop)
        if cursor <= -opcodes.FULL:
            return cursor
        if cursor < 0:
            return _fail(batch, -cursor, field_index, value_offset if cursor == -opcodes.BAD_UTF_8 else -1)


@helper
def _fail(batch: Batch, reason: int, field: int, offset: int) -> int:
    """Record a failure; return its negative."""
    store_int64(batch.failure, REASON, reason)
    store_int64(batch.failure, FIELD, field)
    store_int64(batch.failure, OFFSET, offset)
    return -reason


@inline_helper
def _save_frame(batch: Batch, depth: int, end: int, message: int, serial: int, next_field: int) -> None:
    """Save the state of a message that a nested one interrupts."""
    frame = batch.frames + 8 * FRAME_CELLS * depth
    store_int64(frame, 0, end)
    store_int64(frame, 1, message)
    store_int64(frame, 2, serial)
    store_int64(frame, 3, next_field)


@inline_helper
def _read_length(cursor: int, end: int) -> tuple[int, int]:
    """Return where a value with a length begins and ends."""
    length, cursor = read_varint(cursor, end)
    if cursor >= 0 and (length < 0 or length > end - cursor):
        cursor = np.int64(-opcodes.TRUNCATED)
    return cursor, cursor + length


@inline_helper
def _skip_field(batch: Batch, field_index: int, number: int, wire_type: int, serial: int, cursor: int, end: int) -> int:
    """Skip the value of a field without a column."""
    if field_index >= 0:
        _mark_present(batch, batch.fields + _FIELD_SIZE * field_index, field_index, serial)
    cursor = skip_group(cursor, end, number) if wire_type == opcodes.SGROUP else skip_value(cursor, end, wire_type)
    return _fail(batch, -cursor, field_index, -1) if cursor < 0 else cursor


@inline_helper
def _next_serial(batch: Batch) -> int:
    """Return a new message's serial number."""
    serial = load_int64(batch.serial, 0) + 1
    store_int64(batch.serial, 0, serial)
    return serial


@inline_helper
def _missing_field(batch: Batch, message: int, serial: int) -> int:
    """Return the index of a required field that the message did not have, or -1."""
    first = load_int64(message, opcodes.REQUIRED)
    missing = np.int64(-1)
    for k in range(first, first + load_int64(message, opcodes.REQUIRED_COUNT)):
        member = load_int64(batch.field_indices, k)
        if load_int64(batch.last_serials, member) != serial:
            missing = member
    return missing


@inline_helper
def _find_field(batch: Batch, message: int, number: int, next_field: int) -> int:
    """Return the index of the message's field with a number, or -1 if there is none.

    Args:
        next_field: index of the field to try first, because most messages have their fields in order.
    """
    low = load_int64(message, opcodes.FIRST_FIELD)
    last = low + load_int64(message, opcodes.FIELD_COUNT)
    if next_field < last and load_int64(batch.fields + _FIELD_SIZE * next_field, opcodes.NUMBER) == number:
        return next_field
    high = last
    while low < high:
        middle = (low + high) >> 1
        if load_int64(batch.fields + _FIELD_SIZE * middle, opcodes.NUMBER) < number:
            low = middle + 1
        else:
            high = middle
    if low < last and load_int64(batch.fields + _FIELD_SIZE * low, opcodes.NUMBER) == number:
        return low
    return np.int64(-1)


@inline_helper
def _has_other_member(batch: Batch, field: int, field_index: int, serial: int) -> bool:
    """Return whether the message already had another field of the field's oneof."""
    oneof = load_int64(field, opcodes.ONEOF)
    return (
        oneof >= 0
        and load_int64(batch.oneofs, 2 * oneof) == serial
        and load_int64(batch.oneofs, 2 * oneof + 1) != field_index
    )


@inline_helper
def _mark_present(batch: Batch, field: int, field_index: int, serial: int) -> None:
    """Record that a message has a field."""
    store_int64(batch.last_serials, field_index, serial)
    oneof = load_int64(field, opcodes.ONEOF)
    if oneof >= 0:
        store_int64(batch.oneofs, 2 * oneof, serial)
        store_int64(batch.oneofs, 2 * oneof + 1, field_index)


@helper
def _append_defaults(batch: Batch, message: int) -> bool:
    """Append the entry of an empty message to each of a message's slots; return False if one is full."""
    first = batch.defaults + _DEFAULT_SIZE * load_int64(message, opcodes.FIRST_DEFAULT)
    for default in range(first, first + _DEFAULT_SIZE * load_int64(message, opcodes.DEFAULT_COUNT), _DEFAULT_SIZE):
        opcode, slot = load_int64(default, opcodes.DEFAULT_OPCODE), load_int64(default, opcodes.DEFAULT_SLOT)
        operand = load_int64(default, opcodes.DEFAULT_A)
        entry, values = load_int64(batch.counts, slot), slot_cell(batch.slots, slot, column_buffers.VALUES)
        if entry >= slot_cell(batch.slots, slot, column_buffers.CAPACITY):
            _fail(batch, opcodes.FULL, slot, -1)
            return False
        store_int64(batch.counts, slot, entry + 1)
        is_null = opcode & 1
        store_int64(batch.nulls, slot, load_int64(batch.nulls, slot) + is_null)
        store(slot_cell(batch.slots, slot, column_buffers.VALID) + entry, types.uint8(1 - is_null))
        if opcode <= opcodes.NUMBER_NULL:
            bits = np.int64(0) if is_null else load_int64(batch.constants, operand)
            _store_default(values, entry, slot_cell(batch.slots, slot, column_buffers.WIDTH), bits)
        elif opcode <= opcodes.BYTES_NULL:
            used_bytes = load_int64(batch.bytes_used, slot)
            if opcode == opcodes.BYTES_DEFAULT:
                length = load_int64(batch.literal_ranges, 2 * operand + 1)
                if used_bytes + length > slot_cell(batch.slots, slot, column_buffers.BYTES_CAPACITY):
                    _fail(batch, opcodes.FULL_OF_BYTES, slot, -1)
                    return False
                literal = batch.literals + load_int64(batch.literal_ranges, 2 * operand)
                copy(slot_cell(batch.slots, slot, column_buffers.DATA) + used_bytes, literal, length)
                used_bytes += length
                store_int64(batch.bytes_used, slot, used_bytes)
            store(values + 4 * entry + 4, types.int32(used_bytes))
        elif opcode <= opcodes.LIST_NULL:
            store(values + 4 * entry + 4, types.int32(load_int64(batch.counts, operand)))
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
    valid = slot_cell(batch.slots, slot, column_buffers.VALID) + entry
    if load(valid, types.uint8) == 0:
        store(valid, types.uint8(1))
        store_int64(batch.nulls, slot, load_int64(batch.nulls, slot) - 1)
    return entry


@inline_helper
def _extend_list(batch: Batch, slot: int, element_slot: int) -> None:
    """Extend a list slot's last entry to the elements that have been appended."""
    entry = _set_valid(batch, slot)
    store(
        slot_cell(batch.slots, slot, column_buffers.VALUES) + 4 * entry + 4,
        types.int32(load_int64(batch.counts, element_slot)),
    )


@inline_helper
def _start_message(batch: Batch, field: int, message: int, is_repeated: bool) -> bool:
    """Start a nested message; return False if a slot is full."""
    slot = load_int64(field, opcodes.SLOT)
    if not is_repeated:
        _set_valid(batch, slot)
        return True
    if not _append_defaults(batch, message):
        return False
    if load_int64(message, opcodes.ENTRY_VALUE) < 0:
        _extend_list(batch, load_int64(field, opcodes.LIST_SLOT), slot)
    return True


@helper
def _finish_entry(batch: Batch, message: int, serial: int) -> None:
    """Add an entry to its map; remove it if its value is a number that the enum does not have."""
    key = batch.fields + _FIELD_SIZE * load_int64(message, opcodes.FIRST_FIELD)
    value_index = load_int64(message, opcodes.ENTRY_VALUE)
    value = batch.fields + _FIELD_SIZE * value_index
    slot = load_int64(key, opcodes.SLOT)
    if load_int64(batch.last_serials, value_index) != -serial:
        _extend_list(batch, load_int64(message, opcodes.ENTRY_LIST), slot)
        return
    entry, value_slot = load_int64(batch.counts, slot) - 1, load_int64(value, opcodes.SLOT)
    store_int64(batch.counts, slot, entry)
    store_int64(batch.counts, value_slot, load_int64(batch.counts, value_slot) - 1)
    if slot_cell(batch.slots, slot, column_buffers.WIDTH) == column_buffers.VARIABLE:
        offsets = slot_cell(batch.slots, slot, column_buffers.VALUES)
        store_int64(batch.bytes_used, slot, np.int64(load(offsets + 4 * entry, types.int32)))


@inline_helper
def _replace_value(batch: Batch, field: int, field_index: int, opcode: int, serial: int, cursor: int, stop: int) -> int:
    """Decode the value of a field that is not repeated: the last occurrence counts."""
    slot = load_int64(field, opcodes.SLOT)
    if opcode >= opcodes.BYTES:
        if opcode == opcodes.STRING and not is_utf8(cursor, stop):
            return -opcodes.BAD_UTF_8
        entry = _set_valid(batch, slot)
        values = slot_cell(batch.slots, slot, column_buffers.VALUES)
        return _store_bytes(batch, slot, values, entry, np.int64(load(values + 4 * entry, types.int32)), cursor, stop)
    bits, cursor = _read_number(opcode, cursor, stop)
    if cursor < 0:
        return cursor
    if opcode == opcodes.CLOSED_ENUM:
        in_map = load_int64(field, opcodes.IN_MAP)
        if not _is_known(batch, field, bits):
            if in_map:
                store_int64(batch.last_serials, field_index, -serial)
            return cursor
        if in_map and load_int64(batch.last_serials, field_index) == -serial:
            return cursor
        _mark_present(batch, field, field_index, serial)
    _store_number(opcode, slot_cell(batch.slots, slot, column_buffers.VALUES), _set_valid(batch, slot), bits)
    return cursor


@inline_helper
def _append_element(
    batch: Batch, field: int, field_index: int, opcode: int, serial: int, cursor: int, stop: int
) -> int:
    """Decode one element of a repeated field."""
    slot = load_int64(field, opcodes.SLOT)
    entry = load_int64(batch.counts, slot)
    values = slot_cell(batch.slots, slot, column_buffers.VALUES)
    bits = np.int64(0)
    if opcode < opcodes.BYTES:
        bits, cursor = _read_number(opcode, cursor, stop)
        if cursor < 0:
            return cursor
        if opcode == opcodes.CLOSED_ENUM:
            if not _is_known(batch, field, bits):
                return cursor
            _mark_present(batch, field, field_index, serial)
    if entry >= slot_cell(batch.slots, slot, column_buffers.CAPACITY):
        return _fail(batch, opcodes.FULL, slot, -1)
    store_int64(batch.counts, slot, entry + 1)
    store(slot_cell(batch.slots, slot, column_buffers.VALID) + entry, types.uint8(1))
    if opcode < opcodes.BYTES:
        _store_number(opcode, values, entry, bits)
    else:
        if opcode == opcodes.STRING and not is_utf8(cursor, stop):
            return -opcodes.BAD_UTF_8
        cursor = _store_bytes(batch, slot, values, entry, load_int64(batch.bytes_used, slot), cursor, stop)
        if cursor < 0:
            return cursor
    _extend_list(batch, load_int64(field, opcodes.LIST_SLOT), slot)
    return cursor


@helper
def _append_packed(batch: Batch, field: int, field_index: int, opcode: int, serial: int, cursor: int, stop: int) -> int:
    """Decode all elements of a packed field."""
    while cursor < stop:
        cursor = _append_element(batch, field, field_index, opcode, serial, cursor, stop)
        if cursor < 0:
            return cursor
    return cursor


@inline_helper
def _read_number(opcode: int, cursor: int, end: int) -> tuple[int, int]:
    """Return the bits of a number, and where it ends."""
    if opcode <= opcodes.CLOSED_ENUM:
        return read_varint(cursor, end)
    if opcode <= opcodes.FIXED_4_UNSIGNED:
        if cursor + 4 > end:
            return np.int64(0), -opcodes.TRUNCATED
        return np.int64(load(cursor, types.int32)), cursor + 4
    if cursor + 8 > end:
        return np.int64(0), -opcodes.TRUNCATED
    return load(cursor, types.int64), cursor + 8


@helper
def _is_known(batch: Batch, field: int, bits: int) -> bool:
    """Return whether a closed enum has a number."""
    number, low = np.int64(types.int32(bits)), load_int64(field, opcodes.A)
    end = low + load_int64(field, opcodes.B)
    high = end
    while low < high:
        middle = (low + high) >> 1
        if load_int64(batch.constants, middle) < number:
            low = middle + 1
        else:
            high = middle
    return low < end and load_int64(batch.constants, low) == number


@inline_helper
def _store_number(opcode: int, values: int, entry: int, bits: int) -> None:
    """Write a number in the form of its column."""
    if opcode in (opcodes.VARINT_32, opcodes.CLOSED_ENUM, opcodes.FIXED_4):
        store(values + 4 * entry, types.int32(bits))
    elif opcode in (opcodes.VARINT_64, opcodes.FIXED_8):
        store(values + 8 * entry, bits)
    elif opcode == opcodes.BOOL:
        store(values + entry, types.uint8(bits != 0))
    elif opcode == opcodes.ZIGZAG_32:
        word = bits & 0xFFFFFFFF
        store(values + 4 * entry, types.int32((word >> 1) ^ -(word & 1)))
    elif opcode == opcodes.ZIGZAG_64:
        store(values + 8 * entry, np.int64(np.uint64(bits) >> np.uint64(1)) ^ -(bits & 1))
    elif opcode in (opcodes.UNSIGNED_32, opcodes.FIXED_4_UNSIGNED):
        store(values + 8 * entry, bits & 0xFFFFFFFF)
    else:
        store(values + 16 * entry, bits)
        store(values + 16 * entry + 8, np.int64(0))


@inline_helper
def _store_bytes(batch: Batch, slot: int, values: int, entry: int, used_bytes: int, cursor: int, stop: int) -> int:
    """Write an entry's bytes after the ``used_bytes`` of the entries before it."""
    length = stop - cursor
    if used_bytes + length > slot_cell(batch.slots, slot, column_buffers.BYTES_CAPACITY):
        return _fail(batch, opcodes.FULL_OF_BYTES, slot, -1)
    copy(slot_cell(batch.slots, slot, column_buffers.DATA) + used_bytes, cursor, length)
    store_int64(batch.bytes_used, slot, used_bytes + length)
    store(values + 4 * entry + 4, types.int32(used_bytes + length))
    return stop
