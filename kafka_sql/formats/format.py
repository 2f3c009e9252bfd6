"""The contract of a format."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.errors import DecodeError
from kafka_sql.options import Option, Options

ErrorSink: TypeAlias = "list[DecodeError] | None"

ROW_KIND_COLUMN: Final = "\0row-kind"  # where an encoder of changes finds each row's kind; no user's has this name


@dataclass(frozen=True)
class Decoded:
    """What a buffer of payloads became.

    Attributes:
        columns: one Arrow array a field of the schema, all of one length.
        rows: index of the payload that each row came from (int64, ascending; one payload may be several rows), so that
            the reader can repeat its metadata; None where each payload became exactly one row, in order.
        metadata: one array a key of the format's metadata that was asked for, in that order, as long as the columns.
    """

    columns: list[pa.Array]
    payload_indices: pa.Array | None = None
    metadata: list[pa.Array] = field(default_factory=list)

    def without_payloads(self, payloads: Collection[int]) -> Decoded:
        """The same without the rows of some payloads."""
        if not payloads:
            return self
        count = len(self.columns[0]) if self.columns else 0
        rows = pa.array(range(count), pa.int64()) if self.payload_indices is None else self.payload_indices
        kept = pc.invert(pc.is_in(rows, value_set=pa.array(list(payloads), pa.int64())))
        if pc.all(kept).as_py():
            return self
        columns, metadata = ([a.filter(kept) for a in arrays] for arrays in (self.columns, self.metadata))
        return Decoded(columns, rows.filter(kept), metadata)


def report_or_raise(errors: ErrorSink, error: DecodeError) -> None:
    """Tell of a payload in error.

    Raises:
        DecodeError: there is nobody to be told.
    """
    if errors is None:
        raise error
    errors.append(error)


class Decoder(Protocol):
    """Payloads to columns."""

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer; null is a record without a payload.

        Args:
            bad: takes the error of each payload that is not what the schema declares, once and in any order; such a
                payload is no row. Without it the first of them raises.

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
class InferredSchema:
    """What a format knows of a table that declares no columns.

    Attributes:
        columns: names, and types in Flink's words.
        options: of the table, which keep what the columns were made from.
    """

    columns: tuple[tuple[str, str], ...]
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Format:
    """A format by its identifier.

    ``decoder`` and ``encoder`` are given the Arrow schema of the payload's columns and the checked options, and raise
    SchemaError, naming the column, for a type that the format cannot carry. They import what they make when they are
    called: a worker that only plans starts without compiled loops.

    Attributes:
        insert_only: whether every payload is a new row; False for a format of changes (Flink's changelog mode).
        metadata: what a payload tells besides its columns: Flink's key (without ``value.``) and the Arrow type.
        metadata_decoder: makes a decoder that also gives those keys of ``metadata`` that are asked for; used in place
            of ``decoder`` only where a table declares some.
        infer: tells the columns of a table that declares none; None where the format cannot.
    """

    identifier: str
    options: tuple[Option[Any], ...]
    decoder: Callable[[pa.Schema, Options], Decoder]
    encoder: Callable[[pa.Schema, Options], Encoder]
    insert_only: bool = True
    metadata: Mapping[str, pa.DataType] = field(default_factory=dict)
    metadata_decoder: Callable[[pa.Schema, Options, tuple[str, ...]], Decoder] | None = None
    infer_schema: Callable[[Options], InferredSchema] | None = None
