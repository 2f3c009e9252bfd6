"""Arrow arrays as the producer's loops take them: offsets, the address of the bytes, validity."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.kafka.librdkafka.produce_kernels import Column

_EMPTY: Final = np.zeros(1, np.uint8)


def column(array: pa.BinaryArray) -> Column:
    """A binary array. Its memory must live as long as what is made here."""
    if not len(array):
        return nothing(0)
    _, positions, data = array.buffers()
    offsets = np.frombuffer(positions, np.int32)[array.offset : array.offset + len(array) + 1]
    valid = np.asarray(array.is_valid()).view(np.uint8) if array.null_count else np.ones(len(array), np.uint8)
    # an empty payload needs an address, too: a null pointer would make it a tombstone
    return offsets, data.address if data is not None and data.size else _EMPTY.ctypes.data, frozen(valid)


def nothing(count: int) -> Column:
    """The column of ``count`` nulls."""
    return frozen(np.zeros(count + 1, np.int32)), 0, frozen(np.zeros(count, np.uint8))


def header_columns(
    array: pa.ListArray | pa.MapArray | None, count: int
) -> tuple[npt.NDArray[np.int32], pa.BinaryArray, pa.BinaryArray]:
    """Positions of each row's headers, their names and their values; None is ``count`` rows without any."""
    if array is None:
        return np.zeros(count + 1, np.int32), pa.array([], pa.binary()), pa.array([], pa.binary())
    ends = np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + len(array) + 1]
    if isinstance(array, pa.MapArray):
        names, values = array.keys, array.items
    else:
        names, values = array.values.flatten()  # a null entry has a null name
    if array.null_count:  # what a null list points to is no header
        present = np.asarray(array.is_valid())
        chosen = pa.array(np.arange(ends[0], ends[-1])[np.repeat(present, np.diff(ends))])
        names, values = names.take(chosen), values.take(chosen)
        ends = np.concatenate(([0], np.cumsum(np.where(present, np.diff(ends), 0)))).astype(np.int32)
    return ends, names.cast(pa.binary()), values.cast(pa.binary())


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array, read-only as Arrow's own memory is: numba compiles its loop for one kind of array only once."""
    view: npt.NDArray[Any] = array.view()
    view.flags.writeable = False
    return view
