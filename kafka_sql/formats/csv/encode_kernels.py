"""Quote values as Jackson's CsvEncoder does, with loops that numba compiles."""

from __future__ import annotations

import numpy as np

from kafka_sql.runtime.numba_support import compiled


@compiled
def measure_quoted(
    data: np.ndarray, offsets: np.ndarray, safe: int, quote: int, escape: int, limit: int, sizes: np.ndarray
) -> None:
    """Compute the size of each value as it is written; it is larger than the value's if it is quoted.

    Args:
        safe: the smallest byte that needs no quotes, except ``escape``.
        limit: UTF-16 units beyond which a value is always quoted.
        sizes: int32, n: the result.
    """
    for i in range(len(offsets) - 1):
        units, doubled, quoted = 0, 0, False
        for k in range(offsets[i], offsets[i + 1]):
            b = data[k]
            if b < 0x80 or b >= 0xC0:
                units += 2 if b >= 0xF0 else 1
            if b < safe or b == escape:
                quoted = True
                doubled += b == quote
        if units > limit:
            quoted = True
        sizes[i] = offsets[i + 1] - offsets[i] + (doubled + 2 if quoted else 0)


@compiled
def measure_escapes(data: np.ndarray, offsets: np.ndarray, escape: int, sizes: np.ndarray) -> None:
    """Add to ``sizes`` the escapes in quoted values, which are doubled."""
    for i in range(len(offsets) - 1):
        if sizes[i] > offsets[i + 1] - offsets[i]:
            for k in range(offsets[i], offsets[i + 1]):
                sizes[i] += data[k] == escape


@compiled
def write_quoted(
    data: np.ndarray, offsets: np.ndarray, quote: int, escape: int, targets: np.ndarray, out: np.ndarray
) -> None:
    """Write each value, in quotes if its range in the output is larger than the value.

    Args:
        escape: a byte that is doubled in quotes; -1 if there is none.
        targets: int32, n + 1: the ranges.
    """
    for i in range(len(offsets) - 1):
        target, quoted = targets[i], targets[i + 1] - targets[i] > offsets[i + 1] - offsets[i]
        if quoted:
            out[target] = quote
            target += 1
        for k in range(offsets[i], offsets[i + 1]):
            b = data[k]
            if quoted and (b in (quote, escape)):
                out[target] = b
                target += 1
            out[target] = b
            target += 1
        if quoted:
            out[target] = quote
