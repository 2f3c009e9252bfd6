"""Define the interfaces that a format implements: Format, Decoder and Encoder."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final, Protocol, TypeAlias

import pyarrow as pa

from kafka_sql.errors import DecodeError
from kafka_sql.options import Option, Options
from kafka_sql.runtime import arrow_compute as pc

ErrorSink: TypeAlias = "list[DecodeError] | None"
ColumnTypes: TypeAlias = tuple[tuple[str, str], ...]  # names and types in Flink's terms

ROW_KIND_COLUMN: Final = "\0row-kind"  # has row kinds for changelog encoders; no declared column can have this name


@dataclass(frozen=True)
class Decoded:
    """The rows of a buffer of payloads, as columns.

    Example: payload 0 has two rows, payload 1 is undecodable or has none, payload 2 has one: ``payload_indices`` is
    ``[0, 0, 2]``, and each column has three values.

    Attributes:
        columns: one Arrow array per field of the schema, all of the same length.
        payload_indices: the payload that each row comes from (int64, ascending), by which the reader repeats the
            record's metadata. None if each payload is exactly one row, in order.
        metadata: one array per requested key of the format's metadata, in that order, as long as the columns.
    """

    columns: list[pa.Array]
    payload_indices: pa.Array | None = None
    metadata: list[pa.Array] = field(default_factory=list)

    def without_payloads(self, payloads: Collection[int]) -> Decoded:
        """Return the same rows except those of the given payloads."""
        if not payloads:
            return self
        count = len(self.columns[0]) if self.columns else 0
        rows = pa.array(range(count), pa.int64()) if self.payload_indices is None else self.payload_indices
        keep = pc.invert(pc.is_in(rows, value_set=pa.array(list(payloads), pa.int64())))
        if pc.all(keep).as_py():
            return self
        columns, metadata = ([a.filter(keep) for a in arrays] for arrays in (self.columns, self.metadata))
        return Decoded(columns, rows.filter(keep), metadata)


class ColumnOverflow(Exception):
    """The values of several payloads take more memory than a column may have: decode fewer payloads at once."""


def report_or_raise(errors: ErrorSink, error: DecodeError) -> None:
    """Add an error to the sink, or raise it if there is no sink.

    Raises:
        DecodeError: there is no sink.
    """
    if errors is None:
        raise error
    errors.append(error)


class Decoder(Protocol):
    """Decodes payloads to columns."""

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads; null is a record without a payload.

        Args:
            errors: collects one error per undecodable payload, in any order; such a payload produces no row. If None,
                the first error is raised.

        Raises:
            DecodeError: a payload does not match the schema, there is no sink, and the format's options do not skip it.
            ColumnOverflow: the payloads must be decoded in parts. The sink may have errors, which will be repeated.
        """
        ...


class Encoder(Protocol):
    """Encodes columns as payloads."""

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per row; null is a record without a payload.

        Raises:
            EncodeError: the format cannot represent a value.
        """
        ...


@dataclass(frozen=True)
class InferredSchema:
    """The columns that a format infers for a table that declares none."""

    columns: ColumnTypes  # names and Flink SQL types
    # options to store with the table, which record what the columns were inferred from
    options: Mapping[str, str] = field(default_factory=dict)


def on_call(reference: str) -> Callable[..., Any]:
    """Return a function that imports ``module:name`` of this package when it is called, and calls it.

    A worker that only plans does not load the decoders and encoders.
    """

    def call(*args: Any) -> Any:
        module, name = reference.split(":")
        return getattr(import_module(f"kafka_sql.formats.{module}"), name)(*args)

    return call


@dataclass(frozen=True)
class Format:
    """A format and what it supports.

    ``decoder`` and ``encoder`` take the Arrow schema of the payload's columns and the validated options, and raise
    SchemaError, with the column, for a type that the format does not support.
    """

    identifier: str
    options: tuple[Option[Any], ...]
    decoder: Callable[..., Decoder]
    encoder: Callable[[pa.Schema, Options], Encoder]
    insert_only: bool = True  # whether every payload is an inserted row; False for a changelog format
    # the metadata keys that the format provides, as Flink names them (without ``value.``), and their types. If a table
    # declares any, ``decoder`` gets them as its last argument.
    metadata: Mapping[str, pa.DataType] = field(default_factory=dict)
    # infers the columns of a table that declares none from a schema; None if the format has no schema
    infer_schema: Callable[[Options], InferredSchema] | None = None
    # infers them from payloads instead; None if the format cannot. The last parameter is the sink of a decoder, for the
    # payloads that are not of the format.
    infer_from_payloads: Callable[[Sequence[bytes], Options, ErrorSink], ColumnTypes] | None = None
    has_field_names: bool = True  # whether payloads contain the names of their fields
    # whether the decoder gets whole records instead of payloads; see ``custom.CustomFormat``
    reads_records: bool = False
