"""Bytes that are somewhere in memory, as an Arrow column."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.runtime.numba_support import compiled, copy


def binary(addresses: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> pa.BinaryArray:
    """Copy them into one buffer.

    Args:
        addresses: 0 for null.
        sizes: in bytes; less than 0 is none.
    """
    positions = np.empty(len(addresses) + 1, np.int32)
    data = np.empty(int(np.maximum(sizes, 0).sum()), np.uint8)
    _copy(addresses, sizes, positions, data)
    valid = addresses != 0
    return assembled(positions, data, valid, len(valid) - int(np.count_nonzero(valid)))


def assembled(
    positions: npt.NDArray[np.int32], data: npt.NDArray[np.uint8], valid: npt.NDArray[Any], nulls: int
) -> pa.BinaryArray:
    """The column of these parts, which are Arrow's but for ``valid``: 0 or False for each of the nulls."""
    mask = pa.py_buffer(np.packbits(valid, bitorder="little")) if nulls else None
    buffers = [mask, pa.py_buffer(positions), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(valid), buffers, null_count=nulls)


@compiled
def _copy(sources: np.ndarray, sizes: np.ndarray, positions: np.ndarray, data: np.ndarray) -> None:
    position, target = 0, data.ctypes.data
    for i in range(len(sources)):
        positions[i] = position
        if sizes[i] > 0:
            copy(target + position, sources[i], sizes[i])
            position += sizes[i]
    positions[len(sources)] = position
