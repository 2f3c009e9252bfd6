"""Copy values into columns and find duplicate header names: compiled loops, without a Python object per record."""

from __future__ import annotations

import numpy as np

from kafka_sql.runtime.numba_support import compiled, copy


@compiled
def copy_values(addresses: np.ndarray, sizes: np.ndarray, offsets: np.ndarray, data: np.ndarray) -> None:
    """Copy values that are anywhere in memory into one buffer.

    Args:
        addresses, sizes: int64: of the values, in bytes; sizes below 0 count as 0.
        offsets: int32, filled: Arrow's offsets.
        data: uint8, filled: the bytes.
    """
    position, target = 0, data.ctypes.data
    for i in range(len(addresses)):
        offsets[i] = position
        if sizes[i] > 0:
            copy(target + position, addresses[i], sizes[i])
            position += sizes[i]
    offsets[len(addresses)] = position


@compiled
def mark_last_headers(
    header_offsets: np.ndarray, name_offsets: np.ndarray, names: np.ndarray, most: int, is_last: np.ndarray
) -> tuple[int, int]:
    """Mark the headers that no later header of the same record and name replaces, by comparing all pairs.

    Args:
        most: headers of a record that are compared; a record with more is skipped.
        header_offsets: int32: Arrow's offsets of each record's headers.
        name_offsets, names: int32 offsets and uint8 bytes of the names.
        is_last: uint8, filled: 1 for a header that is kept.

    Returns:
        how many headers are replaced, and how many records are skipped.
    """
    replaced, skipped = 0, 0
    for row in range(len(header_offsets) - 1):
        if header_offsets[row + 1] - header_offsets[row] > most:
            skipped += 1
            continue
        for i in range(header_offsets[row], header_offsets[row + 1]):
            is_last[i] = 1
            size = name_offsets[i + 1] - name_offsets[i]
            for k in range(i + 1, header_offsets[row + 1]):
                same = name_offsets[k + 1] - name_offsets[k] == size
                byte = 0
                while same and byte < size:
                    same = names[name_offsets[i] + byte] == names[name_offsets[k] + byte]
                    byte += 1
                if same:
                    is_last[i] = 0
                    replaced += 1
                    break
    return replaced, skipped
