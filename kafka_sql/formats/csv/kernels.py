"""Compiled loops that cut payloads into values, as Jackson's CsvDecoder does, and that quote values as its CsvEncoder.

What they do not know (comments, other encodings than UTF-8, errors) they leave to the exact way.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from kafka_sql.compiled import compiled

PLAIN: Final = 0
ESCAPED: Final = 1  # has escapes
QUOTED: Final = 2  # has escapes or doubled quotes

_CR: Final = 13
_LF: Final = 10
_SPACE: Final = 32


@compiled
def split(
    data: np.ndarray,
    positions: np.ndarray,
    separator: int,
    quote: int,
    escape: int,
    trim: bool,
    comments: bool,
    trailing: bool,
    starts: np.ndarray,
    lengths: np.ndarray,
    sizes: np.ndarray,
    kinds: np.ndarray,
    odd: np.ndarray,
) -> int:
    """Find the values of every payload's first line.

    Args:
        positions: int32, n + 1: where the payloads stand in ``data``.
        separator, quote, escape: bytes; -1 where there is none.
        starts, lengths: int32, columns x n: where a value stands, without its quotes.
        sizes: int32, columns x n: its length without escapes.
        kinds: uint8, columns x n: PLAIN, ESCAPED or QUOTED.
        odd: uint8, n: 1 for a payload that is left to the exact way.

    Returns:
        how many are odd.
    """
    columns, count = starts.shape[0], 0
    for i in range(len(positions) - 1):
        at, end = positions[i], positions[i + 1]
        strange = at == end
        if not strange:
            first = data[at]
            strange = first == 0xEF or first >= 0xFE  # byte order marks
            if comments and (first == 35 or first in (_SPACE, _CR, _LF)):
                strange = True
            for k in range(at, min(at + 4, end)):
                if data[k] == 0:  # perhaps UTF-16 or UTF-32
                    strange = True
        column, more = 0, True
        while more and not strange:
            more = False
            if trim:
                while at < end and data[at] <= _SPACE:
                    b = data[at]
                    if b in (separator, _CR, _LF):
                        break
                    at += 1
            if column == columns:
                strange = not trailing or at < end
                break
            start, stop, extra, kind = at, at, 0, PLAIN
            if at < end and data[at] == quote:
                at += 1
                start = at
                closed = False
                while at < end:
                    b = data[at]
                    if b == quote:
                        if at + 1 < end and data[at + 1] == quote:
                            extra += 1
                            at += 2
                            continue
                        closed = True
                        break
                    if b == escape:
                        extra += 1
                        at += 1
                    at += 1
                if not closed or at >= end:
                    strange = True
                    break
                stop, kind = at, QUOTED if extra > 0 else PLAIN
                at += 1
                while at < end:
                    b = data[at]
                    at += 1
                    if b == separator:
                        more = True
                        break
                    if b in (_CR, _LF):
                        break
                    if b > _SPACE:
                        strange = True
                        break
            else:
                while at < end:
                    b = data[at]
                    if b == separator:
                        more = True
                        break
                    if b in (_CR, _LF):
                        break
                    if b == escape:
                        extra += 1
                        at += 1
                    at += 1
                if at > end:
                    strange = True
                    break
                stop, kind = at, ESCAPED if extra > 0 else PLAIN
                at += 1
                if trim:
                    strange = strange or extra > 0
                    while stop > start and data[stop - 1] <= _SPACE:
                        stop -= 1
            starts[column, i] = start
            lengths[column, i] = stop - start
            sizes[column, i] = stop - start - extra
            kinds[column, i] = kind
            column += 1
        if column < columns:
            strange = True
        odd[i] = strange
        count += strange
    return count


@compiled
def gather(
    data: np.ndarray,
    rows: np.ndarray,
    starts: np.ndarray,
    lengths: np.ndarray,
    kinds: np.ndarray,
    quote: int,
    escape: int,
    positions: np.ndarray,
    out: np.ndarray,
) -> None:
    """Copy one column's values of ``rows``, without escapes, to the given ``positions`` of ``out``."""
    for k in range(len(rows)):
        row = rows[k]
        at, end, to, kind = starts[row], starts[row] + lengths[row], positions[k], kinds[row]
        if kind == PLAIN:
            for j in range(end - at):
                out[to + j] = data[at + j]
            continue
        while at < end:
            b = data[at]
            if kind == QUOTED and b == quote:
                at += 1
            elif b == escape:
                at += 1
                b = data[at]
                if b == 48:  # 0
                    b = np.uint8(0)
                elif b == 110:  # n
                    b = np.uint8(_LF)
                elif b == 114:  # r
                    b = np.uint8(_CR)
                elif b == 116:  # t
                    b = np.uint8(9)
            out[to] = b
            to += 1
            at += 1


@compiled
def measure_quoted(
    data: np.ndarray, positions: np.ndarray, safe: int, quote: int, escape: int, limit: int, sizes: np.ndarray
) -> None:
    """The length of each value as it is written; longer than the value where it must stand in quotes.

    Args:
        safe: the least byte that needs no quotes.
        escape: another that needs them.
        limit: UTF-16 units beyond which a value is quoted unseen.
        sizes: int32, n.
    """
    for i in range(len(positions) - 1):
        units, special, found = 0, 0, False
        for k in range(positions[i], positions[i + 1]):
            b = data[k]
            if b < 0x80 or b >= 0xC0:
                units += 2 if b >= 0xF0 else 1
            if b < safe or b == escape:
                found = True
                special += b == quote
        if units > limit:
            found = True
        sizes[i] = positions[i + 1] - positions[i] + (special + 2 if found else 0)


@compiled
def measure_escapes(data: np.ndarray, positions: np.ndarray, escape: int, sizes: np.ndarray) -> None:
    """Make room in ``sizes`` for the escapes that are doubled in quotes."""
    for i in range(len(positions) - 1):
        if sizes[i] > positions[i + 1] - positions[i]:
            for k in range(positions[i], positions[i + 1]):
                sizes[i] += data[k] == escape


@compiled
def write_quoted(
    data: np.ndarray, positions: np.ndarray, quote: int, escape: int, targets: np.ndarray, out: np.ndarray
) -> None:
    """Write each value to ``targets`` (int32, n + 1) of ``out``, in quotes where it has room for them.

    Args:
        escape: a byte that is doubled in quotes; -1 where there is none.
    """
    for i in range(len(positions) - 1):
        to, quoted = targets[i], targets[i + 1] - targets[i] > positions[i + 1] - positions[i]
        if quoted:
            out[to] = quote
            to += 1
        for k in range(positions[i], positions[i + 1]):
            b = data[k]
            if quoted and (b in (quote, escape)):
                out[to] = b
                to += 1
            out[to] = b
            to += 1
        if quoted:
            out[to] = quote
