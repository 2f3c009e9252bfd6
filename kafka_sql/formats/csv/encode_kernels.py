"""Compiled loops that quote values as Jackson's CsvEncoder does."""

from __future__ import annotations

import numpy as np

from kafka_sql.runtime.numba_support import compiled


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
