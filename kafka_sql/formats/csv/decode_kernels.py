"""Decode lines of CSV into column buffers with a loop that numba compiles: no Python object per record.

The loop splits payloads as Jackson's CsvDecoder does. It decodes a payload if it is certain to read it as the fallback
does, and otherwise leaves the whole payload to the fallback (comments, encodings other than UTF-8, errors).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from kafka_sql.formats.columnar import column_buffers, decode_plan
from kafka_sql.formats.columnar.buffer_kernels import (
    DECODED,
    DEFERRED_FLOATS,
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
)
from kafka_sql.formats.columnar.scalar_kernels import broadcast, decode_base64, equal_bytes
from kafka_sql.formats.csv.scan_kernels import (
    copy_text,
    copy_unescaped,
    has_elements,
    needs_fallback,
    skip_blanks,
    split_quoted,
    split_unquoted,
    store_value,
    strip,
)
from kafka_sql.runtime.numba_support import compiled, inline_helper, load


class CsvRules(NamedTuple):
    """The dialect as the loop needs it: bytes, which are -1 if there is none, and the flags of ``Dialect``."""

    separator: int
    quote: int
    escape: int
    element_separator: int
    null_literal: int  # address
    null_size: int  # -1 if there is no text of null
    trim_spaces: int
    allow_comments: int
    allow_trailing_comma: int
    empty_string_as_null: int
    ignore_errors: int


FLAGS = ("trim_spaces", "allow_comments", "allow_trailing_comma", "empty_string_as_null", "ignore_errors")


@compiled
def decode_rows(batch: Batch, rules: CsvRules) -> int:
    """Decode payloads until all are done or a buffer is full; return the position in ``batch.indices`` to resume at."""
    for position in range(batch.begin, batch.end):
        cursor, end = payload_bounds(batch, position)
        row, deferred = load_int64(batch.state, ROW_COUNT), load_int64(batch.state, DEFERRED_FLOATS)
        outcome = _decode_payload(batch, rules, cursor, end)
        if not finish_payload(batch, position, row, deferred, outcome):
            return position
    return batch.end


@inline_helper
def _decode_payload(batch: Batch, rules: CsvRules, cursor: int, end: int) -> int:
    """Append a payload's values to the buffers; return DECODED, UNSUPPORTED or FULL."""
    if needs_fallback(cursor, end, rules.allow_comments):
        return UNSUPPORTED
    first = plan_cell(batch.plan, batch.root, decode_plan.FIRST_NAME)
    count = plan_cell(batch.plan, batch.root, decode_plan.FIELD_COUNT)
    separators = broadcast(rules.separator)
    escapes = broadcast(rules.escape if rules.escape >= 0 else rules.separator)
    column, has_next = 0, True
    while has_next:
        if rules.trim_spaces:
            cursor = skip_blanks(cursor, end, rules.separator)
        if column == count:
            return DECODED if rules.allow_trailing_comma and cursor == end else UNSUPPORTED
        quoted = cursor < end and load(cursor, types.uint8) == rules.quote
        if quoted:
            start, stop, cursor, has_next, escaped = split_quoted(
                cursor + 1, end, batch.last_word, rules.separator, rules.quote, rules.escape
            )
        else:
            start, stop, cursor, has_next, escaped = split_unquoted(
                cursor, end, batch.last_word, rules.separator, rules.escape, separators, escapes, rules.trim_spaces
            )
        if start < 0:
            return UNSUPPORTED
        slot = name_cell(batch.names, first + column, decode_plan.NAME_SLOT)
        column += 1
        if plan_cell(batch.plan, slot, decode_plan.TYPE) >= decode_plan.ROW:
            outcome = UNSUPPORTED if escaped else _append_elements(batch, rules, slot, start, stop)
        else:
            outcome = _append_value(batch, rules, slot, start, stop, quoted, escaped)
        if outcome < 0:
            return outcome
    return DECODED if column == count else UNSUPPORTED


@inline_helper
def _append_elements(batch: Batch, rules: CsvRules, slot: int, start: int, stop: int) -> int:
    """Append the elements of an ARRAY or ROW and its own entry; return an outcome."""
    entry, type = load_int64(batch.counts, slot), plan_cell(batch.plan, slot, decode_plan.TYPE)
    if entry >= slot_cell(batch.slots, slot, column_buffers.CAPACITY):
        return report_full_slot(batch, slot)
    is_blank = not has_elements(start, stop, rules.element_separator)
    if type == decode_plan.ROW:
        if is_blank:
            return (
                append_null_or_report(batch, slot) if plan_cell(batch.plan, slot, decode_plan.NULLABLE) else UNSUPPORTED
            )
        finish_entry(batch, slot, entry)
    field, count = 0, plan_cell(batch.plan, slot, decode_plan.FIELD_COUNT)
    cursor = stop + 1 if is_blank else start
    while cursor <= stop and (type == decode_plan.ARRAY or field < count):
        element_start, element_stop = cursor, cursor
        while element_stop < stop and types.int64(load(element_stop, types.uint8)) != rules.element_separator:
            element_stop += 1
        cursor = element_stop + 1
        if rules.trim_spaces:
            element_start, element_stop = strip(element_start, element_stop)
        if type == decode_plan.ARRAY:
            element = plan_cell(batch.plan, slot, decode_plan.CHILD_SLOT)
        else:
            element = name_cell(
                batch.names, plan_cell(batch.plan, slot, decode_plan.FIRST_NAME) + field, decode_plan.NAME_SLOT
            )
        field += 1
        # np.bool_: numba would compile _append_value a second time for a literal False
        outcome = _append_value(batch, rules, element, element_start, element_stop, np.bool_(False), np.bool_(False))
        if outcome < 0:
            return outcome
    if type == decode_plan.ARRAY:
        finish_list(batch, slot)
        return DECODED
    return DECODED if field == count else UNSUPPORTED


@inline_helper
def _append_value(batch: Batch, rules: CsvRules, slot: int, start: int, stop: int, quoted: bool, escaped: bool) -> int:
    """Append a value that is not nested; return an outcome."""
    entry, size = load_int64(batch.counts, slot), stop - start
    if entry >= slot_cell(batch.slots, slot, column_buffers.CAPACITY):
        return report_full_slot(batch, slot)
    plan_row = batch.plan + 8 * decode_plan.PLAN_CELLS * slot
    type = load_int64(plan_row, decode_plan.TYPE)
    is_variable = slot_cell(batch.slots, slot, column_buffers.WIDTH) == column_buffers.VARIABLE
    target = slot_cell(batch.slots, slot, column_buffers.DATA)
    if is_variable:
        used_bytes = load_int64(batch.bytes_used, slot)
        if used_bytes + size + 8 > slot_cell(batch.slots, slot, column_buffers.BYTES_CAPACITY):
            return report_full_bytes(batch, slot)
        target += used_bytes
    if escaped:
        # Only a STRING is unescaped here, and only if no null literal is set: it would be compared with the bytes.
        if type != decode_plan.STRING or rules.null_size >= 0:
            return UNSUPPORTED
        finish_bytes(
            batch, slot, entry, copy_unescaped(start, stop, rules.quote if quoted else -1, rules.escape, target)
        )
        return DECODED
    if (size == rules.null_size and equal_bytes(start, rules.null_literal, size)) or (
        # with 'csv.ignore-parse-errors', an empty number or time is an error, and so null
        size == 0
        and (
            rules.empty_string_as_null
            or (rules.ignore_errors and type not in (decode_plan.STRING, decode_plan.BYTES, decode_plan.BOOLEAN))
        )
    ):
        return append_null_or_report(batch, slot) if load_int64(plan_row, decode_plan.NULLABLE) else UNSUPPORTED
    if is_variable:
        if type == decode_plan.STRING:
            copy_text(start, stop, batch.last_word, target)
            target += size
        else:
            end, target = decode_base64(start, stop, target)
            if end != stop:
                return UNSUPPORTED
        finish_bytes(batch, slot, entry, target)
        return DECODED
    outcome = store_value(plan_row, slot_cell(batch.slots, slot, column_buffers.VALUES), entry, start, stop)
    if outcome == REJECTED:
        return UNSUPPORTED
    if outcome == INEXACT:
        text_start, text_stop = strip(start, stop)
        if not defer_float(batch, slot, entry, text_start, text_stop):
            return report_full_slot(batch, batch.root)
    finish_entry(batch, slot, entry)
    return DECODED
