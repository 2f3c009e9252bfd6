"""The contract of a format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from kafka_sql.options import Option, Options


@dataclass(frozen=True)
class Decoded:
    """What a buffer of payloads became.

    Attributes:
        columns: one Arrow array a field of the schema, all of one length.
        rows: index of the payload that each row came from (int64, ascending; one payload may be several rows), so that
            the reader can repeat its metadata; None where each payload became exactly one row, in order.
    """

    columns: list[pa.Array]
    rows: pa.Array | None = None


class Decoder(Protocol):
    """Payloads to columns.

    ``terminator`` is a byte string that the reader puts after each payload (inside its value in the array), for
    formats whose parser takes one joined buffer; most leave it empty.
    """

    terminator: bytes

    def decode(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode a buffer; null is a record without a payload.

        Raises:
            DecodeError: a payload is not what the schema declares, and the format's options do not say to skip it.
        """
        ...


class Encoder(Protocol):
    """Columns to payloads."""

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """One payload a row; null is a record without a payload.

        Raises:
            EncodeError: a value has no form in the format.
        """
        ...


@dataclass(frozen=True)
class Format:
    """A format by its identifier.

    ``decoder`` and ``encoder`` are given the Arrow schema of the payload's columns and the checked options, and raise
    SchemaError, naming the column, for a type that the format cannot carry.
    """

    identifier: str
    options: tuple[Option[Any], ...]
    decoder: Callable[[pa.Schema, Options], Decoder]
    encoder: Callable[[pa.Schema, Options], Encoder]
