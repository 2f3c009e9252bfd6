"""Convert binary Arrow columns from raw memory, and to the form that compiled loops take."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.kafka.column_kernels import copy_values

# int32 Arrow offsets, the address of the bytes, uint8 validity
ColumnView: TypeAlias = tuple["np.ndarray[Any, Any]", int, "np.ndarray[Any, Any]"]

_EMPTY: Final = np.zeros(1, np.uint8)


def copy_binary(addresses: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> pa.BinaryArray:
    """Copy values that are anywhere in memory into a column.

    Args:
        addresses: of the values; 0 for null.
        sizes: in bytes; negative ones count as 0.
    """
    offsets = np.empty(len(addresses) + 1, np.int32)
    data = np.empty(int(np.maximum(sizes, 0).sum()), np.uint8)
    copy_values(addresses, sizes, offsets, data)
    valid = addresses != 0
    return binary_array(offsets, data, valid, len(valid) - int(np.count_nonzero(valid)))


def binary_array(
    offsets: npt.NDArray[np.int32], data: npt.NDArray[np.uint8], valid: npt.NDArray[Any], null_count: int
) -> pa.BinaryArray:
    """Return the column of these buffers.

    Args:
        offsets, data: Arrow's buffers.
        valid: per row 0 or False for null.
    """
    mask = pa.py_buffer(np.packbits(valid, bitorder="little")) if null_count else None
    buffers = [mask, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(valid), buffers, null_count=null_count)


def column_view(array: pa.BinaryArray) -> ColumnView:
    """Return a column's buffers for a compiled loop. ``array`` must live as long as the view."""
    if not len(array):
        return null_column(0)
    _, offset_buffer, data = array.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[array.offset : array.offset + len(array) + 1]
    valid = np.asarray(array.is_valid()).view(np.uint8) if array.null_count else np.ones(len(array), np.uint8)
    # an empty payload needs an address, too: a null pointer would make it a tombstone
    return offsets, data.address if data is not None and data.size else _EMPTY.ctypes.data, read_only(valid)


def null_column(count: int) -> ColumnView:
    """Return the view of a column of ``count`` nulls."""
    return read_only(np.zeros(count + 1, np.int32)), 0, read_only(np.zeros(count, np.uint8))


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view. Arrow's memory is read-only, so numba compiles each loop for one array type only."""
    view: npt.NDArray[Any] = array.view()
    view.flags.writeable = False
    return view
