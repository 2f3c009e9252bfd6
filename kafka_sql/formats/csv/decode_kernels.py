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
    FULL,
    FULL_OF_BYTES,
    HARD,
    ROWS,
    get,
    name,
    place,
    put,
    put_null,
    rule,
    undo,
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
    state[FULL], state[FULL_OF_BYTES] = -1, -1
    columns, first = rule(program_at, root, p.FIELDS), rule(program_at, root, p.FIRST)
    for k in range(begin, len(rows)):
        row, hards = state[ROWS], state[HARD]
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
                slot = name(rows_of_names, first + column, p.SLOT)
                column += 1
                if start < 0:
                    became = _ODD
                    break
                kind = rule(program_at, slot, p.KIND)
                if kind >= p.ROW:
                    n, there = get(counts_at, slot), c.has_elements(start, stop, inner)
                    if escaped:
                        became = _ODD
                    elif n >= place(slots_at, slot, s.ROOM):
                        became = _FULL
                    elif kind == p.ARRAY or there:
                        owner, rest, last, found = slot, start if there else stop + 1, stop, 0
                        if kind == p.ROW:
                            store(place(slots_at, owner, s.VALID) + n, types.uint8(1))
                            put(counts_at, owner, n + 1)
                    elif rule(program_at, slot, p.NULLABLE) == 0:
                        became = _ODD
                    else:
                        put_null(program, slots, counts, used, nulls, slot)
                    continue
            else:
                fields = rule(program_at, owner, p.FIELDS)
                if rest > last or (found == fields and fields > 0):
                    if rule(program_at, owner, p.KIND) == p.ARRAY:
                        n = get(counts_at, owner)
                        store(place(slots_at, owner, s.VALID) + n, types.uint8(1))
                        store(
                            place(slots_at, owner, s.VALUES) + 4 * n + 4,
                            types.int32(get(counts_at, rule(program_at, owner, p.CHILD))),
                        )
                        put(counts_at, owner, n + 1)
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
                    rule(program_at, owner, p.CHILD)
                    if fields == 0
                    else name(rows_of_names, rule(program_at, owner, p.FIRST) + found, p.SLOT)
                )
                found += 1
                kind = rule(program_at, slot, p.KIND)
            # A value that is not nested
            n, size, width = get(counts_at, slot), stop - start, place(slots_at, slot, s.WIDTH)
            values, text = place(slots_at, slot, s.VALUES), np.int64(0)
            if n >= place(slots_at, slot, s.ROOM):
                became = _FULL
                break
            if width == -1:
                text = place(slots_at, slot, s.DATA) + get(used_at, slot)
                if get(used_at, slot) + size + 8 > place(slots_at, slot, s.BYTES_ROOM):
                    became = _FULL_OF_BYTES
                    break
            if escaped:
                # its text is not as it stands there: only a STRING is taken, and only where no text is null
                if kind != p.TEXT or has_literal:
                    became = _ODD
                    break
                after = v.unescaped(start, stop, quote if quoted else -1, escape, text)
            elif (size == literal_size and v.same(start, literal_at, size)) or (
                size == 0 and (empty_null or (ignore_errors and kind not in (p.TEXT, p.BYTES, p.BOOLEAN)))
            ):  # the latter is an error for certain
                if rule(program_at, slot, p.NULLABLE) == 0:
                    became = _ODD
                    break
                put_null(program, slots, counts, used, nulls, slot)
                continue
            else:
                sure, after = v.scalar(start, stop, limit, program_at + 8 * p.WIDTH * slot, values, n, text)
                if not sure:
                    became = _ODD
                    break
            if width == -1:
                put(used_at, slot, get(used_at, slot) + after - text)
                store(values + 4 * n + 4, types.int32(get(used_at, slot)))
            elif after < 0:
                if hards == len(hard):
                    became = _FULL_OF_HARD
                    break
                start, stop = v.strip(start, stop)
                hard[hards, 0], hard[hards, 1], hard[hards, 2], hard[hards, 3] = slot, n, start - base, stop - start
                hards += 1
            store(place(slots_at, slot, s.VALID) + n, types.uint8(1))
            put(counts_at, slot, n + 1)
        if became == _READ and column == columns:
            state[ROWS], state[HARD] = row + 1, hards
            odd[k] = 0
            continue
        undo(program, slots, counts, used, row)
        if became <= _ODD:
            odd[k] = 1
            continue
        if became == _FULL_OF_BYTES:
            state[FULL_OF_BYTES] = slot
        else:
            state[FULL] = slot if became == _FULL else root
        return k
    return len(rows)
