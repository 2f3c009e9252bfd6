"""The compiled loop that reads lines of CSV into slots: no Python object a record.

It cuts payloads into values as Jackson's CsvDecoder does, takes what it certainly reads as record.py does, and leaves
every other payload alone as a whole (comments, other encodings than UTF-8, errors).
"""

from __future__ import annotations

from typing import Final

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
from kafka_sql.formats.csv import tokenize_kernels as c
from kafka_sql.formats.csv import values as v
from kafka_sql.runtime.numba_support import compiled, load, store

# What became of a payload
_READ, _ODD, _FULL, _FULL_OF_BYTES, _FULL_OF_HARD = range(5)

_CR: Final = 13
_LF: Final = 10
_SPACE: Final = 32


@compiled
def run(
    data: np.ndarray,
    positions: np.ndarray,
    rows: np.ndarray,
    begin: int,
    program: np.ndarray,
    names: np.ndarray,
    marks: tuple[int, int, int, int],
    trim: bool,
    comments: bool,
    trailing: bool,
    literal: np.ndarray,
    has_literal: bool,
    empty_null: bool,
    ignore_errors: bool,
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
        program, names: see Program.
        marks: separator, quote, escape and separator of elements: bytes; -1 where there is none.
        trim, comments, trailing, empty_null, ignore_errors: see Dialect.
        literal: uint8: the text of null, where there is one.
        slots, counts, used, nulls, odd, hard, state: as the json format's loop has them.

    Returns:
        how many payloads were read; where it is not all, room is needed before going on.
    """
    base, literal_at = np.int64(data.ctypes.data), np.int64(literal.ctypes.data)
    program_at, slots_at, rows_of_names = (
        np.int64(program.ctypes.data),
        np.int64(slots.ctypes.data),
        np.int64(names.ctypes.data),
    )
    counts_at, used_at = np.int64(counts.ctypes.data), np.int64(used.ctypes.data)
    limit, root, literal_size = base + len(data) - 8, len(counts), len(literal) if has_literal else -1
    separator, quote, escape, inner = marks
    separators, escapes = c.all_of(separator, separator), c.all_of(escape, separator)
    state[FULL_SLOT], state[FULL_BYTES_SLOT] = -1, -1
    columns, first = plan_cell(program_at, root, p.FIELD_COUNT), plan_cell(program_at, root, p.FIRST_NAME)
    for k in range(begin, len(rows)):
        row, hards = state[ROW_COUNT], state[DEFERRED_FLOATS]
        at, end = base + positions[rows[k]], base + positions[rows[k] + 1]
        became, slot, column, more = _READ, np.int64(0), 0, True
        owner, rest, last, found = np.int64(-1), at, at, 0  # of elements: what they are in, and where the next begins
        if c.is_strange(at, end, comments):
            became = _ODD
        while became == _READ and (more or owner >= 0):
            escaped = quoted = False
            if owner < 0:
                if trim:
                    while at < end:
                        byte = load(at, types.uint8)
                        if byte > _SPACE or byte in (separator, _CR, _LF):
                            break
                        at += 1
                if column == columns:
                    became = _READ if trailing and at == end else _ODD
                    break
                quoted = at < end and load(at, types.uint8) == quote
                if quoted:
                    start, stop, at, more, escaped = c.cut_quoted(at + 1, end, limit, separator, quote, escape)
                else:
                    start, stop, at, more, escaped = c.cut(at, end, limit, separator, escape, separators, escapes, trim)
                slot = name_cell(rows_of_names, first + column, p.NAME_SLOT)
                column += 1
                if start < 0:
                    became = _ODD
                    break
                kind = plan_cell(program_at, slot, p.TYPE)
                if kind >= p.ROW:
                    n, there = load_int64(counts_at, slot), c.has_elements(start, stop, inner)
                    if escaped:
                        became = _ODD
                    elif n >= slot_cell(slots_at, slot, s.CAPACITY):
                        became = _FULL
                    elif kind == p.ARRAY or there:
                        owner, rest, last, found = slot, start if there else stop + 1, stop, 0
                        if kind == p.ROW:
                            store(slot_cell(slots_at, owner, s.VALID) + n, types.uint8(1))
                            store_int64(counts_at, owner, n + 1)
                    elif plan_cell(program_at, slot, p.NULLABLE) == 0:
                        became = _ODD
                    else:
                        append_null(program, slots, counts, used, nulls, slot)
                    continue
            else:
                fields = plan_cell(program_at, owner, p.FIELD_COUNT)
                if rest > last or (found == fields and fields > 0):
                    if plan_cell(program_at, owner, p.TYPE) == p.ARRAY:
                        n = load_int64(counts_at, owner)
                        store(slot_cell(slots_at, owner, s.VALID) + n, types.uint8(1))
                        store(
                            slot_cell(slots_at, owner, s.VALUES) + 4 * n + 4,
                            types.int32(load_int64(counts_at, plan_cell(program_at, owner, p.CHILD_SLOT))),
                        )
                        store_int64(counts_at, owner, n + 1)
                    elif found < fields:
                        became = _ODD
                    owner = np.int64(-1)
                    continue
                start, stop = rest, rest
                while stop < last and types.int64(load(stop, types.uint8)) != inner:
                    stop += 1
                rest = stop + 1
                if trim:
                    start, stop = v.strip(start, stop)
                slot = (
                    plan_cell(program_at, owner, p.CHILD_SLOT)
                    if fields == 0
                    else name_cell(rows_of_names, plan_cell(program_at, owner, p.FIRST_NAME) + found, p.NAME_SLOT)
                )
                found += 1
                kind = plan_cell(program_at, slot, p.TYPE)
            # A value that is not nested
            n, size, width = load_int64(counts_at, slot), stop - start, slot_cell(slots_at, slot, s.WIDTH)
            values, text = slot_cell(slots_at, slot, s.VALUES), np.int64(0)
            if n >= slot_cell(slots_at, slot, s.CAPACITY):
                became = _FULL
                break
            if width == -1:
                text = slot_cell(slots_at, slot, s.DATA) + load_int64(used_at, slot)
                if load_int64(used_at, slot) + size + 8 > slot_cell(slots_at, slot, s.BYTES_CAPACITY):
                    became = _FULL_OF_BYTES
                    break
            if escaped:
                # its text is not as it stands there: only a STRING is taken, and only where no text is null
                if kind != p.STRING or has_literal:
                    became = _ODD
                    break
                after = v.unescaped(start, stop, quote if quoted else -1, escape, text)
            elif (size == literal_size and v.same(start, literal_at, size)) or (
                size == 0 and (empty_null or (ignore_errors and kind not in (p.STRING, p.BYTES, p.BOOLEAN)))
            ):  # the latter is an error for certain
                if plan_cell(program_at, slot, p.NULLABLE) == 0:
                    became = _ODD
                    break
                append_null(program, slots, counts, used, nulls, slot)
                continue
            else:
                sure, after = v.scalar(start, stop, limit, program_at + 8 * p.PLAN_CELLS * slot, values, n, text)
                if not sure:
                    became = _ODD
                    break
            if width == -1:
                store_int64(used_at, slot, load_int64(used_at, slot) + after - text)
                store(values + 4 * n + 4, types.int32(load_int64(used_at, slot)))
            elif after < 0:
                if hards == len(hard):
                    became = _FULL_OF_HARD
                    break
                start, stop = v.strip(start, stop)
                hard[hards, 0], hard[hards, 1], hard[hards, 2], hard[hards, 3] = slot, n, start - base, stop - start
                hards += 1
            store(slot_cell(slots_at, slot, s.VALID) + n, types.uint8(1))
            store_int64(counts_at, slot, n + 1)
        if became == _READ and column == columns:
            state[ROW_COUNT], state[DEFERRED_FLOATS] = row + 1, hards
            odd[k] = 0
            continue
        rollback(program, slots, counts, used, row)
        if became <= _ODD:
            odd[k] = 1
            continue
        if became == _FULL_OF_BYTES:
            state[FULL_BYTES_SLOT] = slot
        else:
            state[FULL_SLOT] = slot if became == _FULL else root
        return k
    return len(rows)
