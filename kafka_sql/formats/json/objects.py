"""Columns put together to JSON objects, a row each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.errors import EncodeError
from kafka_sql.formats.java.scalar_text import ScalarText
from kafka_sql.formats.java.text import quote
from kafka_sql.formats.json import encode_kernels as kernels

_INTEGERS: Final = {
    pa.int8(): kernels.INT8,
    pa.int16(): kernels.INT16,
    pa.int32(): kernels.INT32,
    pa.int64(): kernels.INT64,
}
_FLOATS: Final = (pa.float32(), pa.float64())
_MOST: Final = 2**31 - 1  # bytes of an Arrow array


class _Lead(NamedTuple):
    """What stands before a value.

    Attributes:
        text: with zeros up to a whole number of words.
        size: without them.
    """

    text: npt.NDArray[np.uint8]
    address: int
    size: int


def is_taken(kind: pa.DataType) -> bool:
    """Whether ``objects`` takes a column of this type as it is."""
    return kind in _INTEGERS or kind in _FLOATS or kind == pa.bool_()


def _kind(column: ScalarText | pa.Array) -> tuple[int, pa.Array]:
    """How the column is written, and its values."""
    if isinstance(column, ScalarText):
        return (kernels.QUOTED if column.unquoted else kernels.TEXT), column.array
    if column.type == pa.bool_():
        return kernels.BOOLEAN, column
    if column.type in _FLOATS:
        decimals = _decimals(column)
        return (kernels.FLOAT, column.cast(pa.string())) if decimals is None else (kernels.DECIMALS, decimals)
    return _INTEGERS[column.type], column


def _decimals(column: pa.Array) -> pa.Array | None:
    """Ten thousand times each, where all are such that their decimals are found without Arrow's longer way."""
    if column.type != pa.float64() or not len(column):
        return None
    _, values = column.buffers()
    numbers = np.frombuffer(values, np.float64)[column.offset : column.offset + len(column)]
    found = np.empty(len(numbers), np.int64)
    if not kernels.ten_thousandths(numbers, found):
        return None
    return pa.array(found, mask=np.asarray(column.is_null()) if column.null_count else None)


@lru_cache(maxsize=1024)
def _lead(name: str, first: bool) -> _Lead:
    said = f"{'{' if first else ','}{quote(name)}:".encode()
    text = np.frombuffer(said.ljust(-(-len(said) // kernels.WORD) * kernels.WORD, b"\0"), np.uint8)
    return _Lead(text, text.ctypes.data, len(said))


def objects(names: Sequence[str], columns: Sequence[ScalarText | pa.Array], rows: int) -> pa.StringArray:
    """One object a row, with null for what is null.

    Args:
        columns: as many, each a column of numbers or of truth, or the text of one.

    Raises:
        EncodeError: the batch is larger than 2 GB.
    """
    parts = np.zeros((len(columns), kernels.WIDTH), np.int64)
    kept: list[object] = []  # what the addresses point to
    room = rows + kernels.WORD  # the closing braces; the last name may be written with zeros behind it
    for i, (name, column) in enumerate(zip(names, columns, strict=True)):
        kind, array = _kind(column)
        lead = _lead(name, not i)
        valid = np.asarray(array.is_valid()).view(np.uint8) if array.null_count else None
        kept += [array, lead, valid]
        parts[i, kernels.KIND] = kind
        parts[i, kernels.NAME], parts[i, kernels.NAME_SIZE] = lead.address, lead.size
        parts[i, kernels.VALID] = valid.ctypes.data if valid is not None else 0
        room += lead.size * rows + 4 * array.null_count
        if rows and kind in (kernels.TEXT, kernels.QUOTED, kernels.FLOAT):
            _, offsets, data = array.buffers()
            ends = np.frombuffer(offsets, np.int32)
            parts[i, kernels.VALUES] = offsets.address + 4 * array.offset
            parts[i, kernels.DATA] = data.address if data is not None else 0
            room += int(ends[array.offset + rows]) - int(ends[array.offset]) + kernels.LONGER * rows
        elif rows and kind == kernels.BOOLEAN:
            parts[i, kernels.VALUES], parts[i, kernels.DATA] = array.buffers()[1].address, array.offset
            room += kernels.LONGEST_INTEGER * rows
        elif rows:
            parts[i, kernels.VALUES] = array.buffers()[1].address + array.type.byte_width * array.offset
            room += kernels.LONGEST_INTEGER * rows
    if room > _MOST:
        raise EncodeError(
            "The rows of one batch are more than 2 GB of JSON. Lower 'spark.sql.execution.arrow.maxRecordsPerBatch'."
        )
    out, positions = np.empty(room, np.uint8), np.zeros(rows + 1, np.int32)
    kernels.write_objects(parts, out, positions)
    size = int(positions[-1])
    buffers = [None, pa.py_buffer(positions), pa.py_buffer(out).slice(0, size)]
    return pa.Array.from_buffers(pa.string(), rows, buffers)
