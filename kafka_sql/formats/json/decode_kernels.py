"""Decode JSON objects into column buffers with a loop that numba compiles: no Python object per record.

The loop decodes a payload if it is certain to read it as the fallback does, and otherwise leaves the whole payload to
the fallback.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from kafka_sql.formats.columnar import column_buffers, decode_plan
from kafka_sql.formats.columnar.buffer_kernels import (
    DECODED,
    DEFERRED_FLOATS,
    FULL,
    INEXACT,
    REJECTED,
    ROW_COUNT,
    UNSUPPORTED,
    Batch,
    append_null_or_report,
    defer_float,
    finish_bytes,
    finish_entry,
    finish_list,
    finish_payload,
    load_int64,
    name_cell,
    payload_bounds,
    plan_cell,
    report_full_bytes,
    report_full_slot,
    slot_cell,
    store_int64,
    store_number,
    store_temporal,
)
from kafka_sql.formats.columnar.scalar_kernels import decode_base64, equal_bytes, scan_number
from kafka_sql.formats.json.scan_kernels import (
    CLOSE_ARRAY,
    CLOSE_OBJECT,
    COMMA,
    OPEN_ARRAY,
    OPEN_OBJECT,
    QUOTE,
    copy_string,
    find_field,
    literal_size,
    skip_colon,
    skip_space,
    skip_string,
    skip_value,
)
from kafka_sql.runtime.numba_support import compiled, copy, helper, inline_helper, load, store

_LOWER_N = 110  # of null
_STACK_CELLS = 3  # an open container's slot, the field to expect next, and how many fields it has had


class JsonRules(NamedTuple):
    """The options that the loop needs."""

    date_separator: int  # the byte between a timestamp's date and time
    has_offset: int  # timestamps end in an offset from UTC
    fail_on_missing: int  # a missing field is an error, not null


@compiled
def decode_rows(batch: Batch, rules: JsonRules) -> int:
    """Decode payloads until all are done or a buffer is full; return the position in ``batch.indices`` to resume at."""
    for position in range(batch.begin, batch.end):
        cursor, end = payload_bounds(batch, position)
        row, deferred = load_int64(batch.state, ROW_COUNT), load_int64(batch.state, DEFERRED_FLOATS)
        outcome = _decode_payload(batch, rules, row, cursor, end)
        if not finish_payload(batch, position, row, deferred, outcome):
            return position
    return batch.end


@helper
def _decode_payload(batch: Batch, rules: JsonRules, row: int, cursor: int, end: int) -> int:
    """Append a payload's values to the buffers; return DECODED, UNSUPPORTED or FULL."""
    cursor = skip_space(cursor, end)
    if cursor >= end or load(cursor, types.uint8) != OPEN_OBJECT:
        return UNSUPPORTED
    cursor = skip_space(cursor + 1, end)
    # np.int64(0): numba would compile _read_name a second time for a literal 0
    depth = 0
    slot = batch.root
    type = np.int64(decode_plan.ROW)
    next_field = np.int64(0)
    field_count = 0
    just_opened = True
    while True:
        if cursor >= end:
            return UNSUPPORTED
        if not (
            just_opened and load(cursor, types.uint8) == (CLOSE_ARRAY if type == decode_plan.ARRAY else CLOSE_OBJECT)
        ):
            if type == decode_plan.ROW:
                cursor, value_slot, next_field = _read_name(batch, row, slot, next_field, cursor, end)
                field_count += value_slot >= 0
            elif type == decode_plan.ARRAY:
                value_slot = plan_cell(batch.plan, slot, decode_plan.CHILD_SLOT)
            else:
                cursor, value_slot = _read_map_key(batch, slot, cursor, end)
            if cursor < 0:
                return cursor
            byte = load(cursor, types.uint8)
            if value_slot < 0:
                cursor = skip_value(cursor, end, batch.last_word)
            elif byte == _LOWER_N:
                cursor = _read_null(batch, value_slot, cursor, end)
            elif plan_cell(batch.plan, value_slot, decode_plan.TYPE) < decode_plan.ROW:
                cursor = _read_scalar(batch, rules, value_slot, cursor, end)
            else:
                cursor = _open_container(batch, value_slot, cursor, end)
                if cursor < 0:
                    return cursor
                cells = batch.stack + 8 * _STACK_CELLS * depth
                store_int64(cells, 0, slot)
                store_int64(cells, 1, next_field)
                store_int64(cells, 2, field_count)
                depth += 1
                slot, next_field, field_count, just_opened = value_slot, np.int64(0), 0, True
                type = plan_cell(batch.plan, slot, decode_plan.TYPE)
                continue
            if cursor < 0:
                return cursor
            cursor = skip_space(cursor, end)
            if cursor >= end:
                return UNSUPPORTED
        byte = load(cursor, types.uint8)
        while byte == (CLOSE_ARRAY if type == decode_plan.ARRAY else CLOSE_OBJECT):
            outcome = _close_container(batch, rules, row, slot, type, field_count)
            if outcome < 0:
                return outcome
            cursor = skip_space(cursor + 1, end)
            if depth == 0:
                return DECODED if cursor == end else UNSUPPORTED
            if cursor >= end:
                return UNSUPPORTED
            depth -= 1
            cells = batch.stack + 8 * _STACK_CELLS * depth
            slot, next_field, field_count = load_int64(cells, 0), load_int64(cells, 1), load_int64(cells, 2)
            type = plan_cell(batch.plan, slot, decode_plan.TYPE)
            byte = load(cursor, types.uint8)
        if byte != COMMA:
            return UNSUPPORTED
        cursor = skip_space(cursor + 1, end)
        just_opened = False


@inline_helper
def _read_name(batch: Batch, row: int, row_slot: int, next_field: int, cursor: int, end: int) -> tuple[int, int, int]:
    """Read a field's name and the colon. The field ``next_field`` is likely to be next.

    Returns:
        the address of the value or an outcome, the value's slot (-1 if there is no such field), and the field to
        expect after this one.
    """
    if load(cursor, types.uint8) != QUOTE:
        return UNSUPPORTED, np.int64(-1), next_field
    first = plan_cell(batch.plan, row_slot, decode_plan.FIRST_NAME)
    count = plan_cell(batch.plan, row_slot, decode_plan.FIELD_COUNT)
    slot, size = np.int64(-1), np.int64(0)
    if count > 0:
        size = name_cell(batch.names, first + next_field, decode_plan.NAME_SIZE)
    if (
        size > 0
        and end - cursor >= size
        and equal_bytes(
            cursor, batch.name_bytes + name_cell(batch.names, first + next_field, decode_plan.NAME_OFFSET), size
        )
    ):
        slot = name_cell(batch.names, first + next_field, decode_plan.NAME_SLOT)
        cursor += size
    else:
        stop = skip_string(cursor + 1, end, batch.last_word)
        field = find_field(cursor, stop, batch.names, batch.name_bytes, first, count, next_field) if stop >= 0 else -2
        if field == -2:
            return UNSUPPORTED, slot, next_field
        cursor = stop
        if field >= 0:
            next_field, slot = field, name_cell(batch.names, first + field, decode_plan.NAME_SLOT)
    if slot >= 0:
        next_field = next_field + 1 if next_field + 1 < count else np.int64(0)
        if load_int64(batch.counts, slot) > (row if row_slot == batch.root else load_int64(batch.counts, row_slot) - 1):
            return UNSUPPORTED, slot, next_field  # a repeated name
    return skip_colon(cursor, end), slot, next_field


@inline_helper
def _read_map_key(batch: Batch, map_slot: int, cursor: int, end: int) -> tuple[int, int]:
    """Append a key and skip the colon; return the address of the value or an outcome, and the value's slot."""
    slot = plan_cell(batch.plan, map_slot, decode_plan.CHILD_SLOT)
    value_slot = plan_cell(batch.plan, map_slot, decode_plan.VALUE_SLOT)
    if load(cursor, types.uint8) != QUOTE:
        return UNSUPPORTED, value_slot
    cursor = _read_string(batch, slot, load_int64(batch.counts, slot), cursor, end)
    return skip_colon(cursor, end) if cursor >= 0 else cursor, value_slot


@inline_helper
def _read_null(batch: Batch, slot: int, cursor: int, end: int) -> int:
    """Append null; return the address after the literal, or an outcome."""
    if plan_cell(batch.plan, slot, decode_plan.NULLABLE) == 0 or literal_size(cursor, end) == 0:
        return UNSUPPORTED
    return cursor + 4 if append_null_or_report(batch, slot) == DECODED else FULL


@inline_helper
def _read_scalar(batch: Batch, rules: JsonRules, slot: int, cursor: int, end: int) -> int:
    """Append a value that is neither null nor nested; return the address after it, or an outcome."""
    entry = load_int64(batch.counts, slot)
    if slot_cell(batch.slots, slot, column_buffers.WIDTH) == column_buffers.VARIABLE:
        return _read_string(batch, slot, entry, cursor, end)
    if entry >= slot_cell(batch.slots, slot, column_buffers.CAPACITY):
        return report_full_slot(batch, slot)
    plan_row = batch.plan + 8 * decode_plan.PLAN_CELLS * slot
    type, values = load_int64(plan_row, decode_plan.TYPE), slot_cell(batch.slots, slot, column_buffers.VALUES)
    if type == decode_plan.BOOLEAN:
        size = literal_size(cursor, end)
        store(values + entry, types.uint8(size == 4))
        if size == 0:
            return UNSUPPORTED
        cursor += size
    else:
        quoted = load(cursor, types.uint8) == QUOTE
        cursor += quoted
        if type <= decode_plan.DECIMAL:
            start = cursor
            cursor, mantissa, exponent, flags = scan_number(cursor, end)
            if cursor < 0:
                return UNSUPPORTED
            outcome = store_number(plan_row, values, entry, mantissa, exponent, flags)
            if outcome == REJECTED:
                return UNSUPPORTED
            if outcome == INEXACT and not defer_float(batch, slot, entry, start, cursor):
                return report_full_slot(batch, batch.root)
        elif quoted:
            cursor = store_temporal(plan_row, values, entry, cursor, end, rules.date_separator, rules.has_offset)
            if cursor < 0:
                return UNSUPPORTED
        else:
            return UNSUPPORTED
        if quoted:
            if cursor >= end or load(cursor, types.uint8) != QUOTE:
                return UNSUPPORTED
            cursor += 1
    finish_entry(batch, slot, entry)
    return cursor


@inline_helper
def _read_string(batch: Batch, slot: int, entry: int, cursor: int, end: int) -> int:
    """Append a STRING or BYTES value; return the address after it, or an outcome."""
    if entry >= slot_cell(batch.slots, slot, column_buffers.CAPACITY):
        return report_full_slot(batch, slot)
    used_bytes = load_int64(batch.bytes_used, slot)
    if used_bytes + (end - cursor) + 8 > slot_cell(batch.slots, slot, column_buffers.BYTES_CAPACITY):
        return report_full_bytes(batch, slot)
    target = slot_cell(batch.slots, slot, column_buffers.DATA) + used_bytes
    quoted = load(cursor, types.uint8) == QUOTE
    if plan_cell(batch.plan, slot, decode_plan.TYPE) == decode_plan.BYTES:
        if not quoted:
            return UNSUPPORTED
        cursor, target = decode_base64(cursor + 1, end, target)
        if cursor >= end or load(cursor, types.uint8) != QUOTE:
            return UNSUPPORTED
        cursor += 1
    elif quoted:
        cursor, target = copy_string(cursor + 1, end, batch.last_word, target)
    else:  # a number, true or false, as it is written
        start, size = cursor, literal_size(cursor, end)
        cursor = cursor + size if size > 0 else scan_number(cursor, end)[0]
        if cursor >= 0:
            copy(target, start, cursor - start)
            target += cursor - start
    if cursor < 0:
        return UNSUPPORTED
    finish_bytes(batch, slot, entry, target)
    return cursor


@inline_helper
def _open_container(batch: Batch, slot: int, cursor: int, end: int) -> int:
    """Read an opening bracket and count the entry of a ROW; return the address after it, or an outcome."""
    entry, type = load_int64(batch.counts, slot), plan_cell(batch.plan, slot, decode_plan.TYPE)
    if entry >= slot_cell(batch.slots, slot, column_buffers.CAPACITY):
        return report_full_slot(batch, slot)
    if load(cursor, types.uint8) != (OPEN_ARRAY if type == decode_plan.ARRAY else OPEN_OBJECT):
        return UNSUPPORTED
    if type == decode_plan.ROW:
        finish_entry(batch, slot, entry)
    return skip_space(cursor + 1, end)


@inline_helper
def _close_container(batch: Batch, rules: JsonRules, row: int, slot: int, type: int, field_count: int) -> int:
    """Append null for the missing fields of a ROW, or the entry of an ARRAY or MAP; return an outcome."""
    if type != decode_plan.ROW:
        finish_list(batch, slot)
        return DECODED
    first = plan_cell(batch.plan, slot, decode_plan.FIRST_NAME)
    count = plan_cell(batch.plan, slot, decode_plan.FIELD_COUNT)
    if field_count < count:
        entry = row if slot == batch.root else load_int64(batch.counts, slot) - 1
        for name in range(first, first + count):
            field = name_cell(batch.names, name, decode_plan.NAME_SLOT)
            if load_int64(batch.counts, field) == entry:
                if rules.fail_on_missing != 0 or plan_cell(batch.plan, field, decode_plan.NULLABLE) == 0:
                    return UNSUPPORTED
                if append_null_or_report(batch, field) == FULL:
                    return FULL
    return DECODED
