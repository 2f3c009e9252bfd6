"""The compiled loop that takes headers off."""

from __future__ import annotations

import numpy as np

from kafka_sql.runtime.numba_support import compiled, copy


@compiled
def behind(data: np.ndarray, offsets: np.ndarray, header: int, out: np.ndarray, positions: np.ndarray) -> None:
    """Copy what stands behind the headers of payloads.

    Args:
        data: uint8; the payloads stand at ``offsets`` (int32), and none is shorter than the header.
        out: uint8, with room for all.
        positions: int32, as long as ``offsets``: where each stands in ``out``.
    """
    source, target, used = np.int64(data.ctypes.data), np.int64(out.ctypes.data), np.int64(0)
    for k in range(len(offsets) - 1):
        positions[k] = used
        start = np.int64(offsets[k]) + header
        length = np.int64(offsets[k + 1]) - start
        copy(target + used, source + start, length)
        used += length
    positions[len(offsets) - 1] = used
