"""How deep a document is nested, by a compiled loop: a payload may be nothing but brackets."""

from __future__ import annotations

import numpy as np

from kafka_sql.runtime.numba_support import compiled

_QUOTE, _BACKSLASH, _OPEN, _CLOSE = 34, 92, 123, 125


@compiled
def deepest(data: np.ndarray, limit: int) -> int:
    """The deepest nesting of objects and arrays in a text of UTF-8 (uint8); exact where it is JSON.

    Args:
        limit: beyond which it does not look further.
    """
    depth, most, at, inside = 0, 0, 0, False
    while at < len(data) and most <= limit:
        byte = data[at]
        if byte == _QUOTE:
            inside = not inside
        elif inside:
            at += byte == _BACKSLASH
        elif byte | 32 == _OPEN:  # makes "{" of "[" and "}" of "]", and of nothing else
            depth += 1
            most = max(most, depth)
        elif byte | 32 == _CLOSE:
            depth -= 1
        at += 1
    return most
