"""Columns put together to JSON objects, a row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from kafka_sql.errors import EncodeError
from kafka_sql.formats.json import object_kernels as kernels
from kafka_sql.formats.json.java import quoted
from kafka_sql.formats.json.texts import Text

_INTEGERS: Final = {
    pa.int8(): kernels.INT8,
    pa.int16(): kernels.INT16,
    pa.int32(): kernels.INT32,
    pa.int64(): kernels.INT64,
}
_MOST: Final = 2**31 - 1  # bytes of an Arrow array


def is_number(kind: pa.DataType) -> bool:
    """Whether ``objects`` takes a column of this type as it is."""
    return kind in _INTEGERS


def objects(names: Sequence[str], columns: Sequence[Text | pa.Array], rows: int) -> pa.StringArray:
    """One object a row, with null for what is null.

    Args:
        columns: as many, each a column of integers or the text of one.

    Raises:
        EncodeError: the batch is larger than 2 GB.
    """
    parts = np.zeros((len(columns), kernels.WIDTH), np.int64)
    kept = []  # what the addresses point to
    room = rows  # the closing braces
    for i, (name, column) in enumerate(zip(names, columns, strict=True)):
        array = column.array if isinstance(column, Text) else column
        before = np.frombuffer(f"{',' if i else '{'}{quoted(name)}:".encode(), np.uint8)
        valid = np.asarray(array.is_valid()).view(np.uint8) if array.null_count else None
        parts[i, kernels.NAME], parts[i, kernels.NAME_SIZE] = before.ctypes.data, len(before)
        parts[i, kernels.VALID] = valid.ctypes.data if valid is not None else 0
        kept += [array, before, valid]
        _, values, *data = array.buffers()
        if isinstance(column, Text):
            start, end = (array.offset, array.offset + len(array)) if rows else (0, 0)
            parts[i, kernels.KIND] = kernels.QUOTED if column.bare else kernels.TEXT
            parts[i, kernels.VALUES] = values.address + 4 * array.offset if rows else 0
            parts[i, kernels.DATA] = data[0].address if data[0] is not None else 0
            ends = np.frombuffer(values, np.int32) if rows else np.zeros(1, np.int32)
            longest = int(ends[end]) - int(ends[start]) + 2 * rows
        else:
            parts[i, kernels.KIND] = _INTEGERS[array.type]
            parts[i, kernels.VALUES] = values.address + array.type.byte_width * array.offset if rows else 0
            longest = kernels.LONGEST_INTEGER * rows
        room += len(before) * rows + longest + 4 * array.null_count
    if room > _MOST:
        raise EncodeError(
            "The rows of one batch are more than 2 GB of JSON. Lower 'spark.sql.execution.arrow.maxRecordsPerBatch'."
        )
    out, positions = np.empty(room, np.uint8), np.zeros(rows + 1, np.int32)
    kernels.write_objects(parts, out, positions)
    size = int(positions[-1])
    buffers = [None, pa.py_buffer(positions), pa.py_buffer(out).slice(0, size)]
    return pa.Array.from_buffers(pa.string(), rows, buffers)
