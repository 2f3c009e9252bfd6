"""Decode JSON payloads to columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.formats.columnar.decode_plan import DecodePlan
from kafka_sql.formats.columnar.text_decoder import TextDecoder
from kafka_sql.formats.java.times import TimestampStandard
from kafka_sql.formats.json.fallback import Rules, row_reader
from kafka_sql.formats.json.options import (
    FAIL_ON_MISSING_FIELD,
    IGNORE_PARSE_ERRORS,
    TIMESTAMP_FORMAT,
    check_decoding,
)
from kafka_sql.formats.json.schema import check_schema
from kafka_sql.options import Options

if TYPE_CHECKING:
    from kafka_sql.formats.columnar.text_reader import Offsets, TextReader


class JsonDecoder(TextDecoder):
    """Decodes JSON objects, one per payload; an array of objects becomes one row per object.

    A null or empty payload produces no row. docs/formats/json.md has the rules, which are Flink's.
    """

    def __init__(self, schema: pa.Schema, options: Options, splits_arrays: bool = True) -> None:
        """
        Args:
            splits_arrays: whether an array of objects is a row per object. If not, it is an undecodable payload.

        Raises:
            SchemaError: the json format does not support a column's type.
            ConflictingOptionsError: two options contradict each other.
        """
        check_decoding(options)
        check_schema(schema)
        self._rules = Rules(
            fail_on_missing=options[FAIL_ON_MISSING_FIELD],
            ignore_errors=options[IGNORE_PARSE_ERRORS],
            standard=TimestampStandard(options[TIMESTAMP_FORMAT]),
            splits_arrays=splits_arrays,
            fail_on_missing_key=options.key(FAIL_ON_MISSING_FIELD),
            timestamp_format_key=options.key(TIMESTAMP_FORMAT),
        )
        super().__init__(schema, row_reader(schema, self._rules))

    def _create_reader(self) -> TextReader:
        # Imported here, so that DDL, which only validates, does not load the compiler.
        from kafka_sql.formats.columnar.text_reader import TextReader
        from kafka_sql.formats.json.decode_kernels import decode_rows

        return TextReader(DecodePlan(self._schema), decode_rows)

    def _loop_options(self) -> tuple[Any, ...]:
        from kafka_sql.formats.json.decode_kernels import JsonRules

        standard = self._rules.standard
        return JsonRules(
            date_separator=ord(" " if standard is TimestampStandard.SQL else "T"),
            has_offset=int(standard is TimestampStandard.ISO_WITH_OFFSET),
            fail_on_missing=int(self._rules.fail_on_missing),
        )

    def _find_present(self, payloads: pa.BinaryArray, offsets: Offsets) -> npt.NDArray[np.bool_]:
        present: npt.NDArray[np.bool_] = np.diff(offsets) > 0
        if payloads.null_count:
            present &= payloads.is_valid().to_numpy(zero_copy_only=False)
        return present
