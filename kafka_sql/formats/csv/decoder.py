"""Decode CSV payloads to columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.formats.columnar.arrow_buffers import find_uncastable
from kafka_sql.formats.columnar.text_decoder import TextDecoder
from kafka_sql.formats.csv.fallback import CsvFallback
from kafka_sql.formats.csv.options import check_schema, parse_dialect
from kafka_sql.options import Options

if TYPE_CHECKING:
    from kafka_sql.formats.columnar.text_reader import Indices, Offsets


class CsvDecoder(TextDecoder):
    """Decodes one line of CSV per payload; skips null payloads. docs/formats/csv.md has the rules."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        check_schema(schema)
        self._dialect = parse_dialect(options)
        null_literal = self._dialect.null_literal or ""
        self._null_literal = np.frombuffer(null_literal.encode("utf-8", "surrogatepass"), np.uint8)
        is_nested = any(arrow_type.num_fields for arrow_type in schema.types)
        elements_are_supported = not is_nested or self._dialect.element_separator.isascii()
        self._loop_supports_dialect = self._dialect.is_ascii and elements_are_supported
        super().__init__(schema, CsvFallback(schema, self._dialect))

    def _load_loop(self) -> tuple[Callable[[Any, Any], int], tuple[Any, ...]]:
        from kafka_sql.formats.csv.decode_kernels import FLAGS, CsvRules, decode_rows

        dialect = self._dialect
        rules = CsvRules(
            separator=ord(dialect.separator),
            quote=ord(dialect.quote) if dialect.quote else -1,
            escape=ord(dialect.escape) if dialect.escape else -1,
            element_separator=ord(dialect.element_separator),
            null_literal=self._null_literal.ctypes.data,
            null_size=len(self._null_literal) if dialect.null_literal is not None else -1,
            **{name: int(getattr(dialect, name)) for name in FLAGS},
        )
        return decode_rows, rules

    def _find_present(self, payloads: pa.BinaryArray, offsets: Offsets) -> npt.NDArray[np.bool_]:
        present: npt.NDArray[np.bool_] = payloads.is_valid().to_numpy(zero_copy_only=False)
        return present

    def _select_supported(self, payloads: pa.BinaryArray, indices: Indices) -> Indices:
        if not self._loop_supports_dialect:
            return indices[:0]
        malformed = find_uncastable(payloads, pa.string())  # not UTF-8
        return np.setdiff1d(indices, malformed, assume_unique=True) if malformed else indices
