"""Remove headers from payloads with a loop that numba compiles."""

from __future__ import annotations

import numpy as np

from kafka_sql.runtime.numba_support import compiled, copy


@compiled
def copy_without_headers(
    data: np.ndarray, offsets: np.ndarray, header_size: int, output: np.ndarray, output_offsets: np.ndarray
) -> None:
    """Copy payloads without their headers.

    Args:
        data: uint8: the payloads, each at least ``header_size`` bytes.
        offsets: int32: where each payload begins and ends in ``data``.
        output: uint8, with space for all.
        output_offsets: int32, as long as ``offsets``: set to where each begins and ends in ``output``.
    """
    source, target, used_bytes = np.int64(data.ctypes.data), np.int64(output.ctypes.data), np.int64(0)
    for k in range(len(offsets) - 1):
        output_offsets[k] = used_bytes
        start = np.int64(offsets[k]) + header_size
        length = np.int64(offsets[k + 1]) - start
        copy(target + used_bytes, source + start, length)
        used_bytes += length
    output_offsets[len(offsets) - 1] = used_bytes
