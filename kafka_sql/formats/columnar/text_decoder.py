"""Decode payloads of a text format: most with a compiled loop, the others with an exact and slower fallback."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.errors import DecodeError
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets, merge_rows
from kafka_sql.formats.format import Decoded, ErrorSink, report_or_raise

if TYPE_CHECKING:
    from kafka_sql.formats.columnar.text_reader import Bytes, Indices, Offsets, TextReader

Row: TypeAlias = Sequence[Any]
RowReader: TypeAlias = Callable[[int, bytes], Sequence[Row]]


class TextDecoder(ABC):
    """Decodes payloads to rows. The loop and the fallback give the same result for every payload that both can read."""

    def __init__(self, schema: pa.Schema, read_rows: RowReader) -> None:
        """
        Args:
            read_rows: the fallback: given a payload's index and bytes, it returns rows, whose values are in the order
                of the schema. It raises DecodeError.
        """
        self._schema, self._read_rows = schema, read_rows

    @abstractmethod
    def _create_reader(self) -> TextReader:
        """Load the compiled loop."""

    @abstractmethod
    def _loop_options(self) -> tuple[Any, ...]:
        """Return the options that the loop takes."""

    @abstractmethod
    def _find_present(self, payloads: pa.BinaryArray, offsets: Offsets) -> npt.NDArray[np.bool_]:
        """Return a flag per payload: whether to decode it. The others produce no rows."""

    def _select_supported(self, payloads: pa.BinaryArray, indices: Indices) -> Indices:
        """Return those of the ``indices`` whose payloads the loop may try to decode."""
        return indices

    @cached_property
    def _reader(self) -> TextReader:
        return self._create_reader()

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads.

        Raises:
            DecodeError: the first undecodable payload, unless errors are ignored or ``errors`` collects them.
        """
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
        return self._reader.read(data, offsets, indices, self._loop_options())

    def _decode_with_fallback(
        self, data: Bytes, offsets: Offsets, indices: Indices, errors: ErrorSink
    ) -> tuple[Indices, list[pa.Array]]:
        """Decode payloads with the fallback; return which payload each row comes from, and the columns."""
        rows: list[Row] = []
        origins: list[int] = []
        for i in indices.tolist():
            try:
                decoded = self._read_rows(i, data[offsets[i] : offsets[i + 1]].tobytes())
            except DecodeError as e:
                report_or_raise(errors, e)
                continue
            rows += decoded
            origins += [i] * len(decoded)
        arrays = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(self._schema)]
        return np.array(origins, np.int64), arrays
