"""Decode payloads of a text format: most with a compiled loop, the others with an exact and slower fallback."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.errors import DecodeError
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets, merge_rows
from kafka_sql.formats.columnar.decode_plan import DecodePlan
from kafka_sql.formats.columnar.fallback import Fallback, Row
from kafka_sql.formats.format import Decoded, ErrorSink, report_or_raise

if TYPE_CHECKING:
    from kafka_sql.formats.columnar.text_reader import Bytes, Indices, Offsets, TextReader


class TextDecoder(ABC):
    """Decodes payloads to rows. The loop and the fallback give the same result for every payload that both can read."""

    def __init__(self, schema: pa.Schema, fallback: Fallback) -> None:
        self._schema, self._fallback = schema, fallback

    @abstractmethod
    def _load_loop(self) -> tuple[Callable[[Any, Any], int], tuple[Any, ...]]:
        """Import the compiled loop; return it with the options that it takes, besides the batch."""

    @abstractmethod
    def _find_present(self, payloads: pa.BinaryArray, offsets: Offsets) -> npt.NDArray[np.bool_]:
        """Return a flag per payload: whether to decode it. The others produce no rows."""

    def _select_supported(self, payloads: pa.BinaryArray, indices: Indices) -> Indices:
        """Return those of the ``indices`` whose payloads the loop may try to decode."""
        return indices

    @cached_property
    def _reader(self) -> TextReader:
        # Imported here, so that DDL, which only validates, does not load the compiler.
        from kafka_sql.formats.columnar.text_reader import TextReader

        return TextReader(DecodePlan(self._schema), *self._load_loop())

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads; see ``Decoder``."""
        data, offsets = bytes_and_offsets(payloads)
        present = np.flatnonzero(self._find_present(payloads, offsets))
        origins, columns = self._decode_with_loop(data, offsets, self._select_supported(payloads, present))
        if len(origins) < len(present):
            undecoded = np.setdiff1d(present, origins, assume_unique=True)
            fallback_rows = self._decode_with_fallback(data, offsets, undecoded, errors)
            origins, columns = merge_rows((origins, columns), fallback_rows)
        one_to_one = len(origins) == len(payloads) and bool((origins == np.arange(len(origins))).all())
        return Decoded(columns, None if one_to_one else pa.array(origins, pa.int64()))

    def _decode_with_loop(self, data: Bytes, offsets: Offsets, indices: Indices) -> tuple[Indices, list[pa.Array]]:
        """Decode the payloads that the loop supports; return their indices, and the columns."""
        if not len(indices):
            return indices, [pa.array([], field.type) for field in self._schema]
        return self._reader.read(data, offsets, indices)

    def _decode_with_fallback(
        self, data: Bytes, offsets: Offsets, indices: Indices, errors: ErrorSink
    ) -> tuple[Indices, list[pa.Array]]:
        """Decode payloads with the fallback; return which payload each row comes from, and the columns."""
        rows: list[Row] = []
        origins: list[int] = []
        for i in indices.tolist():
            try:
                decoded = self._fallback.read_rows(i, data[offsets[i] : offsets[i + 1]].tobytes())
            except DecodeError as e:
                report_or_raise(errors, e)
                continue
            rows += decoded
            origins += [i] * len(decoded)
        arrays = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(self._schema)]
        return np.array(origins, np.int64), arrays
