"""The compiled loop that reads payloads of JSON into slots: no Python object a record.

It takes what it certainly reads as record.py does, and leaves every other payload alone as a whole.
"""

from __future__ import annotations

import numpy as np
from numba import types

from kafka_sql.formats.columnar import column_buffers as s
from kafka_sql.formats.columnar import decode_plan as p
from kafka_sql.formats.columnar.buffer_kernels import (
    DEFERRED_FLOATS,
    FULL_BYTES_SLOT,
    FULL_SLOT,
    ROW_COUNT,
    append_null,
    load_int64,
    name_cell,
    plan_cell,
    rollback,
    slot_cell,
    store_int64,
)
from kafka_sql.formats.json import strings
from kafka_sql.formats.json import values as v
from kafka_sql.runtime.numba_support import compiled, load, store


@compiled
def run(
    data: np.ndarray,
    positions: np.ndarray,
    rows: np.ndarray,
    begin: int,
    program: np.ndarray,
    names: np.ndarray,
    texts_of_names: np.ndarray,
    depth: int,
    iso: bool,
    all_fields: bool,
    slots: np.ndarray,
    counts: np.ndarray,
    used: np.ndarray,
    nulls: np.ndarray,
    odd: np.ndarray,
    hard: np.ndarray,
    state: np.ndarray,
) -> int:
    """Read payloads into slots, until one of them is full.

    Args:
        positions: int32: where the payloads stand in ``data``.
        rows: int64: which of them to read, from ``begin`` on.
        program, names, texts_of_names, depth: see Program.
        iso: timestamps are ISO-8601, not SQL.
        all_fields: a missing field is not null but an error.
        slots: int64, n x 6.
        counts, used, nulls: int64, n: entries, bytes and whether there are nulls of each slot; zero at first.
        odd: uint8, as many as rows: 1 where the payload was left alone.
        hard: int64, m x 4: slot, entry, place in ``data`` and length of numbers that are yet to be read.
        state: int64: see ROWS and what follows; of what was read before.

    Returns:
        how many payloads were read; where it is not all, room is needed before going on.
    """
    base, names_at = np.int64(data.ctypes.data), np.int64(texts_of_names.ctypes.data)
    program_at, slots_at, rows_of_names = (
        np.int64(program.ctypes.data),
        np.int64(slots.ctypes.data),
        np.int64(names.ctypes.data),
    )
    counts_at, used_at = np.int64(counts.ctypes.data), np.int64(used.ctypes.data)
    limit, root = base + len(data) - 8, len(counts)
    stack = np.empty((depth + 1, 3), np.int64)
    state[FULL_SLOT], state[FULL_BYTES_SLOT] = -1, -1
    for k in range(begin, len(rows)):
        row, hards = state[ROW_COUNT], state[DEFERRED_FLOATS]
        at, end = base + positions[rows[k]], base + positions[rows[k] + 1]
        at = v.space(at, end)
        good = at < end and load(at, types.uint8) == v.OPEN
        full = bytes_full = -1
        level, owner, kind, guess, seen = 0, root, np.int64(p.ROW), 0, 0
        fresh = True  # behind an opening bracket
        at = v.space(at + 1, end)
        while good:
            if at >= end:
                good = False
                break
            byte = load(at, types.uint8)
            closing = v.CLOSE_LIST if kind == p.ARRAY else v.CLOSE
            if not (fresh and byte == closing):
                # Whose value it is
                if kind == p.ARRAY:
                    slot = plan_cell(program_at, owner, p.CHILD_SLOT)
                elif byte != v.QUOTE:
                    good = False
                    break
                elif kind == p.ROW:
                    first, fields = (
                        plan_cell(program_at, owner, p.FIRST_NAME),
                        plan_cell(program_at, owner, p.FIELD_COUNT),
                    )
                    slot, size = np.int64(-1), np.int64(0)
                    if fields > 0:
                        size = name_cell(rows_of_names, first + guess, p.NAME_SIZE)
                    if (
                        size > 0
                        and end - at >= size
                        and v.same(at, names_at + name_cell(rows_of_names, first + guess, p.NAME_OFFSET), size)
                    ):
                        slot = name_cell(rows_of_names, first + guess, p.NAME_SLOT)
                        at += size
                    else:
                        stop = strings.skip(at + 1, end, limit)
                        which = v.find(at, stop, names, names_at, first, fields, guess) if stop >= 0 else -2
                        if which == -2:
                            good = False
                            break
                        at = stop
                        if which >= 0:
                            guess, slot = which, name_cell(rows_of_names, first + which, p.NAME_SLOT)
                    if slot >= 0:
                        guess = guess + 1 if guess + 1 < fields else 0
                        seen += 1
                        if load_int64(counts_at, slot) > (row if owner == root else load_int64(counts_at, owner) - 1):
                            good = False  # a repeated name
                            break
                    at = v.colon(at, end)
                else:
                    slot = plan_cell(program_at, owner, p.CHILD_SLOT)
                    n = load_int64(counts_at, slot)
                    if n >= slot_cell(slots_at, slot, s.CAPACITY):
                        full = slot
                        break
                    if load_int64(used_at, slot) + (end - at) + 8 > slot_cell(slots_at, slot, s.BYTES_CAPACITY):
                        bytes_full = slot
                        break
                    text = slot_cell(slots_at, slot, s.DATA) + load_int64(used_at, slot)
                    at, stop = strings.take(at + 1, end, limit, text)
                    store_int64(used_at, slot, load_int64(used_at, slot) + stop - text)
                    store(slot_cell(slots_at, slot, s.VALID) + n, types.uint8(1))
                    store(slot_cell(slots_at, slot, s.VALUES) + 4 * n + 4, types.int32(load_int64(used_at, slot)))
                    store_int64(counts_at, slot, n + 1)
                    slot = plan_cell(program_at, owner, p.VALUE_SLOT)
                    if at >= 0:
                        at = v.colon(at, end)
                if at < 0:
                    good = False
                    break
                # The value
                byte = load(at, types.uint8)
                if slot < 0:
                    at = v.skip(at, end, limit)
                elif byte == 110:
                    if plan_cell(program_at, slot, p.NULLABLE) == 0 or v.literal(at, end) == 0:
                        good = False
                        break
                    full = append_null(program, slots, counts, used, nulls, slot)
                    if full >= 0:
                        break
                    at += 4
                else:
                    n = load_int64(counts_at, slot)
                    if n >= slot_cell(slots_at, slot, s.CAPACITY):
                        full = slot
                        break
                    of_slot = plan_cell(program_at, slot, p.TYPE)
                    if of_slot >= p.ROW:
                        if byte != (v.OPEN_LIST if of_slot == p.ARRAY else v.OPEN):
                            good = False
                            break
                        if of_slot == p.ROW:
                            store(slot_cell(slots_at, slot, s.VALID) + n, types.uint8(1))
                            store_int64(counts_at, slot, n + 1)
                        stack[level, 0], stack[level, 1], stack[level, 2] = owner, guess, seen
                        level += 1
                        owner, kind, guess, seen, fresh = slot, of_slot, 0, 0, True
                        at = v.space(at + 1, end)
                        continue
                    text, width = np.int64(0), slot_cell(slots_at, slot, s.WIDTH)
                    if width == -1:
                        if load_int64(used_at, slot) + (end - at) + 8 > slot_cell(slots_at, slot, s.BYTES_CAPACITY):
                            bytes_full = slot
                            break
                        text = slot_cell(slots_at, slot, s.DATA) + load_int64(used_at, slot)
                    start = at
                    values = slot_cell(slots_at, slot, s.VALUES)
                    at, stop = v.scalar(at, end, limit, program_at + 8 * p.PLAN_CELLS * slot, iso, values, n, text)
                    if width == -1:
                        store_int64(used_at, slot, load_int64(used_at, slot) + stop - text)
                        store(values + 4 * n + 4, types.int32(load_int64(used_at, slot)))
                    elif at < -1 and hards == len(hard):
                        full = root
                        break
                    elif at < -1:
                        at = -2 - at
                        quotes = byte == v.QUOTE
                        hard[hards, 0], hard[hards, 1] = slot, n
                        hard[hards, 2], hard[hards, 3] = start + quotes - base, at - start - 2 * quotes
                        hards += 1
                    store(slot_cell(slots_at, slot, s.VALID) + n, types.uint8(1))
                    store_int64(counts_at, slot, n + 1)
                if at < 0:
                    good = False
                    break
                at = v.space(at, end)
                if at >= end:
                    good = False
                    break
                byte = load(at, types.uint8)
                closing = v.CLOSE_LIST if kind == p.ARRAY else v.CLOSE
            # What is behind a value
            while byte == closing:
                at += 1
                if kind == p.ROW:
                    first, fields = (
                        plan_cell(program_at, owner, p.FIRST_NAME),
                        plan_cell(program_at, owner, p.FIELD_COUNT),
                    )
                    if seen < fields:
                        n = row if owner == root else load_int64(counts_at, owner) - 1
                        for j in range(first, first + fields):
                            slot = name_cell(rows_of_names, j, p.NAME_SLOT)
                            if load_int64(counts_at, slot) == n:
                                if all_fields or plan_cell(program_at, slot, p.NULLABLE) == 0:
                                    good = False
                                    break
                                full = append_null(program, slots, counts, used, nulls, slot)
                                if full >= 0:
                                    break
                        if full >= 0 or not good:
                            break
                else:
                    n = load_int64(counts_at, owner)
                    store(slot_cell(slots_at, owner, s.VALID) + n, types.uint8(1))
                    store(
                        slot_cell(slots_at, owner, s.VALUES) + 4 * n + 4,
                        types.int32(load_int64(counts_at, plan_cell(program_at, owner, p.CHILD_SLOT))),
                    )
                    store_int64(counts_at, owner, n + 1)
                level -= 1
                at = v.space(at, end)
                if level < 0:
                    break
                owner, guess, seen = stack[level, 0], stack[level, 1], stack[level, 2]
                kind = plan_cell(program_at, owner, p.TYPE)
                closing = v.CLOSE_LIST if kind == p.ARRAY else v.CLOSE
                if at >= end:
                    good = False
                    break
                byte = load(at, types.uint8)
            if full >= 0 or not good:
                break
            if level < 0:
                good = at == end
                break
            if byte != v.COMMA:
                good = False
                break
            at = v.space(at + 1, end)
            fresh = False
        if good and full < 0 and bytes_full < 0:
            state[ROW_COUNT], state[DEFERRED_FLOATS] = row + 1, hards
            odd[k] = 0
            continue
        rollback(program, slots, counts, used, row)
        if full >= 0 or bytes_full >= 0:
            state[FULL_SLOT], state[FULL_BYTES_SLOT] = full, bytes_full
            return k
        odd[k] = 1
    return len(rows)
