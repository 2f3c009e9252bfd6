"""Access the memory of string and binary columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def value_offsets_and_bytes(array: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Return the offsets of the values, from 0, and the bytes of the values; a null has no bytes."""
    if array.null_count:
        array = array.fill_null(b"" if pa.types.is_binary(array.type) else "")
    offsets = _offsets(array)
    return offsets - offsets[0], value_bytes(array)


def value_bytes(array: pa.Array) -> npt.NDArray[np.uint8]:
    """Return the bytes from the first value to the last, including those that nulls may have."""
    offsets, data = _offsets(array), array.buffers()[2]
    return np.frombuffer(data if data is not None else b"", np.uint8)[offsets[0] : offsets[-1]]


def _offsets(array: pa.Array) -> npt.NDArray[np.int32]:
    return np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + len(array) + 1]
