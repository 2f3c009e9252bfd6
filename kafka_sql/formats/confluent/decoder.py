"""Decode payloads in Confluent's wire format, each with the schema that it was written with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from kafka_sql.errors import DecodeError, IncompatibleSchemaError, SchemaNotFoundError
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets
from kafka_sql.formats.confluent.client import SchemaRegistry
from kafka_sql.formats.confluent.registry_schema import SCHEMA_ID, SUBJECT_NAME, RegisteredSchema
from kafka_sql.formats.confluent.wire_format import (
    HEADER_SIZE,
    Bytes,
    Indices,
    Offsets,
    SchemaIds,
    group_by_id,
    missing_header_errors,
    schema_ids,
    split_by_header,
)
from kafka_sql.formats.format import ColumnOverflow, Decoded, ErrorSink, SupportsReadCheck, report_or_raise

T = TypeVar("T")

_MAX_BYTES: Final = 2**31 - 1  # as 32-bit offsets can address


class PayloadReader(Protocol):
    """Decodes payloads of one schema."""

    def read(
        self, data: Bytes, offsets: Offsets, indices: Indices, header_size: int = 0, errors: ErrorSink = None
    ) -> tuple[list[pa.Array], Indices]:
        """Decode the payloads that ``indices`` names.

        Args:
            header_size: bytes to skip at the start of each payload.
            errors: collects the errors of malformed payloads.

        Returns:
            the columns, and which of the payloads were decoded, each to one row.

        Raises:
            DecodeError: a payload is malformed, and there is no ``errors``.
        """
        ...


class WireFormatDecoder(SupportsReadCheck):
    """Decodes payloads in Confluent's wire format; skips null payloads.

    Attributes:
        registry: has the schemas.
    """

    def __init__(
        self,
        schema: pa.Schema,
        registry: SchemaRegistry,
        create_reader: Callable[[RegisteredSchema], PayloadReader],
        subject: str | None,
        metadata: tuple[str, ...] = (),
    ) -> None:
        """
        Args:
            create_reader: creates a reader that decodes payloads of a schema as the columns. Raises ValueError if
                that is impossible; its message continues a sentence such as "the Avro schema of id 5 ...".
            metadata: which of ``schema-id`` and ``subject`` to provide besides the columns.
        """
        self.registry = registry
        self._schema, self._create_reader = schema, create_reader
        self._subject, self._metadata = subject, metadata
        self._readers: dict[int, PayloadReader | str] = {}  # by schema id; or the reason that it cannot be read

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads.

        Raises:
            DecodeError: a payload is malformed, or its schema is unknown or cannot be read as the columns, and there
                is no ``errors``.
            SchemaRegistryError: the registry is unavailable, or rejects the credentials.
        """
        present = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
        data, offsets = bytes_and_offsets(payloads)
        framed, malformed = split_by_header(data, offsets, present, skip_malformed=errors is not None)
        ids = schema_ids(data, offsets, framed)
        columns, decoded = self._read_all(data, offsets, framed, ids, errors)
        for error in missing_header_errors(data, offsets, malformed):
            report_or_raise(errors, error)
        if self._metadata:
            ids = schema_ids(data, offsets, decoded)
        payload_indices = None if len(decoded) == len(payloads) else pa.array(decoded, pa.int64())
        return Decoded(columns, payload_indices, metadata_columns(self._metadata, ids, self._subject))

    def check_readable(self) -> str:
        """Check that the subject's latest schema can be read as the columns; return a sentence that says so.

        Raises:
            IncompatibleSchemaError: the latest schema cannot be read as the columns.
            SchemaRegistryError: the registry is unavailable, or rejects the credentials.
        """
        if self._subject is None:
            return "the table has no single subject; each record names its own schema"
        try:
            latest = self.registry.latest_schema(self._subject)
        except SchemaNotFoundError:
            return f"subject '{self._subject}' has no schema yet"
        description = f"the latest schema of subject '{self._subject}' (id {latest.schema_id})"
        try:
            self._create_reader(latest)
        except ValueError as e:
            raise IncompatibleSchemaError(
                f"{description[0].upper()}{description[1:]} {e}.", subject=self._subject, schema_id=latest.schema_id
            ) from e
        return f"{description} has the table's columns"

    def _read_all(
        self, data: Bytes, offsets: Offsets, indices: Indices, ids: SchemaIds, errors: ErrorSink
    ) -> tuple[list[pa.Array], Indices]:
        """Decode the payloads of each schema; return the columns, and the payload index of each row."""
        if len(ids) and (ids == ids[0]).all():
            return self._read(int(ids[0]), data, offsets, indices, errors)
        return read_groups(
            self._schema,
            group_by_id(ids),
            lambda group: self._read(group[0], data, offsets, indices[group[1]], errors),
        )

    def _read(
        self, schema_id: int, data: Bytes, offsets: Offsets, indices: Indices, errors: ErrorSink
    ) -> tuple[list[pa.Array], Indices]:
        """Decode payloads of one schema."""
        reader = self.find_reader(schema_id)
        if not isinstance(reader, str):
            return reader.read(data, offsets, indices, HEADER_SIZE, errors)
        for index in indices.tolist():
            report_or_raise(errors, DecodeError(index, None, reader))
        return [pa.array([], field.type) for field in self._schema], indices[:0]

    def find_reader(self, schema_id: int) -> PayloadReader | str:
        """Return the reader of a schema, or why the schema cannot be read.

        Raises:
            SchemaRegistryError: the registry is unavailable, or rejects the credentials.
        """
        if schema_id not in self._readers:
            try:
                self._readers[schema_id] = self._create_reader(self.registry.schema_by_id(schema_id))
            except SchemaNotFoundError as e:
                self._readers[schema_id] = str(e)
            except ValueError as e:
                self._readers[schema_id] = f"the {self.registry.schema_type_name} schema of id {schema_id} {e}"
        return self._readers[schema_id]


def read_groups(
    schema: pa.Schema, groups: Iterable[T], read: Callable[[T], tuple[list[pa.Array], Indices]]
) -> tuple[list[pa.Array], Indices]:
    """Decode groups of payloads; return the columns, and the payload index of each row, in the order of the payloads.

    Args:
        read: decodes a group to columns and payload indices.

    Raises:
        DecodeError: ``read`` raised it; the first one in the order of the payloads.
        ColumnOverflow: the values of all groups do not fit a column.
    """
    parts: list[list[pa.Array]] = []
    decoded, failures = [np.empty(0, np.int64)], []
    for group in groups:
        try:
            columns, rows = read(group)
        except DecodeError as e:
            failures.append(e)
        else:
            parts.append(columns)
            decoded.append(rows)
    if failures:
        raise min(failures, key=lambda e: e.row)
    return _concat_in_order(schema, parts, np.concatenate(decoded))


def _concat_in_order(
    schema: pa.Schema, parts: list[list[pa.Array]], indices: Indices
) -> tuple[list[pa.Array], Indices]:
    """Concatenate the columns of several parts, and sort the rows by payload.

    Args:
        indices: the payload index of each row of all parts.
    """
    if len(parts) == 1:
        return parts[0], indices
    if any(sum(array.nbytes for array in arrays) > _MAX_BYTES for arrays in zip(*parts, strict=True)):
        raise ColumnOverflow
    empty = [pa.array([], field.type) for field in schema]
    columns = [pa.concat_arrays(arrays) for arrays in zip(empty, *parts, strict=True)]
    order = np.argsort(indices, kind="stable")
    return [column.take(pa.array(order)) for column in columns], indices[order]


def metadata_columns(keys: tuple[str, ...], ids: SchemaIds, subject: str | None) -> list[pa.Array]:
    """Return the metadata of records with these schema ids.

    Args:
        keys: ``schema-id`` and ``subject``, in the order to return.
    """
    columns = {
        SCHEMA_ID: lambda: pa.array(ids.astype(np.int32), pa.int32()),
        SUBJECT_NAME: lambda: pa.repeat(pa.scalar(subject, pa.string()), len(ids)),
    }
    return [columns[key]() for key in keys]
