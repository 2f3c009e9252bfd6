"""Decode JSON payloads to columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.formats.columnar.text_decoder import TextDecoder
from kafka_sql.formats.java.times import TimestampStandard
from kafka_sql.formats.json.fallback import JsonFallback
from kafka_sql.formats.json.options import (
    FAIL_ON_MISSING_FIELD,
    TIMESTAMP_FORMAT,
    check_decoding,
    check_schema,
)
from kafka_sql.options import Options

if TYPE_CHECKING:
    from kafka_sql.formats.columnar.text_reader import Offsets


class JsonDecoder(TextDecoder):
    """Decodes JSON objects, one per payload; an array of objects becomes one row per object.

    A null or empty payload produces no row. docs/formats/json.md has the rules, which are Flink's. Without
    ``splits_arrays``, an array is an undecodable payload.
    """

    def __init__(self, schema: pa.Schema, options: Options, splits_arrays: bool = True) -> None:
        check_decoding(options)
        check_schema(schema)
        self._options = options
        super().__init__(schema, JsonFallback(schema, options, splits_arrays))

    def _load_loop(self) -> tuple[Callable[[Any, Any], int], tuple[Any, ...]]:
        from kafka_sql.formats.json.decode_kernels import JsonRules, decode_rows

        standard = self._options[TIMESTAMP_FORMAT]
        rules = JsonRules(
            date_separator=ord(" " if standard == TimestampStandard.SQL.value else "T"),
            has_offset=int(standard == TimestampStandard.ISO_WITH_OFFSET.value),
            fail_on_missing=int(self._options[FAIL_ON_MISSING_FIELD]),
        )
        return decode_rows, rules

    def _find_present(self, payloads: pa.BinaryArray, offsets: Offsets) -> npt.NDArray[np.bool_]:
        present: npt.NDArray[np.bool_] = np.diff(offsets) > 0
        if payloads.null_count:
            present &= payloads.is_valid().to_numpy(zero_copy_only=False)
        return present
