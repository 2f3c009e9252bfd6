"""Assemble columns into JSON objects, one per row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.errors import EncodeError
from kafka_sql.formats.java.scalar_text import ScalarText
from kafka_sql.formats.java.text import quote
from kafka_sql.formats.json import encode_kernels

_INTEGERS: Final = {
    pa.int8(): encode_kernels.INT8,
    pa.int16(): encode_kernels.INT16,
    pa.int32(): encode_kernels.INT32,
    pa.int64(): encode_kernels.INT64,
}
_FLOATS: Final = (pa.float32(), pa.float64())
_MAX_BYTES: Final = 2**31 - 1  # as 32-bit offsets can address


@lru_cache(maxsize=1024)
def _encode_name(name: str) -> tuple[npt.NDArray[np.uint8], int, int]:
    """Return the comma, name and colon before a value, padded with zeros to whole words; its address; its size."""
    text = f",{quote(name)}:".encode()
    padded = np.frombuffer(text.ljust(-(-len(text) // encode_kernels.WORD) * encode_kernels.WORD, b"\0"), np.uint8)
    return padded, padded.ctypes.data, len(text)


def is_written_by_loop(arrow_type: pa.DataType) -> bool:
    """Return whether the loop writes the values of a column of this type. It copies the text of other columns."""
    return arrow_type in _INTEGERS or arrow_type in _FLOATS or arrow_type == pa.bool_()


def write_objects(
    names: Sequence[str], columns: Sequence[ScalarText | pa.Array], rows: int, skip_null: bool
) -> pa.StringArray:
    """Return one object per row.

    Args:
        columns: one per name: the column itself if ``is_written_by_loop``, otherwise its text.
        skip_null: leave out fields that are null.

    Raises:
        EncodeError: the batch is larger than 2 GiB.
    """
    fields = np.zeros((len(columns), encode_kernels.FIELD_CELLS), np.int64)
    referenced: list[object] = []  # keeps the memory that the addresses point to
    capacity = 2 * rows + encode_kernels.WORD  # the braces; the last name may be written with its padding
    for field, name, column in zip(fields, names, columns, strict=True):
        field[encode_kernels.TYPE], array = _type_and_values(column)
        label, label_address, label_size = _encode_name(name)
        valid = np.asarray(array.is_valid()).view(np.uint8) if array.null_count else None
        referenced += [array, label, valid]
        field[encode_kernels.NAME], field[encode_kernels.NAME_SIZE] = label_address, label_size
        field[encode_kernels.VALID] = valid.ctypes.data if valid is not None else 0
        capacity += label_size * rows + 4 * array.null_count
        if rows:
            capacity += _fill_values(field, array, rows)
    if capacity > _MAX_BYTES:
        raise EncodeError(
            "The rows of one batch are more than 2 GiB of JSON. Lower 'spark.sql.execution.arrow.maxRecordsPerBatch'."
        )
    output, offsets = np.empty(capacity, np.uint8), np.zeros(rows + 1, np.int32)
    size = encode_kernels.encode_rows(
        encode_kernels.Objects(
            fields.ctypes.data, len(columns), rows, output.ctypes.data, offsets.ctypes.data, int(skip_null)
        )
    )
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(output).slice(0, size)]
    return pa.Array.from_buffers(pa.string(), rows, buffers)


def _type_and_values(column: ScalarText | pa.Array) -> tuple[int, pa.Array]:
    """Return how the loop writes a column, and the values that it reads."""
    if isinstance(column, ScalarText):
        return (encode_kernels.QUOTED if column.needs_quotes else encode_kernels.TEXT), column.array
    if column.type == pa.bool_():
        return encode_kernels.BOOLEAN, column
    if column.type in _FLOATS:
        scaled = _to_ten_thousandths(column)
        return (
            (encode_kernels.FLOAT, column.cast(pa.string()))
            if scaled is None
            else (encode_kernels.TEN_THOUSANDTHS, scaled)
        )
    return _INTEGERS[column.type], column


def _to_ten_thousandths(column: pa.Array) -> pa.Array | None:
    """Return doubles times 10,000, which the loop writes faster than Arrow; None if one has more than four decimals."""
    if column.type != pa.float64() or not len(column):
        return None
    _, values = column.buffers()
    numbers = np.frombuffer(values, np.float64)[column.offset : column.offset + len(column)]
    scaled = np.empty(len(numbers), np.int64)
    if not encode_kernels.to_ten_thousandths(numbers, scaled):
        return None
    return pa.array(scaled, mask=np.asarray(column.is_null()) if column.null_count else None)


def _fill_values(field: npt.NDArray[np.int64], array: pa.Array, rows: int) -> int:
    """Set the addresses of a field's values; return the bytes that they need in the output."""
    if field[encode_kernels.TYPE] in (encode_kernels.TEXT, encode_kernels.QUOTED, encode_kernels.FLOAT):
        _, offsets, data = array.buffers()
        ends = np.frombuffer(offsets, np.int32)
        field[encode_kernels.VALUES] = offsets.address + 4 * array.offset
        field[encode_kernels.DATA] = data.address if data is not None else 0
        return int(ends[array.offset + rows]) - int(ends[array.offset]) + encode_kernels.MAX_FLOAT_GROWTH * rows
    if field[encode_kernels.TYPE] == encode_kernels.BOOLEAN:
        field[encode_kernels.VALUES], field[encode_kernels.DATA] = array.buffers()[1].address, array.offset
    else:
        field[encode_kernels.VALUES] = array.buffers()[1].address + array.type.byte_width * array.offset
    return encode_kernels.MAX_INTEGER_SIZE * rows
