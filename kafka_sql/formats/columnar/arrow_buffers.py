"""The memory of an array of payloads, as compiled loops want it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def bytes_and_offsets(payloads: pa.BinaryArray) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    """All bytes of the array's buffer, and where its payloads begin and end in them."""
    _, offsets, data = payloads.buffers()
    positions = np.frombuffer(offsets, np.int32) if offsets is not None and offsets.size else np.zeros(1, np.int32)
    found = (
        np.frombuffer(data if data is not None else b"", np.uint8),
        positions[payloads.offset : payloads.offset + len(payloads) + 1],
    )
    for array in found:
        array.flags.writeable = False  # loops are compiled for one kind of array, and most of Arrow's are read-only
    return found


def merge_rows(
    some: tuple[npt.NDArray[np.int64], list[pa.Array]], others: tuple[npt.NDArray[np.int64], list[pa.Array]]
) -> tuple[npt.NDArray[np.int64], list[pa.Array]]:
    """Rows that were read in two ways, in the order of the payloads that they came from."""
    if not len(others[0]):
        return some
    places = np.concatenate([some[0], others[0]])
    order = np.argsort(places, kind="stable")
    taken = pa.array(order)
    columns = [pa.concat_arrays(pair).take(taken) for pair in zip(some[1], others[1], strict=True)]
    return places[order], columns
