"""Encode columns as JSON payloads, without a Python object per row."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from kafka_sql.formats.java.scalar_text import ScalarText, escape, scalar_text
from kafka_sql.formats.java.times import TimestampStandard
from kafka_sql.formats.json.options import (
    DECIMAL_AS_PLAIN_NUMBER,
    IGNORE_NULL_FIELDS,
    TIMESTAMP_FORMAT,
    check_schema,
)
from kafka_sql.options import Options

Offsets: TypeAlias = npt.NDArray[np.int64]


class JsonEncoder:
    """Encodes each row as a JSON object, with the fields in the order of the columns."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        check_schema(schema)
        self._standard = TimestampStandard(options[TIMESTAMP_FORMAT])
        self._plain_decimals = options[DECIMAL_AS_PLAIN_NUMBER]
        self._skip_null = options[IGNORE_NULL_FIELDS]

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per row; see ``Encoder``."""
        return self._objects(batch.schema.names, batch.columns, batch.num_rows).view(pa.binary())

    def _objects(self, names: list[str], columns: list[pa.Array], rows: int) -> pa.StringArray:
        # Imported here, so that DDL, which only validates, does not load the compiler.
        from kafka_sql.formats.json.object_writer import is_written_by_loop, write_objects

        if not columns:
            return pa.repeat("{}", rows)
        values = [column if is_written_by_loop(column.type) else self._text(column) for column in columns]
        return write_objects(names, values, rows, self._skip_null)

    def _text(self, column: pa.Array) -> ScalarText:
        arrow_type = column.type
        if pt.is_struct(arrow_type):
            text = self._objects([field.name for field in arrow_type], column.flatten(), len(column))
        elif pt.is_list(arrow_type):
            text = _join_lists("[", _list_offsets(column), _to_json_values(self._text(column.flatten())), "]")
        elif pt.is_map(arrow_type):
            text = self._maps(column)
        else:
            return scalar_text(column, self._standard, self._plain_decimals)
        return ScalarText(pc.if_else(column.is_valid(), text, None) if column.null_count else text, needs_quotes=False)

    def _maps(self, column: pa.MapArray) -> pa.StringArray:
        offsets = _list_offsets(column)
        keys, values = _as_list(column).flatten().flatten()
        # Arrow's maps, like Spark's, have no null keys.
        entries = pc.binary_join_element_wise('"', escape(keys), '":', _to_json_values(self._text(values)), "")
        return _join_lists("{", offsets, entries, "}")


def _to_json_values(text: ScalarText) -> pa.StringArray:
    """Add the quotes of strings, and replace nulls with ``null``."""
    array = pc.binary_join_element_wise('"', text.array, '"', "") if text.needs_quotes else text.array
    return array.fill_null("null")


def _as_list(column: pa.MapArray) -> pa.ListArray:
    """Return the same memory as lists of entries."""
    entries = pa.StructArray.from_arrays([column.keys, column.items], ["key", "value"])
    buffers = column.buffers()[:2]
    return pa.Array.from_buffers(pa.list_(entries.type), len(column), buffers, offset=column.offset, children=[entries])


def _list_offsets(column: pa.Array) -> Offsets:
    """Return where each list begins in ``column.flatten()``, which has no elements for a null."""
    ends = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    lengths = np.where(column.is_valid().to_numpy(zero_copy_only=False), np.diff(ends), 0)
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def _join_lists(opening: str, offsets: Offsets, elements: pa.StringArray, closing: str) -> pa.StringArray:
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), elements)
    return pc.binary_join_element_wise(opening, pc.binary_join(lists, ","), closing, "")
