"""Payloads of JSON to columns: two ways, one result.

A compiled loop reads what it certainly reads as Flink does, and leaves every other payload to the exact way.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kafka_sql.errors import DecodeError
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets, merge_rows
from kafka_sql.formats.columnar.decode_plan import DecodePlan
from kafka_sql.formats.format import Decoded, ErrorSink, report_or_raise
from kafka_sql.formats.json.fallback import Row, Rules, row_reader
from kafka_sql.formats.json.options import (
    FAIL_ON_MISSING_FIELD,
    IGNORE_PARSE_ERRORS,
    ISO_8601,
    TIMESTAMP_FORMAT,
    check_decoding,
)
from kafka_sql.formats.json.schema import check_schema
from kafka_sql.options import Options

if TYPE_CHECKING:
    from kafka_sql.formats.columnar.text_reader import Bytes, Indices, Offsets, TextReader


class JsonDecoder:
    """Decodes UTF-8 JSON objects, one a payload; an array of objects is as many rows.

    A null or empty payload is no row. Flink's words for all of this: docs/formats/json.md.
    """

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            SchemaError: a column has no form in JSON.
            ConflictingOptionsError: two options contradict each other.
        """
        check_decoding(options)
        check_schema(schema)
        self._schema = schema
        self._rules = Rules(
            fail_on_missing=options[FAIL_ON_MISSING_FIELD],
            ignore_errors=options[IGNORE_PARSE_ERRORS],
            iso=options[TIMESTAMP_FORMAT] == ISO_8601,
        )
        self._read_row = row_reader(schema, self._rules)

    @cached_property
    def _reader(self) -> TextReader:
        from kafka_sql.formats.columnar.text_reader import (
            TextReader,  # here: a DDL, which only checks, loads no compiler
        )
        from kafka_sql.formats.json.decode_kernels import run

        p = DecodePlan(self._schema)
        own = p.slot_table, p.name_table, p.name_bytes, p.max_depth, self._rules.iso, self._rules.fail_on_missing
        return TextReader(p, run, *own)

    def decode(self, payloads: pa.BinaryArray, bad: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads.

        Raises:
            DecodeError: the first payload in error, unless errors are ignored or ``bad`` takes them.
        """
        data, offsets = bytes_and_offsets(payloads)
        full = np.diff(offsets) > 0
        if payloads.null_count:
            full &= payloads.is_valid().to_numpy(zero_copy_only=False)
        kept = np.flatnonzero(full)
        rows, columns = self._fast(data, offsets, kept)
        if len(rows) < len(kept):
            odd = np.setdiff1d(kept, rows, assume_unique=True)
            rows, columns = merge_rows((rows, columns), self._exact(data, offsets, odd, bad))
        whole = len(rows) == len(payloads) and bool((rows == np.arange(len(rows))).all())
        return Decoded(columns, None if whole else pa.array(rows, pa.int64()))

    def _fast(self, data: Bytes, offsets: Offsets, kept: Indices) -> tuple[Indices, list[pa.Array]]:
        """Those of the payloads that are plain, and their columns."""
        return self._reader.read(data, offsets, kept)

    def _exact(self, data: Bytes, offsets: Offsets, odd: Indices, bad: ErrorSink) -> tuple[Indices, list[pa.Array]]:
        """The same by the exact way, for these payloads; one may be several rows, or none."""
        rows: list[Row] = []
        origins: list[int] = []
        for i in odd.tolist():
            try:
                made = self._read_row(i, data[offsets[i] : offsets[i + 1]].tobytes())
            except DecodeError as e:
                report_or_raise(bad, e)
                continue
            rows += made
            origins += [i] * len(made)
        arrays = [pa.array([row[field.name] for row in rows], field.type) for field in self._schema]
        return np.array(origins, np.int64), arrays
