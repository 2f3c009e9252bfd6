"""Quote values as Jackson's CsvEncoder does, with loops that numba compiles."""

from __future__ import annotations

import numpy as np

from kafka_sql.runtime.numba_support import compiled


@compiled
def measure_quoted(
    data: np.ndarray, offsets: np.ndarray, min_safe: int, quote: int, escape: int, limit: int, sizes: np.ndarray
) -> None:
    """Compute the size of each value in the output. It is larger than the value if the value is quoted.

    Args:
        min_safe: the smallest byte that needs no quotes; ``escape`` always needs them.
        limit: UTF-16 units beyond which a value is always quoted.
        sizes: int32, n: the result.
    """
    for row in range(len(offsets) - 1):
        units, doubled, quoted = 0, 0, False
        for position in range(offsets[row], offsets[row + 1]):
            byte = data[position]
            if byte < 0x80 or byte >= 0xC0:
                units += 2 if byte >= 0xF0 else 1
            if byte < min_safe or byte == escape:
                quoted = True
                doubled += byte == quote
        if units > limit:
            quoted = True
        sizes[row] = offsets[row + 1] - offsets[row] + (doubled + 2 if quoted else 0)


@compiled
def measure_escapes(data: np.ndarray, offsets: np.ndarray, escape: int, sizes: np.ndarray) -> None:
    """Add to ``sizes`` the escapes in quoted values, which are doubled."""
    for row in range(len(offsets) - 1):
        if sizes[row] > offsets[row + 1] - offsets[row]:
            for position in range(offsets[row], offsets[row + 1]):
                sizes[row] += data[position] == escape


@compiled
def write_quoted(
    data: np.ndarray, offsets: np.ndarray, quote: int, escape: int, targets: np.ndarray, output: np.ndarray
) -> None:
    """Write each value; in quotes if its space in the output is larger than the value.

    Args:
        escape: a byte that is doubled in quotes; -1 if there is none.
        targets: int32, n + 1: offsets of the values in ``output``.
    """
    for row in range(len(offsets) - 1):
        target, quoted = targets[row], targets[row + 1] - targets[row] > offsets[row + 1] - offsets[row]
        if quoted:
            output[target] = quote
            target += 1
        for position in range(offsets[row], offsets[row + 1]):
            byte = data[position]
            if quoted and (byte in (quote, escape)):
                output[target] = byte
                target += 1
            output[target] = byte
            target += 1
        if quoted:
            output[target] = quote
