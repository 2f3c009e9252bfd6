"""Payloads of CSV to columns: two ways, one result.

A compiled loop reads what it certainly reads as Flink does, and leaves every other payload to the exact way.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kafka_sql.errors import DecodeError
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets, merge_rows
from kafka_sql.formats.columnar.decode_plan import DecodePlan
from kafka_sql.formats.columnar.text_reader import Bytes, Indices, Offsets, TextReader
from kafka_sql.formats.csv.decode_kernels import run
from kafka_sql.formats.csv.fallback import row_reader
from kafka_sql.formats.csv.options import Dialect, dialect
from kafka_sql.formats.csv.schema import check_schema
from kafka_sql.formats.format import Decoded, ErrorSink, report_or_raise
from kafka_sql.options import Options


class CsvDecoder:
    """Decodes one line of CSV a payload; a null payload is no row. All rules: docs/formats/csv.md."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            SchemaError: a column has no form in CSV.
            ConflictingOptionsError: two options contradict each other.
        """
        check_schema(schema)
        self._schema, self._dialect = schema, dialect(options)
        self._read_row = row_reader(schema, self._dialect)
        self._reader = _reader(schema, self._dialect)
        nested = any(t.num_fields for t in schema.types)
        self._plain = self._dialect.ascii and (not nested or self._dialect.element_separator.isascii())

    def decode(self, payloads: pa.BinaryArray, bad: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads.

        Raises:
            DecodeError: the first payload in error, unless errors are ignored or ``bad`` takes them.
        """
        kept = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
        data, offsets = bytes_and_offsets(payloads)
        rows, columns = self._fast(payloads, data, offsets, kept)
        if len(rows) < len(kept):
            odd = np.setdiff1d(kept, rows, assume_unique=True)
            rows, columns = merge_rows((rows, columns), self._exact(data, offsets, odd, bad))
        return Decoded(columns, None if len(rows) == len(payloads) else pa.array(rows, pa.int64()))

    def _fast(
        self, payloads: pa.BinaryArray, data: Bytes, offsets: Offsets, kept: Indices
    ) -> tuple[Indices, list[pa.Array]]:
        """Those of the payloads that are plain, and their columns."""
        if not self._plain:
            return kept[:0], [pa.array([], field.type) for field in self._schema]
        strange = _not_utf8(payloads)
        return self._reader.read(data, offsets, np.setdiff1d(kept, strange, assume_unique=True) if strange else kept)

    def _exact(self, data: Bytes, offsets: Offsets, odd: Indices, bad: ErrorSink) -> tuple[Indices, list[pa.Array]]:
        """The same by the exact way, for these payloads."""
        rows, origins = [], []
        for i in odd.tolist():
            try:
                row = self._read_row(i, data[offsets[i] : offsets[i + 1]].tobytes())
            except DecodeError as e:
                report_or_raise(bad, e)
                continue
            if row is not None:
                rows.append(row)
                origins.append(i)
        arrays = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(self._schema)]
        return np.array(origins, np.int64), arrays


def _reader(schema: pa.Schema, dialect: Dialect) -> TextReader:
    p = DecodePlan(schema)
    marks = (
        ord(dialect.separator),
        ord(dialect.quote) if dialect.quote else -1,
        ord(dialect.escape) if dialect.escape else -1,
        ord(dialect.element_separator),
    )
    literal = np.frombuffer((dialect.null or "").encode("utf-8", "surrogatepass"), np.uint8)
    kept = dialect.trim, dialect.comments, dialect.trailing
    nulls = literal, dialect.null is not None, dialect.empty_null
    return TextReader(p, run, p.slot_table, p.name_table, marks, *kept, *nulls, dialect.ignore_errors)


def _not_utf8(payloads: pa.BinaryArray, first: int = 0) -> list[int]:
    """Which payloads are no UTF-8, counted from ``first``; halved until one is alone."""
    try:
        payloads.cast(pa.string())
    except pa.ArrowInvalid:
        if len(payloads) == 1:
            return [first]
        middle = len(payloads) // 2
        return _not_utf8(payloads[:middle], first) + _not_utf8(payloads[middle:], first + middle)
    return []
