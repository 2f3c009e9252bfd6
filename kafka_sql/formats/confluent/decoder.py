"""Payloads with a schema's id before them to columns: each by the schema that it was written with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.errors import DecodeError, IncompatibleSchemaError, SchemaNotFoundError
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets
from kafka_sql.formats.confluent.client import SchemaRegistry
from kafka_sql.formats.confluent.registry_schema import SCHEMA_ID, SUBJECT_NAME, RegisteredSchema
from kafka_sql.formats.confluent.wire_format import (
    HEADER_SIZE,
    concat_in_order,
    missing_header_errors,
    schema_ids,
    split_by_header,
)
from kafka_sql.formats.format import Decoded, ErrorSink, report_or_raise


class PayloadReader(Protocol):
    """Reads the payloads of one schema."""

    def read(
        self,
        data: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int32],
        rows: npt.NDArray[np.int64],
        header: int = 0,
        bad: ErrorSink = None,
    ) -> tuple[list[pa.Array], npt.NDArray[np.int64]]:
        """The columns of those payloads that ``rows`` names, which begin with ``header`` bytes, and which are rows.

        Args:
            bad: takes the errors of the others.

        Raises:
            DecodeError: the first payload in error, where nobody takes them.
        """
        ...


class WireFormatDecoder:
    """Decodes Confluent's wire format; a null payload is no row."""

    def __init__(
        self,
        schema: pa.Schema,
        registry: SchemaRegistry,
        reader: Callable[[RegisteredSchema], PayloadReader],
        subject: str | None,
        metadata: tuple[str, ...] = (),
    ) -> None:
        """
        Args:
            reader: makes what reads payloads of a schema as the columns; raises ValueError, saying how the schema
                ("the Avro schema of id 5 ...") cannot be.
            metadata: ``schema-id``, ``subject``: what to give besides the columns.
        """
        self._schema, self._registry, self._make = schema, registry, reader
        self._subject, self._metadata = subject, metadata
        self._readers: dict[int, PayloadReader] = {}
        self._unreadable: dict[int, str] = {}  # ids and why

    def decode(self, payloads: pa.BinaryArray, bad: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads.

        Raises:
            DecodeError: the first payload in error, unless ``bad`` takes them; one whose schema is unknown or cannot
                be read as the columns is.
            SchemaRegistryError: the registry does not answer, for which no record is to blame.
        """
        kept = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
        data, offsets = bytes_and_offsets(payloads)
        kept, headless = split_by_header(data, offsets, kept, skips=bad is not None)
        found = schema_ids(data, offsets, kept)
        columns, rows = self._by_schema(data, offsets, kept, found, bad)
        for error in missing_header_errors(data, offsets, headless):
            report_or_raise(bad, error)
        numbers = schema_ids(data, offsets, rows) if self._metadata else found
        aligned = None if len(rows) == len(payloads) else pa.array(rows, pa.int64())
        return Decoded(columns, aligned, metadata_columns(self._metadata, numbers, self._subject))

    def check_readable(self) -> str:
        """Whether the subject's latest schema can be read as the columns, in words.

        Raises:
            IncompatibleSchemaError: it cannot.
            SchemaRegistryError: the registry does not answer, or refuses the credentials.
        """
        if self._subject is None:
            return "the table has not one subject; each record names its own schema"
        try:
            latest = self._registry.latest_schema(self._subject)
        except SchemaNotFoundError:
            return f"subject '{self._subject}' has no schema yet"
        try:
            self._make(latest)
        except ValueError as e:
            raise IncompatibleSchemaError(
                f"The latest schema of subject '{self._subject}', of id {latest.schema_id}, {e}.", subject=self._subject
            ) from e
        return f"the latest schema of subject '{self._subject}', of id {latest.schema_id}, has the table's columns"

    def _by_schema(
        self,
        data: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int32],
        kept: npt.NDArray[np.int64],
        found: npt.NDArray[np.uint32],
        bad: ErrorSink,
    ) -> tuple[list[pa.Array], npt.NDArray[np.int64]]:
        """The columns and the payloads that they are of: each schema's at a time."""
        if len(found) and (found == found[0]).all():
            return self._read(int(found[0]), data, offsets, kept, bad)
        parts: list[list[pa.Array]] = []
        places, errors = [np.empty(0, np.int64)], []
        for number in np.unique(found).tolist():
            try:
                columns, rows = self._read(number, data, offsets, kept[found == number], bad)
            except DecodeError as e:
                errors.append(e)
            else:
                parts.append(columns)
                places.append(rows)
        if errors:
            raise min(errors, key=lambda e: e.row)
        rows = np.concatenate(places)
        order = np.argsort(rows, kind="stable")
        empty = [pa.array([], field.type) for field in self._schema]
        return [concat_in_order(list(column), order) for column in zip(empty, *parts, strict=True)], rows[order]

    def _read(
        self,
        number: int,
        data: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int32],
        rows: npt.NDArray[np.int64],
        bad: ErrorSink,
    ) -> tuple[list[pa.Array], npt.NDArray[np.int64]]:
        """The same of the payloads of one schema."""
        reader = self._reader(number)
        if reader is not None:
            return reader.read(data, offsets, rows, HEADER_SIZE, bad)
        for row in rows.tolist():
            report_or_raise(bad, DecodeError(row, None, self._unreadable[number]))
        return [pa.array([], field.type) for field in self._schema], rows[:0]

    def _reader(self, number: int) -> PayloadReader | None:
        """What reads payloads of a schema; None where nothing does."""
        if number not in self._readers and number not in self._unreadable:
            try:
                self._readers[number] = self._make(self._registry.schema_by_id(number))
            except SchemaNotFoundError as e:
                self._unreadable[number] = str(e)
            except ValueError as e:
                self._unreadable[number] = f"the {self._registry.kind} schema of id {number} {e}"
        return self._readers.get(number)


def metadata_columns(keys: tuple[str, ...], found: npt.NDArray[np.uint32], subject: str | None) -> list[pa.Array]:
    """What records with these schema ids tell besides their columns."""
    made = {
        SCHEMA_ID: lambda: pa.array(found.astype(np.int32), pa.int32()),
        SUBJECT_NAME: lambda: pa.repeat(pa.scalar(subject, pa.string()), len(found)),
    }
    return [made[key]() for key in keys]
