"""The compiled loop that reads payloads of JSON into slots: no Python object a record.

It takes what it certainly reads as record.py does, and leaves every other payload alone as a whole.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from kafka_sql.compiled import compiled, load, store
from kafka_sql.formats import slots as s
from kafka_sql.formats.json import program as p
from kafka_sql.formats.json import strings
from kafka_sql.formats.json import values as v

# What run() tells of itself
ROWS: Final = 0  # how many payloads became rows
HARD: Final = 1  # how many numbers are yet to be read
FULL: Final = 2  # a slot without room for an entry, or -1; the first that there is not for the numbers
FULL_OF_BYTES: Final = 3  # or for its bytes
STATE: Final = 4


@compiled
def _put_null(
    program: np.ndarray, slots: np.ndarray, counts: np.ndarray, used: np.ndarray, nulls: np.ndarray, slot: int
) -> int:
    """Append null to a slot and what is within it; the slot that is full, or -1."""
    at, end = slot, program[slot, p.END]
    while at < end:
        n, values, width = counts[at], slots[at, s.VALUES], slots[at, s.WIDTH]
        if n >= slots[at, s.ROOM]:
            return at
        store(slots[at, s.VALID] + n, types.uint8(0))
        counts[at] = n + 1
        nulls[at] = 1
        if width == -1:
            store(values + 4 * n + 4, types.int32(used[at]))
        elif width == -2:
            store(values + 4 * n + 4, types.int32(counts[program[at, p.CHILD]]))
        elif width == 1:
            store(values + n, types.uint8(0))
        elif width == 2:
            store(values + 2 * n, types.int16(0))
        elif width == 4:
            store(values + 4 * n, types.int32(0))
        elif width >= 8:
            store(values + width * n, np.int64(0))
            store(values + width * (n + 1) - 8, np.int64(0))
        at = at + 1 if width == 0 else program[at, p.END]
    return -1


@compiled
def _undo(program: np.ndarray, slots: np.ndarray, counts: np.ndarray, used: np.ndarray, rows: int) -> None:
    """Forget what was appended behind so many rows."""
    root = len(counts)
    for slot in range(root):
        parent = program[slot, p.PARENT]
        if parent == root:
            count = rows
        elif program[parent, p.KIND] == p.ROW:
            count = counts[parent]
        else:
            count = types.int64(load(slots[parent, s.VALUES] + 4 * counts[parent], types.int32))
        counts[slot] = count
        if slots[slot, s.WIDTH] == -1:
            used[slot] = types.int64(load(slots[slot, s.VALUES] + 4 * count, types.int32))


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
    limit, root = base + len(data) - 8, len(counts)
    stack = np.empty((depth + 1, 3), np.int64)
    state[FULL], state[FULL_OF_BYTES] = -1, -1
    for k in range(begin, len(rows)):
        row, hards = state[ROWS], state[HARD]
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
                    slot = program[owner, p.CHILD]
                elif byte != v.QUOTE:
                    good = False
                    break
                elif kind == p.ROW:
                    first, fields = program[owner, p.FIRST], program[owner, p.FIELDS]
                    slot, size = np.int64(-1), np.int64(0)
                    if fields > 0:
                        size = names[first + guess, p.SIZE]
                    if size > 0 and end - at >= size and v.same(at, names_at + names[first + guess, p.NAME], size):
                        slot = names[first + guess, p.SLOT]
                        at += size
                    else:
                        stop = strings.skip(at + 1, end, limit)
                        which = v.find(at, stop, names, names_at, first, fields, guess) if stop >= 0 else -2
                        if which == -2:
                            good = False
                            break
                        at = stop
                        if which >= 0:
                            guess, slot = which, names[first + which, p.SLOT]
                    if slot >= 0:
                        guess = guess + 1 if guess + 1 < fields else 0
                        seen += 1
                        if counts[slot] > (row if owner == root else counts[owner] - 1):
                            good = False  # a repeated name
                            break
                    at = v.colon(at, end)
                else:
                    slot = program[owner, p.CHILD]
                    n = counts[slot]
                    if n >= slots[slot, s.ROOM]:
                        full = slot
                        break
                    if used[slot] + (end - at) + 8 > slots[slot, s.BYTES_ROOM]:
                        bytes_full = slot
                        break
                    text = slots[slot, s.DATA] + used[slot]
                    at, stop = strings.take(at + 1, end, limit, text)
                    used[slot] += stop - text
                    store(slots[slot, s.VALID] + n, types.uint8(1))
                    store(slots[slot, s.VALUES] + 4 * n + 4, types.int32(used[slot]))
                    counts[slot] = n + 1
                    slot = program[owner, p.VALUE]
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
                    if program[slot, p.NULLABLE] == 0 or v.literal(at, end) == 0:
                        good = False
                        break
                    full = _put_null(program, slots, counts, used, nulls, slot)
                    if full >= 0:
                        break
                    at += 4
                else:
                    n = counts[slot]
                    if n >= slots[slot, s.ROOM]:
                        full = slot
                        break
                    of_slot = program[slot, p.KIND]
                    if of_slot >= p.ROW:
                        if byte != (v.OPEN_LIST if of_slot == p.ARRAY else v.OPEN):
                            good = False
                            break
                        if of_slot == p.ROW:
                            store(slots[slot, s.VALID] + n, types.uint8(1))
                            counts[slot] = n + 1
                        stack[level, 0], stack[level, 1], stack[level, 2] = owner, guess, seen
                        level += 1
                        owner, kind, guess, seen, fresh = slot, of_slot, 0, 0, True
                        at = v.space(at + 1, end)
                        continue
                    text, width = np.int64(0), slots[slot, s.WIDTH]
                    if width == -1:
                        if used[slot] + (end - at) + 8 > slots[slot, s.BYTES_ROOM]:
                            bytes_full = slot
                            break
                        text = slots[slot, s.DATA] + used[slot]
                    start = at
                    values = slots[slot, s.VALUES]
                    at, stop = v.scalar(at, end, limit, program[slot], iso, values, n, text)
                    if width == -1:
                        used[slot] += stop - text
                        store(values + 4 * n + 4, types.int32(used[slot]))
                    elif at < -1 and hards == len(hard):
                        full = root
                        break
                    elif at < -1:
                        at = -2 - at
                        quotes = byte == v.QUOTE
                        hard[hards, 0], hard[hards, 1] = slot, n
                        hard[hards, 2], hard[hards, 3] = start + quotes - base, at - start - 2 * quotes
                        hards += 1
                    store(slots[slot, s.VALID] + n, types.uint8(1))
                    counts[slot] = n + 1
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
                    first, fields = program[owner, p.FIRST], program[owner, p.FIELDS]
                    if seen < fields:
                        n = row if owner == root else counts[owner] - 1
                        for j in range(first, first + fields):
                            slot = names[j, p.SLOT]
                            if counts[slot] == n:
                                if all_fields or program[slot, p.NULLABLE] == 0:
                                    good = False
                                    break
                                full = _put_null(program, slots, counts, used, nulls, slot)
                                if full >= 0:
                                    break
                        if full >= 0 or not good:
                            break
                else:
                    n = counts[owner]
                    store(slots[owner, s.VALID] + n, types.uint8(1))
                    store(slots[owner, s.VALUES] + 4 * n + 4, types.int32(counts[program[owner, p.CHILD]]))
                    counts[owner] = n + 1
                level -= 1
                at = v.space(at, end)
                if level < 0:
                    break
                owner, guess, seen = stack[level, 0], stack[level, 1], stack[level, 2]
                kind = program[owner, p.KIND]
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
            state[ROWS], state[HARD] = row + 1, hards
            odd[k] = 0
            continue
        _undo(program, slots, counts, used, row)
        if full >= 0 or bytes_full >= 0:
            state[FULL], state[FULL_OF_BYTES] = full, bytes_full
            return k
        odd[k] = 1
    return len(rows)
