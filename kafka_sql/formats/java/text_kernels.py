"""Numba loops over JSON text: how deep it is nested, and whether a string needs escapes."""

from __future__ import annotations

import numpy as np

from kafka_sql.runtime.numba_support import compiled

_QUOTE, _BACKSLASH, _OPEN, _CLOSE = 34, 92, 123, 125


@compiled
def nesting_depth(data: np.ndarray, limit: int) -> int:
    """Return the maximum nesting of objects and arrays in UTF-8 text (uint8), up to the first level beyond ``limit``.

    It is exact if the text is JSON. A payload may consist of nothing but brackets, so this does not recurse.
    """
    depth, max_depth, position, in_string = 0, 0, 0, False
    while position < len(data) and max_depth <= limit:
        byte = data[position]
        if byte == _QUOTE:
            in_string = not in_string
        elif in_string:
            position += byte == _BACKSLASH
        elif byte | 32 == _OPEN:  # true for "{" and "[" only
            depth += 1
            max_depth = max(max_depth, depth)
        elif byte | 32 == _CLOSE:  # true for "}" and "]" only
            depth -= 1
        position += 1
    return max_depth


@compiled
def needs_escapes(data: np.ndarray) -> bool:
    """Return whether text (uint8) has a control character, a quote or a backslash."""
    is_special = False
    for i in range(len(data)):  # without an early exit, so that LLVM vectorizes the loop
        is_special |= (data[i] < 32) | (data[i] == _QUOTE) | (data[i] == _BACKSLASH)
    return is_special
