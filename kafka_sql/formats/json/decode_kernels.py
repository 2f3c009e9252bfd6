"""Decode JSON objects into column buffers with a loop that numba compiles: no Python object per record.

The loop decodes a payload if it is certain to read it as the fallback does, and otherwise leaves the whole payload to
the fallback.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from kafka_sql.formats.columnar import column_buffers as s
from kafka_sql.formats.columnar import decode_plan as p
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
from kafka_sql.formats.columnar.scalar_kernels import decode_base64, scan_number
from kafka_sql.formats.columnar.scan_kernels import equal_bytes
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
    """The options that the loop needs.

    Attributes:
        date_separator: the byte between a timestamp's date and time.
        fail_on_missing: a missing field is an error, not null.
    """

    date_separator: int
    fail_on_missing: int


@compiled
def decode_rows(batch: Batch, rules: JsonRules) -> int:
    """Decode payloads until all are done or a buffer is full; return the position in ``batch.indices`` to resume at."""
    for position in range(batch.begin, batch.end):
        at, end = payload_bounds(batch, position)
        row, deferred = load_int64(batch.state, ROW_COUNT), load_int64(batch.state, DEFERRED_FLOATS)
        outcome = _decode_payload(batch, rules, row, at, end)
        if not finish_payload(batch, position, row, deferred, outcome):
            return position
    return batch.end


@helper
def _decode_payload(batch: Batch, rules: JsonRules, row: int, at: int, end: int) -> int:
    """Append a payload's values to the buffers: DECODED, UNSUPPORTED or FULL."""
    at = skip_space(at, end)
    if at >= end or load(at, types.uint8) != OPEN_OBJECT:
        return UNSUPPORTED
    at = skip_space(at + 1, end)
    # np.int64(0): numba would compile _read_name a second time for a literal 0
    depth, slot, type_, expected, field_count, just_opened = 0, batch.root, np.int64(p.ROW), np.int64(0), 0, True
    while True:
        if at >= end:
            return UNSUPPORTED
        if not (just_opened and load(at, types.uint8) == (CLOSE_ARRAY if type_ == p.ARRAY else CLOSE_OBJECT)):
            if type_ == p.ROW:
                at, value_slot, expected = _read_name(batch, row, slot, expected, at, end)
                field_count += value_slot >= 0
            elif type_ == p.ARRAY:
                value_slot = plan_cell(batch.plan, slot, p.CHILD_SLOT)
            else:
                at, value_slot = _read_map_key(batch, slot, at, end)
            if at < 0:
                return at
            byte = load(at, types.uint8)
            if value_slot < 0:
                at = skip_value(at, end, batch.last_word)
            elif byte == _LOWER_N:
                at = _read_null(batch, value_slot, at, end)
            elif plan_cell(batch.plan, value_slot, p.TYPE) < p.ROW:
                at = _read_scalar(batch, rules, value_slot, at, end)
            else:
                at = _open_container(batch, value_slot, at, end)
                if at < 0:
                    return at
                cells = batch.stack + 8 * _STACK_CELLS * depth
                store_int64(cells, 0, slot)
                store_int64(cells, 1, expected)
                store_int64(cells, 2, field_count)
                depth += 1
                slot, expected, field_count, just_opened = value_slot, np.int64(0), 0, True
                type_ = plan_cell(batch.plan, slot, p.TYPE)
                continue
            if at < 0:
                return at
            at = skip_space(at, end)
            if at >= end:
                return UNSUPPORTED
        byte = load(at, types.uint8)
        while byte == (CLOSE_ARRAY if type_ == p.ARRAY else CLOSE_OBJECT):
            outcome = _close_container(batch, rules, row, slot, type_, field_count)
            if outcome < 0:
                return outcome
            at = skip_space(at + 1, end)
            if depth == 0:
                return DECODED if at == end else UNSUPPORTED
            if at >= end:
                return UNSUPPORTED
            depth -= 1
            cells = batch.stack + 8 * _STACK_CELLS * depth
            slot, expected, field_count = load_int64(cells, 0), load_int64(cells, 1), load_int64(cells, 2)
            type_ = plan_cell(batch.plan, slot, p.TYPE)
            byte = load(at, types.uint8)
        if byte != COMMA:
            return UNSUPPORTED
        at = skip_space(at + 1, end)
        just_opened = False


@inline_helper
def _read_name(batch: Batch, row: int, owner: int, expected: int, at: int, end: int) -> tuple[int, int, int]:
    """Read a field's name and the colon.

    Args:
        owner: the slot of the ROW.
        expected: the field that is likely to be next.

    Returns:
        the address of the value or an outcome, the value's slot (-1 if there is no such field), and the field to
        expect after this one.
    """
    if load(at, types.uint8) != QUOTE:
        return UNSUPPORTED, np.int64(-1), expected
    first, count = plan_cell(batch.plan, owner, p.FIRST_NAME), plan_cell(batch.plan, owner, p.FIELD_COUNT)
    slot, size = np.int64(-1), np.int64(0)
    if count > 0:
        size = name_cell(batch.names, first + expected, p.NAME_SIZE)
    if (
        size > 0
        and end - at >= size
        and equal_bytes(at, batch.name_bytes + name_cell(batch.names, first + expected, p.NAME_OFFSET), size)
    ):
        slot = name_cell(batch.names, first + expected, p.NAME_SLOT)
        at += size
    else:
        stop = skip_string(at + 1, end, batch.last_word)
        field = find_field(at, stop, batch.names, batch.name_bytes, first, count, expected) if stop >= 0 else -2
        if field == -2:
            return UNSUPPORTED, slot, expected
        at = stop
        if field >= 0:
            expected, slot = field, name_cell(batch.names, first + field, p.NAME_SLOT)
    if slot >= 0:
        expected = expected + 1 if expected + 1 < count else np.int64(0)
        if load_int64(batch.counts, slot) > (row if owner == batch.root else load_int64(batch.counts, owner) - 1):
            return UNSUPPORTED, slot, expected  # a repeated name
    return skip_colon(at, end), slot, expected


@inline_helper
def _read_map_key(batch: Batch, owner: int, at: int, end: int) -> tuple[int, int]:
    """Append a key and skip the colon; return the address of the value or an outcome, and the value's slot."""
    slot, value_slot = plan_cell(batch.plan, owner, p.CHILD_SLOT), plan_cell(batch.plan, owner, p.VALUE_SLOT)
    if load(at, types.uint8) != QUOTE:
        return UNSUPPORTED, value_slot
    at = _read_string(batch, slot, load_int64(batch.counts, slot), at, end)
    return skip_colon(at, end) if at >= 0 else at, value_slot


@inline_helper
def _read_null(batch: Batch, slot: int, at: int, end: int) -> int:
    """Append null; return the address after the literal, or an outcome."""
    if plan_cell(batch.plan, slot, p.NULLABLE) == 0 or literal_size(at, end) == 0:
        return UNSUPPORTED
    return at + 4 if append_null_or_report(batch, slot) == DECODED else FULL


@inline_helper
def _read_scalar(batch: Batch, rules: JsonRules, slot: int, at: int, end: int) -> int:
    """Append a value that is neither null nor nested; return the address after it, or an outcome."""
    entry = load_int64(batch.counts, slot)
    if slot_cell(batch.slots, slot, s.WIDTH) == s.VARIABLE:
        return _read_string(batch, slot, entry, at, end)
    if entry >= slot_cell(batch.slots, slot, s.CAPACITY):
        return report_full_slot(batch, slot)
    plan_row = batch.plan + 8 * p.PLAN_CELLS * slot
    type_, values = load_int64(plan_row, p.TYPE), slot_cell(batch.slots, slot, s.VALUES)
    if type_ == p.BOOLEAN:
        size = literal_size(at, end)
        store(values + entry, types.uint8(size == 4))
        if size == 0:
            return UNSUPPORTED
        at += size
    else:
        quoted = load(at, types.uint8) == QUOTE
        at += quoted
        if type_ <= p.DECIMAL:
            start = at
            at, mantissa, exponent, flags = scan_number(at, end)
            if at < 0:
                return UNSUPPORTED
            stored = store_number(plan_row, values, entry, mantissa, exponent, flags)
            if stored == REJECTED:
                return UNSUPPORTED
            if stored == INEXACT and not defer_float(batch, slot, entry, start, at):
                return report_full_slot(batch, batch.root)
        elif quoted:
            at = store_temporal(plan_row, values, entry, at, end, rules.date_separator)
            if at < 0:
                return UNSUPPORTED
        else:
            return UNSUPPORTED
        if quoted:
            if at >= end or load(at, types.uint8) != QUOTE:
                return UNSUPPORTED
            at += 1
    finish_entry(batch, slot, entry)
    return at


@inline_helper
def _read_string(batch: Batch, slot: int, entry: int, at: int, end: int) -> int:
    """Append a STRING or BYTES value; return the address after it, or an outcome."""
    if entry >= slot_cell(batch.slots, slot, s.CAPACITY):
        return report_full_slot(batch, slot)
    used = load_int64(batch.bytes_used, slot)
    if used + (end - at) + 8 > slot_cell(batch.slots, slot, s.BYTES_CAPACITY):
        return report_full_bytes(batch, slot)
    target = slot_cell(batch.slots, slot, s.DATA) + used
    quoted = load(at, types.uint8) == QUOTE
    if plan_cell(batch.plan, slot, p.TYPE) == p.BYTES:
        if not quoted:
            return UNSUPPORTED
        at, target = decode_base64(at + 1, end, target)
        if at >= end or load(at, types.uint8) != QUOTE:
            return UNSUPPORTED
        at += 1
    elif quoted:
        at, target = copy_string(at + 1, end, batch.last_word, target)
    else:  # a number, true or false, as it is written
        start, size = at, literal_size(at, end)
        at = at + size if size > 0 else scan_number(at, end)[0]
        if at >= 0:
            copy(target, start, at - start)
            target += at - start
    if at < 0:
        return UNSUPPORTED
    finish_bytes(batch, slot, entry, target)
    return at


@inline_helper
def _open_container(batch: Batch, slot: int, at: int, end: int) -> int:
    """Read an opening bracket and count the entry of a ROW; return the address after it, or an outcome."""
    entry, type_ = load_int64(batch.counts, slot), plan_cell(batch.plan, slot, p.TYPE)
    if entry >= slot_cell(batch.slots, slot, s.CAPACITY):
        return report_full_slot(batch, slot)
    if load(at, types.uint8) != (OPEN_ARRAY if type_ == p.ARRAY else OPEN_OBJECT):
        return UNSUPPORTED
    if type_ == p.ROW:
        finish_entry(batch, slot, entry)
    return skip_space(at + 1, end)


@inline_helper
def _close_container(batch: Batch, rules: JsonRules, row: int, slot: int, type_: int, field_count: int) -> int:
    """Append null for the missing fields of a ROW, or the entry of an ARRAY or MAP; return an outcome."""
    if type_ != p.ROW:
        finish_list(batch, slot)
        return DECODED
    first, count = plan_cell(batch.plan, slot, p.FIRST_NAME), plan_cell(batch.plan, slot, p.FIELD_COUNT)
    if field_count < count:
        entry = row if slot == batch.root else load_int64(batch.counts, slot) - 1
        for name in range(first, first + count):
            field = name_cell(batch.names, name, p.NAME_SLOT)
            if load_int64(batch.counts, field) == entry:
                if rules.fail_on_missing != 0 or plan_cell(batch.plan, field, p.NULLABLE) == 0:
                    return UNSUPPORTED
                if append_null_or_report(batch, field) == FULL:
                    return FULL
    return DECODED
