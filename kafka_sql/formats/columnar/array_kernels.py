"""Pass Arrow arrays to the encode loops, which read them by the addresses of their buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt
from numba import types

from kafka_sql.formats.columnar.buffer_kernels import load_int64
from kafka_sql.runtime.numba_support import inline_helper, load

# Cells of an input
VALUES: Final = 0  # address of the values, or of int32 offsets
VALID: Final = 1  # address of the validity bitmap, or 0 if there is none
DATA: Final = 2  # address of the bytes that the offsets point into
OFFSET: Final = 3  # the array's offset in its buffers, in entries
INPUT_CELLS: Final = 4


def input_table(arrays: Sequence[pa.Array]) -> npt.NDArray[np.int64]:
    """Return a row of INPUT_CELLS per array. The addresses are valid as long as the arrays exist."""
    table = np.zeros((max(len(arrays), 1), INPUT_CELLS), np.int64)
    for row, array in enumerate(arrays):
        valid, *buffers = array.buffers()
        values = None if pt.is_struct(array.type) else buffers[0]
        data = buffers[1] if _is_variable_length(array.type) else None
        table[row] = _address(values), _address(valid if array.null_count else None), _address(data), array.offset
    return table


def data_size(array: pa.Array) -> int:
    """Return the number of bytes in the values of a string or binary array, 0 for other types."""
    if not _is_variable_length(array.type) or not len(array):
        return 0
    offsets = np.frombuffer(array.buffers()[1], np.int32)
    return int(offsets[array.offset + len(array)] - offsets[array.offset])


def _address(buffer: pa.Buffer | None) -> int:
    return 0 if buffer is None else int(buffer.address)


def _is_variable_length(arrow_type: pa.DataType) -> bool:
    return bool(pt.is_string(arrow_type) or pt.is_binary(arrow_type))


@inline_helper
def is_valid(cells: int, entry: int) -> bool:
    """Return whether an entry of the input at ``cells`` is not null. ``entry`` includes the array's offset."""
    bitmap = load_int64(cells, VALID)
    if bitmap == 0:
        return True
    byte: int = load(bitmap + (entry >> 3), types.uint8)  # type: ignore[call-arg]  # numba rewrites its signature
    return (byte >> (entry & 7)) & 1 != 0
