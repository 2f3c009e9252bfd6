"""Decode payloads with the readers of binary formats, whose compiled loops decode ranges of a buffer to columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets
from kafka_sql.formats.format import Decoded, ErrorSink

Bytes: TypeAlias = npt.NDArray[np.uint8]
Indices: TypeAlias = npt.NDArray[np.int64]

_EXCERPT_SIZE: Final = 24  # bytes of a payload that errors show


class BinaryReader(ABC):
    """Decodes payloads that are messages of one schema; skips null payloads."""

    @abstractmethod
    def read(
        self, data: Bytes, starts: Indices, ends: Indices, indices: Indices, errors: ErrorSink = None
    ) -> tuple[list[pa.Array], Indices]:
        """Decode messages.

        Args:
            starts, ends: where each message begins and ends in ``data``.
            indices: the payload index of each message, ascending.
            errors: collects the errors of malformed messages.

        Returns:
            the columns, and the payload index of each row.

        Raises:
            DecodeError: a message is malformed, and there is no ``errors``.
        """

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads.

        Raises:
            DecodeError: a payload is malformed, errors are not ignored, and there is no ``errors``.
        """
        present = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
        data, offsets = bytes_and_offsets(payloads)
        bounds = offsets.astype(np.int64)
        starts, ends = bounds[:-1], bounds[1:]
        if len(present) < len(payloads):
            starts, ends = starts[present], ends[present]
        columns, rows = self.read(data, starts, ends, present, errors)
        return Decoded(columns, None if len(rows) == len(payloads) else pa.array(rows, pa.int64()))


def hex_excerpt(payload: Bytes) -> str:
    """Return the start of a payload, for an error."""
    return payload[:_EXCERPT_SIZE].tobytes().hex(" ") + (" ..." if len(payload) > _EXCERPT_SIZE else "")
