"""Columns to payloads of JSON, without a Python object a row."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from kafka_sql.formats.java.scalar_text import ScalarText, escape, scalar_text
from kafka_sql.formats.java.text import quote
from kafka_sql.formats.json.options import (
    DECIMAL_AS_PLAIN_NUMBER,
    IGNORE_NULL_FIELDS,
    ISO_8601,
    TIMESTAMP_FORMAT,
)
from kafka_sql.formats.json.schema import check_schema
from kafka_sql.options import Options

Offsets: TypeAlias = npt.NDArray[np.int64]


class JsonEncoder:
    """Encodes each row as one JSON object, its fields in the order of the columns."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            SchemaError: a column has no form in JSON.
        """
        check_schema(schema)
        self._iso = options[TIMESTAMP_FORMAT] == ISO_8601
        self._plain_decimals = options[DECIMAL_AS_PLAIN_NUMBER]
        self._leave_nulls_out = options[IGNORE_NULL_FIELDS]

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """One payload a row.

        Raises:
            EncodeError: a date lies too far off to be written.
        """
        return self._objects(batch.schema.names, batch.columns, batch.num_rows).view(pa.binary())

    def _objects(self, names: list[str], columns: list[pa.Array], rows: int) -> pa.StringArray:
        from kafka_sql.formats.json.objects import (
            is_taken,
            objects,
        )  # here: a DDL, which only checks, loads no compiler

        if not columns:
            return pa.repeat("{}", rows)
        if self._leave_nulls_out and any(column.null_count for column in columns):
            return _objects_without_nulls(names, [self._text(column) for column in columns])
        return objects(names, [c if is_taken(c.type) else self._text(c) for c in columns], rows)

    def _text(self, column: pa.Array) -> ScalarText:
        t = column.type
        if pt.is_struct(t):
            text = self._objects([field.name for field in t], column.flatten(), len(column))
        elif pt.is_list(t):
            text = _bracketed("[", _list_offsets(column), _non_null(self._text(column.flatten())), "]")
        elif pt.is_map(t):
            text = self._maps(column)
        else:
            return scalar_text(column, self._iso, self._plain_decimals)
        return ScalarText(pc.if_else(column.is_valid(), text, None) if column.null_count else text, unquoted=False)

    def _maps(self, column: pa.MapArray) -> pa.StringArray:
        offsets = _list_offsets(column)
        keys, values = _as_list(column).flatten().flatten()
        # Arrow's maps, like Spark's, have no null keys.
        entries = pc.binary_join_element_wise('"', escape(keys), '":', _non_null(self._text(values)), "")
        return _bracketed("{", offsets, entries, "}")


def _complete(text: ScalarText) -> pa.StringArray:
    """The text with its quotes."""
    return pc.binary_join_element_wise('"', text.array, '"', "") if text.unquoted else text.array


def _non_null(text: ScalarText) -> pa.StringArray:
    return _complete(text).fill_null("null")


def _objects_without_nulls(names: list[str], texts: list[ScalarText]) -> pa.StringArray:
    pieces = [
        pc.binary_join_element_wise(f",{quote(name)}:", _complete(text), "").fill_null("")
        for name, text in zip(names, texts, strict=True)
    ]
    fields = pc.binary_join_element_wise(*pieces, "")
    return pc.binary_join_element_wise("{", pc.utf8_slice_codeunits(fields, 1), "}", "")


def _as_list(column: pa.MapArray) -> pa.ListArray:
    """The same memory as lists of entries."""
    entries = pa.StructArray.from_arrays([column.keys, column.items], ["key", "value"])
    buffers = column.buffers()[:2]
    return pa.Array.from_buffers(pa.list_(entries.type), len(column), buffers, offset=column.offset, children=[entries])


def _list_offsets(column: pa.Array) -> Offsets:
    """Where each list begins in ``column.flatten()``; a null is an empty list there."""
    ends = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    lengths = np.where(column.is_valid().to_numpy(zero_copy_only=False), np.diff(ends), 0)
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def _bracketed(before: str, offsets: Offsets, elements: pa.StringArray, after: str) -> pa.StringArray:
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), elements)
    return pc.binary_join_element_wise(before, pc.binary_join(lists, ","), after, "")
