"""Access the memory of Arrow arrays of payloads, find values of another type, and merge rows of two decoders."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def bytes_and_offsets(payloads: pa.BinaryArray) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    """Return the array's data buffer, and the offsets of its payloads in it: one more than there are payloads."""
    _, offsets, data = payloads.buffers()
    all_offsets = np.frombuffer(offsets, np.int32) if offsets is not None and offsets.size else np.zeros(1, np.int32)
    arrays = (
        np.frombuffer(data if data is not None else b"", np.uint8),
        all_offsets[payloads.offset : payloads.offset + len(payloads) + 1],
    )
    for array in arrays:
        array.flags.writeable = False  # like most Arrow buffers: numba would compile a loop again for writable arrays
    return arrays


def find_uncastable(array: pa.Array, target: pa.DataType, first: int = 0) -> list[int]:
    """Return which values cannot be cast, counted from ``first``. Splits the array in halves to find them."""
    try:
        array.cast(target)
    except pa.ArrowInvalid:
        if len(array) == 1:
            return [first]
        middle = len(array) // 2
        return find_uncastable(array[:middle], target, first) + find_uncastable(array[middle:], target, first + middle)
    return []


def merge_rows(
    first: tuple[npt.NDArray[np.int64], list[pa.Array]], second: tuple[npt.NDArray[np.int64], list[pa.Array]]
) -> tuple[npt.NDArray[np.int64], list[pa.Array]]:
    """Merge rows of two decoders in the order of their payloads.

    Args:
        first, second: the payload index of each row, and the columns.
    """
    if not len(second[0]):
        return first
    payloads = np.concatenate([first[0], second[0]])
    order = np.argsort(payloads, kind="stable")
    indices = pa.array(order)
    columns = [pa.concat_arrays(pair).take(indices) for pair in zip(first[1], second[1], strict=True)]
    return payloads[order], columns
