"""Numba helpers that append values to column buffers by address.

A decode loop gets all addresses in one ``Batch``, which numba passes by value: its fields live in registers. Functions
that may fail return UNSUPPORTED or FULL, which are negative, instead of an address.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numba import types

from kafka_sql.formats.columnar import column_buffers, decode_plan, scalar_kernels
from kafka_sql.runtime.numba_support import helper, inline_helper, load, store

# Outcomes of a payload. Steps that succeed return the address at which decoding continues.
DECODED: Final = 0
UNSUPPORTED: Final = -1  # the payload is left to the fallback
FULL: Final = -2  # a buffer must be enlarged first; the state says which

# Cells of the state, which outlives a call
ROW_COUNT: Final = 0  # payloads that became rows
DEFERRED_FLOATS: Final = 1  # entries of the deferred table in use
FULL_SLOT: Final = 2  # a slot without capacity for another entry, or -1; the root's if the deferred table is full
FULL_BYTES_SLOT: Final = 3  # a slot without capacity for the next entry's bytes, or -1
STATE_CELLS: Final = 4

DEFERRED_CELLS: Final = 4  # of the deferred table: slot, entry, offset in the data, length

# Outcomes of a number
REJECTED: Final = 0
STORED: Final = 1
INEXACT: Final = 2  # the loop cannot guarantee correct rounding, so the float is deferred


class Batch(NamedTuple):
    """What a decode loop reads and fills, as addresses.

    Attributes:
        data: bytes of all payloads.
        last_word: the last address from which eight bytes can be loaded.
        offsets: int32: where each payload begins and ends in ``data``.
        indices: int64: which payloads to decode.
        begin, end: range of ``indices`` to decode.
        plan, names, name_bytes: tables of the DecodePlan.
        root: number of the record's own slot, which follows those of the columns.
        slots, counts, bytes_used, nulls: tables of the ColumnBuffers.
        skipped: uint8, one per entry of ``indices``: 1 if the payload was left to the fallback.
        deferred, deferred_capacity: int64, n x DEFERRED_CELLS: floats that are parsed after the loop.
        state: int64, STATE_CELLS.
        stack: int64, three per level of nesting.
    """

    data: int
    last_word: int
    offsets: int
    indices: int
    begin: int
    end: int
    plan: int
    names: int
    name_bytes: int
    root: int
    slots: int
    counts: int
    bytes_used: int
    nulls: int
    skipped: int
    deferred: int
    deferred_capacity: int
    state: int
    stack: int


# Cells of int64 tables by address: numba would check each array index for negative values, and multiply by strides.


@helper
def load_int64(table: int, index: int) -> int:
    """Return an element of an int64 array."""
    return load(table + 8 * index, types.int64)


@helper
def store_int64(table: int, index: int, value: int) -> None:
    """Write an element of an int64 array."""
    store(table + 8 * index, types.int64(value))


@helper
def plan_cell(plan: int, slot: int, cell: int) -> int:
    """Return a cell of a slot's row in the plan."""
    return load(plan + 8 * (decode_plan.PLAN_CELLS * slot + cell), types.int64)


@helper
def slot_cell(slots: int, slot: int, cell: int) -> int:
    """Return a cell of a slot's row in the column buffers."""
    return load(slots + 8 * (column_buffers.SLOT_CELLS * slot + cell), types.int64)


@helper
def name_cell(names: int, name: int, cell: int) -> int:
    """Return a cell of a field name's row in the plan."""
    return load(names + 8 * (decode_plan.NAME_CELLS * name + cell), types.int64)


@inline_helper
def payload_bounds(batch: Batch, position: int) -> tuple[int, int]:
    """Return the addresses at which the payload of an entry of ``batch.indices`` begins and ends."""
    offsets = batch.offsets + 4 * load_int64(batch.indices, position)
    return batch.data + load(offsets, types.int32), batch.data + load(offsets + 4, types.int32)


@inline_helper
def finish_payload(batch: Batch, position: int, row: int, deferred: int, outcome: int) -> bool:
    """Keep a payload's row, or remove what was appended since the given counts; return False if a buffer is full."""
    if outcome == DECODED:
        store_int64(batch.state, ROW_COUNT, row + 1)
        store(batch.skipped + position, types.uint8(0))
        return True
    store_int64(batch.state, DEFERRED_FLOATS, deferred)
    rollback(batch.plan, batch.slots, batch.counts, batch.bytes_used, batch.root, row)
    store(batch.skipped + position, types.uint8(1))
    return outcome != FULL


@inline_helper
def report_full_slot(batch: Batch, slot: int) -> int:
    """Record that a slot has no capacity for another entry, and return FULL."""
    store_int64(batch.state, FULL_SLOT, slot)
    return FULL


@inline_helper
def report_full_bytes(batch: Batch, slot: int) -> int:
    """Record that a slot has no capacity for an entry's bytes, and return FULL."""
    store_int64(batch.state, FULL_BYTES_SLOT, slot)
    return FULL


@inline_helper
def finish_entry(batch: Batch, slot: int, entry: int) -> None:
    """Count an entry whose value has been written."""
    store(slot_cell(batch.slots, slot, column_buffers.VALID) + entry, types.uint8(1))
    store_int64(batch.counts, slot, entry + 1)


@inline_helper
def finish_bytes(batch: Batch, slot: int, entry: int, stop: int) -> None:
    """Count an entry whose bytes have been written up to the address ``stop``."""
    used_bytes = stop - slot_cell(batch.slots, slot, column_buffers.DATA)
    store_int64(batch.bytes_used, slot, used_bytes)
    store(slot_cell(batch.slots, slot, column_buffers.VALUES) + 4 * entry + 4, types.int32(used_bytes))
    finish_entry(batch, slot, entry)


@inline_helper
def finish_list(batch: Batch, slot: int) -> None:
    """Append the entry of an ARRAY or MAP whose elements have been appended."""
    entry = load_int64(batch.counts, slot)
    child = plan_cell(batch.plan, slot, decode_plan.CHILD_SLOT)
    store(
        slot_cell(batch.slots, slot, column_buffers.VALUES) + 4 * entry + 4,
        types.int32(load_int64(batch.counts, child)),
    )
    finish_entry(batch, slot, entry)


@inline_helper
def defer_float(batch: Batch, slot: int, entry: int, start: int, stop: int) -> bool:
    """Leave a float to Arrow's parser; return False if the deferred table is full."""
    count = load_int64(batch.state, DEFERRED_FLOATS)
    if count == batch.deferred_capacity:
        return False
    cells = batch.deferred + 8 * DEFERRED_CELLS * count
    store_int64(cells, 0, slot)
    store_int64(cells, 1, entry)
    store_int64(cells, 2, start - batch.data)
    store_int64(cells, 3, stop - start)
    store_int64(batch.state, DEFERRED_FLOATS, count + 1)
    return True


@helper
def store_number(plan_row: int, values: int, entry: int, mantissa: int, exponent: int, flags: int) -> int:
    """Store a number that ``scan_number`` returned; return REJECTED if it does not fit, otherwise STORED or INEXACT."""
    type, exact = load_int64(plan_row, decode_plan.TYPE), True
    if type <= decode_plan.INT64:
        is_integer, value = scalar_kernels.to_int64(mantissa, flags)
        if (
            not is_integer
            or value < load_int64(plan_row, decode_plan.MIN_VALUE)
            or value > load_int64(plan_row, decode_plan.MAX_VALUE)
        ):
            return REJECTED
        if type == decode_plan.INT64:
            store(values + 8 * entry, value)
        elif type == decode_plan.INT32:
            store(values + 4 * entry, types.int32(value))
        elif type == decode_plan.INT16:
            store(values + 2 * entry, types.int16(value))
        else:
            store(values + entry, types.int8(value))
    elif type == decode_plan.DOUBLE:
        exact, double = scalar_kernels.to_float64(mantissa, exponent, flags)
        store(values + 8 * entry, double)
    elif type == decode_plan.FLOAT:
        exact, single = scalar_kernels.to_float32(mantissa, exponent, flags)
        store(values + 4 * entry, types.float32(single))
    elif not scalar_kernels.store_decimal(
        values + 16 * entry,
        mantissa,
        exponent,
        flags,
        load_int64(plan_row, decode_plan.SCALE),
        load_int64(plan_row, decode_plan.MIN_VALUE),
        load_int64(plan_row, decode_plan.MAX_VALUE),
    ):
        return REJECTED
    return STORED if exact else INEXACT


@inline_helper
def store_temporal(
    plan_row: int, values: int, entry: int, cursor: int, end: int, separator: int, has_offset: int
) -> int:
    """Parse and store a DATE, TIME or TIMESTAMP; return where it ends, or -1 if the text has another form.

    ``separator`` is the byte between a timestamp's date and time; with ``has_offset``, an offset from UTC follows.
    """
    type = load_int64(plan_row, decode_plan.TYPE)
    if type == decode_plan.TIMESTAMP:
        zone = scalar_kernels.NO_ZONE
        if has_offset:
            zone = scalar_kernels.OFFSET
        elif load_int64(plan_row, decode_plan.SCALE) == 1:
            zone = scalar_kernels.UTC
        micros, cursor = scalar_kernels.parse_timestamp(cursor, end, separator, zone)
        store(values + 8 * entry, micros)
        return -1 if micros == scalar_kernels.INVALID else cursor
    if type == decode_plan.DATE:
        days = scalar_kernels.parse_date(cursor, end)
        store(values + 4 * entry, types.int32(days))
        return -1 if days == scalar_kernels.INVALID else cursor + 10
    nanos, cursor = scalar_kernels.parse_time(cursor, end)
    store(values + 8 * entry, nanos // 1_000_000 * 1_000_000)  # Flink's TIME holds milliseconds
    return -1 if nanos == scalar_kernels.INVALID else cursor


@inline_helper
def store_bits(values: int, entry: int, width: int, bits: int, upper_bits: int) -> None:
    """Write an entry of ``width`` bytes: the lowest bytes of a word, or two words; nothing for a ROW."""
    if width == 8:
        store(values + 8 * entry, bits)
    elif width == 4:
        store(values + 4 * entry, types.int32(bits))
    elif width == 16:
        store(values + 16 * entry, bits)
        store(values + 16 * entry + 8, upper_bits)
    elif width == 1:
        store(values + entry, types.int8(bits))
    elif width == 2:
        store(values + 2 * entry, types.int16(bits))


@helper
def append_null(plan: int, slots: int, counts: int, bytes_used: int, nulls: int, slot: int) -> int:
    """Append null to a slot and, if it is a ROW, to its fields; return a slot that is full, or -1."""
    nested, end = slot, plan_cell(plan, slot, decode_plan.END_SLOT)
    while nested < end:
        entry = load_int64(counts, nested)
        values = slot_cell(slots, nested, column_buffers.VALUES)
        width = slot_cell(slots, nested, column_buffers.WIDTH)
        if entry >= slot_cell(slots, nested, column_buffers.CAPACITY):
            return nested
        store(slot_cell(slots, nested, column_buffers.VALID) + entry, types.uint8(0))
        store_int64(counts, nested, entry + 1)
        store_int64(nulls, nested, 1)
        if width == column_buffers.VARIABLE:
            store(values + 4 * entry + 4, types.int32(load_int64(bytes_used, nested)))
        elif width == column_buffers.LIST:
            store(
                values + 4 * entry + 4, types.int32(load_int64(counts, plan_cell(plan, nested, decode_plan.CHILD_SLOT)))
            )
        else:
            store_bits(values, entry, width, np.int64(0), np.int64(0))
        nested = nested + 1 if width == 0 else plan_cell(plan, nested, decode_plan.END_SLOT)
    return -1


@inline_helper
def append_null_or_report(batch: Batch, slot: int) -> int:
    """Append null; return DECODED, or FULL."""
    full_slot = append_null(batch.plan, batch.slots, batch.counts, batch.bytes_used, batch.nulls, slot)
    return DECODED if full_slot < 0 else report_full_slot(batch, full_slot)


@helper
def rollback(plan: int, slots: int, counts: int, bytes_used: int, root: int, rows: int) -> None:
    """Remove the entries of all rows after the first ``rows``."""
    for slot in range(root):
        parent = plan_cell(plan, slot, decode_plan.PARENT_SLOT)
        if parent == root:
            count = rows
        elif plan_cell(plan, parent, decode_plan.TYPE) == decode_plan.ROW:
            count = load_int64(counts, parent)
        else:
            offsets = slot_cell(slots, parent, column_buffers.VALUES)
            count = types.int64(load(offsets + 4 * load_int64(counts, parent), types.int32))
        store_int64(counts, slot, count)
        if slot_cell(slots, slot, column_buffers.WIDTH) == column_buffers.VARIABLE:
            offsets = slot_cell(slots, slot, column_buffers.VALUES)
            store_int64(bytes_used, slot, types.int64(load(offsets + 4 * count, types.int32)))
