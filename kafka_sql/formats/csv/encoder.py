"""Encode columns as CSV payloads, without a Python object per row."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from kafka_sql.formats.csv import encode_kernels
from kafka_sql.formats.csv.options import SCIENTIFIC, Dialect, check_schema, parse_dialect
from kafka_sql.formats.java.scalar_text import scalar_text, value_offsets_and_bytes
from kafka_sql.formats.java.times import TimestampStandard
from kafka_sql.options import Options

_MAX_CHECKED: Final = 24  # UTF-16 units beyond which Jackson quotes a string without checking it
_BACKSLASH: Final = "\\"


class CsvEncoder:
    """Encodes each row as one line of CSV, without a line end."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        check_schema(schema)
        self._dialect = parse_dialect(options)
        self._plain_decimals = not options.get(SCIENTIFIC)
        self._null = self._dialect.null_literal or ""

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per row; see ``Encoder``."""
        texts = [self._text(column) for column in batch.columns]
        if not texts:
            return pa.repeat(b"", batch.num_rows)
        joined = pc.binary_join_element_wise(
            *texts, self._dialect.separator, null_handling="replace", null_replacement=self._null
        )
        return joined.cast(pa.binary())

    def _text(self, column: pa.Array) -> pa.StringArray:
        arrow_type = column.type
        if pt.is_list(arrow_type):
            text = self._join_elements(column)
        elif pt.is_struct(arrow_type):
            children = [self._scalar(child) for child in column.flatten()]
            text = pc.binary_join_element_wise(
                *children, self._dialect.element_separator, null_handling="replace", null_replacement=self._null
            )
            text = pc.if_else(column.is_valid(), text, None) if column.null_count else text
        else:
            text = self._scalar(column)
            if (
                pt.is_boolean(arrow_type)
                or pt.is_integer(arrow_type)
                or pt.is_floating(arrow_type)
                or pt.is_decimal(arrow_type)
            ):
                return text  # never quoted
        return quote_where_needed(text, self._dialect)

    def _scalar(self, column: pa.Array) -> pa.StringArray:
        arrow_type = column.type
        if pt.is_string(arrow_type) or pt.is_large_string(arrow_type):
            return column.cast(pa.string())
        if pt.is_floating(arrow_type):
            # NaN and the infinities are strings in JSON, but not in CSV
            return pc.replace_substring(scalar_text(column, TimestampStandard.SQL, True).array, '"', "")
        return scalar_text(column, TimestampStandard.SQL, plain_decimals=self._plain_decimals).array

    def _join_elements(self, column: pa.Array) -> pa.StringArray:
        elements = self._scalar(column.flatten()).fill_null(self._null)
        lengths = pc.list_value_length(column).fill_null(0).to_numpy()
        offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        mask = column.is_null() if column.null_count else None
        lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), elements, mask=mask)
        return pc.binary_join(lists, self._dialect.element_separator)


def quote_where_needed(texts: pa.StringArray, dialect: Dialect) -> pa.StringArray:
    """Quote strings where Jackson does (CsvEncoder, its loose check)."""
    if not dialect.quote:
        return texts
    min_safe = max(map(ord, dialect.separator + dialect.quote)) + 1
    if not dialect.is_ascii:
        return pa.array(
            [text if text is None else _quote_text(text, dialect, min_safe) for text in texts.to_pylist()],
            pa.string(),
        )
    offsets, data = value_offsets_and_bytes(texts)
    quote, escape = ord(dialect.quote), ord(dialect.escape) if dialect.escape else -1
    sizes = np.empty(len(texts), np.int32)
    encode_kernels.measure_quoted(
        data, offsets, min_safe, quote, ord(dialect.escape or _BACKSLASH), _MAX_CHECKED, sizes
    )
    if (sizes == np.diff(offsets)).all():
        return texts
    if escape not in (-1, quote):
        encode_kernels.measure_escapes(data, offsets, escape, sizes)
    targets = np.zeros(len(texts) + 1, np.int32)
    np.cumsum(sizes, out=targets[1:])
    output = np.empty(targets[-1], np.uint8)
    encode_kernels.write_quoted(data, offsets, quote, escape, targets, output)
    validity = pa.array(texts.is_valid().to_numpy(zero_copy_only=False)).buffers()[1] if texts.null_count else None
    return pa.Array.from_buffers(pa.string(), len(texts), [validity, pa.py_buffer(targets), pa.py_buffer(output)])


def _quote_text(text: str, dialect: Dialect, min_safe: int) -> str:
    """Quote one text where Jackson does."""
    units = len(text.encode("utf-16-le")) // 2
    if units <= _MAX_CHECKED and not any(ord(c) < min_safe or c == (dialect.escape or _BACKSLASH) for c in text):
        return text
    doubled = text.replace(dialect.quote, dialect.quote * 2)
    if dialect.escape and dialect.escape != dialect.quote:
        doubled = doubled.replace(dialect.escape, dialect.escape * 2)
    return dialect.quote + doubled + dialect.quote
