"""Convert columns of binary values and of record headers: from and to the form that compiled loops take."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.kafka.column_kernels import copy_values, mark_last_headers
from kafka_sql.kafka.record_metadata import HEADER, HEADER_LIST

_MOST_COMPARED: Final = 64  # headers of a record whose names are compared in pairs; those of a larger one are sorted
# int32 Arrow offsets, the address of the bytes, uint8 validity
ColumnView: TypeAlias = tuple["np.ndarray[Any, Any]", int, "np.ndarray[Any, Any]"]

_EMPTY: Final = np.zeros(1, np.uint8)


def header_lists(header_offsets: npt.NDArray[np.int32], names: pa.BinaryArray, values: pa.BinaryArray) -> pa.ListArray:
    """Return a column of header lists, of type ``HEADER_LIST``.

    Args:
        header_offsets: Arrow's offsets of each record's headers.
        names, values: of all headers.
    """
    entries = pa.StructArray.from_arrays([_decode_names(names), values], fields=list(HEADER))
    return pa.Array.from_buffers(
        HEADER_LIST, len(header_offsets) - 1, [None, pa.py_buffer(header_offsets)], children=[entries]
    )


def _decode_names(names: pa.BinaryArray) -> pa.StringArray:
    """Decode header names, with U+FFFD for invalid UTF-8, as Java's client does."""
    try:
        return names.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([name.decode("utf-8", "replace") for name in names.to_pylist()], pa.string())


def headers_to_maps(headers: pa.ListArray) -> pa.MapArray:
    """Convert header lists to maps. Of several headers with one name the last is kept, as in Flink's reader."""
    header_offsets = np.frombuffer(headers.buffers()[1], np.int32)[headers.offset : headers.offset + len(headers) + 1]
    entries = headers.values
    _, name_offsets, data = entries.field(0).buffers()
    is_last = np.zeros(len(entries), np.uint8)
    replaced = 0
    if len(entries):
        names = np.frombuffer(data or b"", np.uint8)
        replaced, skipped = mark_last_headers(
            header_offsets, np.frombuffer(name_offsets, np.int32), names, _MOST_COMPARED, is_last
        )
        if skipped:
            replaced += _mark_last_of_many(header_offsets, entries.field(0), is_last)
    if replaced:
        entries = entries.filter(pa.array(is_last.view(bool)))
        header_offsets = np.concatenate(([0], np.cumsum(is_last, dtype=np.int32)))[header_offsets].astype(np.int32)
    offsets = pa.Array.from_buffers(pa.int32(), len(header_offsets), [None, pa.py_buffer(header_offsets)])
    return pa.MapArray.from_arrays(offsets, entries.field(0), entries.field(1))


def _mark_last_of_many(
    header_offsets: npt.NDArray[np.int32], names: pa.StringArray, is_last: npt.NDArray[np.uint8]
) -> int:
    """Do for the records with many headers what ``mark_last_headers`` does for the others, in a time of n log n."""
    counts = np.diff(header_offsets)
    rows = np.repeat(np.arange(len(counts)), counts)
    headers = header_offsets[0] + np.flatnonzero(counts[rows] > _MOST_COMPARED)
    # sorted instead of hashed: for hashes, names can be found that are all equal
    ranks = np.asarray(pc.rank(names.take(pa.array(headers)), tiebreaker="dense")).astype(np.int64)
    keys = rows[headers - header_offsets[0]] * (ranks.max() + 1) + ranks
    _, last = np.unique(keys[::-1], return_index=True)
    is_last[headers[len(headers) - 1 - last]] = 1
    return len(headers) - len(last)


def flatten_headers(
    array: pa.ListArray | pa.MapArray | None, count: int
) -> tuple[npt.NDArray[np.int32], pa.BinaryArray, pa.BinaryArray]:
    """Return the list offsets of each row's headers, their names and their values.

    Args:
        array: the headers; None for none in all rows.
    """
    if array is None:
        return np.zeros(count + 1, np.int32), pa.array([], pa.binary()), pa.array([], pa.binary())
    header_offsets = np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + len(array) + 1]
    if isinstance(array, pa.MapArray):
        names, values = array.keys, array.items
    else:
        names, values = array.values.flatten()  # a null entry has a null name
    if array.null_count:  # the entries of a null list are not headers
        valid = np.asarray(array.is_valid())
        selected = pa.array(np.arange(header_offsets[0], header_offsets[-1])[np.repeat(valid, np.diff(header_offsets))])
        names, values = names.take(selected), values.take(selected)
        header_offsets = np.concatenate(([0], np.cumsum(np.where(valid, np.diff(header_offsets), 0)))).astype(np.int32)
    return header_offsets, names.cast(pa.binary()), values.cast(pa.binary())


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
