"""Decode payloads in Confluent's wire format, each with the schema that it was written with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from kafka_sql.errors import DecodeError, SchemaNotFoundError
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets
from kafka_sql.formats.columnar.binary_reader import BinaryReader, Bytes, Indices
from kafka_sql.formats.confluent.client import cached_registry
from kafka_sql.formats.confluent.options import RegistryOptions, registry_settings
from kafka_sql.formats.confluent.schemas import SCHEMA_ID, SUBJECT_NAME, RegisteredSchema
from kafka_sql.formats.confluent.wire_format import (
    HEADER_SIZE,
    SchemaIds,
    missing_header_errors,
    schema_ids,
    split_by_header,
)
from kafka_sql.formats.format import ColumnOverflow, Decoded, ErrorSink, report_or_raise
from kafka_sql.options import Options

T = TypeVar("T")

_MAX_BYTES: Final = 2**31 - 1  # as 32-bit offsets can address


class Group(NamedTuple):
    """The payloads that one reader decodes."""

    key: tuple[Any, ...]  # the schema's id, and what else ``find_reader`` takes
    positions: Indices | slice  # which of the payloads these are
    starts: Indices  # where each record begins in the data


class WireFormatDecoder(ABC):
    """Decodes payloads in Confluent's wire format; skips null payloads.

    Attributes:
        registry: has the schemas.
    """

    def __init__(
        self,
        schema: pa.Schema,
        registry_options: RegistryOptions,
        options: Options,
        metadata: tuple[str, ...] = (),
        ignore_errors: bool = False,
    ) -> None:
        """
        Args:
            metadata: which of ``schema-id`` and ``subject`` to provide besides the columns.
            ignore_errors: whether to skip malformed payloads.

        Raises:
            OptionError: the registry's settings are invalid.
        """
        self._schema, self._metadata, self._ignore_errors = schema, metadata, ignore_errors
        self._subject = options.get(registry_options.subject)
        self.registry = cached_registry(registry_settings(registry_options, options))

    @abstractmethod
    def find_reader(self, *key: Any) -> BinaryReader | str:
        """Return the reader of a group, or why its records cannot be read.

        Raises:
            SchemaRegistryError: the registry is unavailable, or rejects the credentials.
        """

    @abstractmethod
    def group(self, data: Bytes, starts: Indices, ends: Indices, ids: SchemaIds) -> Iterable[Group]:
        """Yield the payloads of each reader.

        Args:
            starts, ends: where each payload begins, after the header, and ends in ``data``.
            ids: the payloads' schema ids.
        """

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads.

        Raises:
            DecodeError: a payload is malformed, or its schema is unknown or cannot be read as the columns, and there
                is no ``errors`` and errors are not ignored.
            SchemaRegistryError: the registry is unavailable, or rejects the credentials.
        """
        present = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
        data, offsets = bytes_and_offsets(payloads)
        skip_malformed = self._ignore_errors or errors is not None
        framed, malformed = split_by_header(data, offsets, present, skip_malformed=skip_malformed)
        ids = schema_ids(data, offsets, framed)
        starts, ends = offsets[framed].astype(np.int64) + HEADER_SIZE, offsets[framed + 1].astype(np.int64)

        def read(group: Group) -> tuple[list[pa.Array], Indices]:
            reader, indices = self.find_reader(*group.key), framed[group.positions]
            if not isinstance(reader, str):
                return reader.read(data, group.starts, ends[group.positions], indices, errors)
            for index in [] if self._ignore_errors else indices.tolist():
                report_or_raise(errors, DecodeError(index, None, reader))
            return [pa.array([], field.type) for field in self._schema], indices[:0]

        columns, rows = read_groups(self._schema, self.group(data, starts, ends, ids), read)
        for error in [] if self._ignore_errors else missing_header_errors(data, offsets, malformed):
            report_or_raise(errors, error)
        row_ids = schema_ids(data, offsets, rows) if self._metadata else ids[:0]
        payload_indices = None if len(rows) == len(payloads) else pa.array(rows, pa.int64())
        return Decoded(columns, payload_indices, metadata_columns(self._metadata, row_ids, self._subject))

    def read_schema(self, schema_id: int, use: Callable[[RegisteredSchema], T]) -> T | str:
        """Return what ``use`` makes of a schema, or why the schema cannot be read.

        Args:
            use: raises ValueError if the schema cannot be read; its message continues a sentence such as "the Avro
                schema of id 5 ...".

        Raises:
            SchemaRegistryError: the registry is unavailable, or rejects the credentials.
        """
        try:
            return use(self.registry.schema_by_id(schema_id))
        except SchemaNotFoundError as e:
            return str(e)
        except ValueError as e:
            return f"the {self.registry.schema_type_name} schema of id {schema_id} {e}"


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
