"""Access the memory of Arrow arrays of payloads, decode them as text, and merge rows of two decoders."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.formats.java.charset import Charset

T = TypeVar("T")

_UTF_8 = Charset.from_java_name("UTF-8")


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


def decode_utf8(array: pa.BinaryArray) -> pa.StringArray:
    """Return strings, with U+FFFD for malformed bytes, as Java decodes them."""
    try:
        return array.cast(pa.string())
    except pa.ArrowInvalid:
        if len(array) <= 32:
            return pa.array([None if v is None else _UTF_8.decode(v) for v in array.to_pylist()], pa.string())
        middle = len(array) // 2
        return pa.concat_arrays([decode_utf8(array[:middle]), decode_utf8(array[middle:])])


def merge_rows(
    first: tuple[npt.NDArray[np.int64], list[pa.Array]], second: tuple[npt.NDArray[np.int64], list[pa.Array]]
) -> tuple[npt.NDArray[np.int64], list[pa.Array]]:
    """Merge rows of two decoders, each with payload indices and columns, in the order of their payloads."""
    if not len(second[0]):
        return first
    payloads = np.concatenate([first[0], second[0]])
    order = np.argsort(payloads, kind="stable")
    indices = pa.array(order)
    columns = [pa.concat_arrays(pair).take(indices) for pair in zip(first[1], second[1], strict=True)]
    return payloads[order], columns


def pass_addresses(batch_type: type[T], **values: Any) -> T:
    """Return what a compiled loop takes: arrays as their addresses, and integers. The arrays must stay alive."""
    return batch_type(**{k: v.ctypes.data if isinstance(v, np.ndarray) else v for k, v in values.items()})
