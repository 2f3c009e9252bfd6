"""Decode messages in Confluent's wire format: the schema's id is followed by the message's indexes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FileDescriptor

from kafka_sql.errors import DecodeError, SchemaError, SchemaNotFoundError
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets
from kafka_sql.formats.confluent.client import cached_registry
from kafka_sql.formats.confluent.decoder import metadata_columns, read_groups
from kafka_sql.formats.confluent.options import registry_settings
from kafka_sql.formats.confluent.wire_format import (
    HEADER_SIZE,
    Bytes,
    Indices,
    SchemaIds,
    group_by_id,
    missing_header_errors,
    schema_ids,
    split_by_header,
)
from kafka_sql.formats.format import Decoded, ErrorSink, report_or_raise
from kafka_sql.formats.protobuf.decoder import ProtobufReader
from kafka_sql.formats.protobuf_confluent.message_indexes import FIRST_MESSAGE, MAX_SIZE, decode_indexes, find_message
from kafka_sql.formats.protobuf_confluent.options import IGNORE_PARSE_ERRORS, READ_DEFAULT_VALUES, REGISTRY
from kafka_sql.formats.protobuf_confluent.schema_descriptors import compile_schema
from kafka_sql.options import Options

_MESSAGES: Final = 8  # of a buffer, other than the first one of a schema, that are found without a loop over payloads

MessageKey: TypeAlias = tuple[int, tuple[int, ...]]  # a schema's id and a message's indexes; () if they are malformed


class _Group(NamedTuple):
    """The payloads of one message.

    Attributes:
        key: the message.
        positions: which of the payloads have it.
        starts: where each message begins in the data, after the indexes.
    """

    key: MessageKey
    positions: Indices
    starts: Indices


class ProtobufConfluentDecoder:
    """Decodes messages, each with the schema that it was written with; skips null payloads."""

    def __init__(self, schema: pa.Schema, options: Options, metadata: tuple[str, ...] = ()) -> None:
        """
        Args:
            metadata: which of ``schema-id`` and ``subject`` to provide besides the columns.

        Raises:
            OptionError: the registry's settings are invalid.
        """
        self._schema, self._metadata = schema, metadata
        self._ignore_errors, self._read_defaults = options[IGNORE_PARSE_ERRORS], options[READ_DEFAULT_VALUES]
        self._registry = cached_registry(registry_settings(REGISTRY, options))
        self._subject = options.get(REGISTRY.subject)
        self._files: dict[int, FileDescriptor | str] = {}  # by schema id; or why the schema cannot be read
        self._readers: dict[MessageKey, ProtobufReader | str] = {}  # or why the message cannot be read

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads.

        Raises:
            DecodeError: a payload is malformed, errors are not ignored, and there is no ``errors``.
            SchemaRegistryError: the registry is unavailable, or rejects the credentials.
        """
        present = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
        data, offsets = bytes_and_offsets(payloads)
        skip_malformed = self._ignore_errors or errors is not None
        framed, malformed = split_by_header(data, offsets, present, skip_malformed=skip_malformed)
        ids = schema_ids(data, offsets, framed)
        starts, ends = offsets[framed].astype(np.int64) + HEADER_SIZE, offsets[framed + 1].astype(np.int64)

        def read(group: _Group) -> tuple[list[pa.Array], Indices]:
            return self._read(group, data, ends[group.positions], framed[group.positions], errors)

        columns, rows = read_groups(self._schema, _group_by_message(data, starts, ends, ids), read)
        for error in [] if self._ignore_errors else missing_header_errors(data, offsets, malformed):
            report_or_raise(errors, error)
        row_ids = schema_ids(data, offsets, rows) if self._metadata else np.empty(0, np.uint32)
        payload_indices = None if len(rows) == len(payloads) else pa.array(rows, pa.int64())
        return Decoded(columns, payload_indices, metadata_columns(self._metadata, row_ids, self._subject))

    def _read(
        self, group: _Group, data: Bytes, ends: Indices, indices: Indices, errors: ErrorSink
    ) -> tuple[list[pa.Array], Indices]:
        """Decode the payloads of one message."""
        reader = self.find_reader(*group.key)
        if not isinstance(reader, str):
            return reader.read(data, group.starts, ends, indices, errors)
        for index in [] if self._ignore_errors else indices.tolist():
            report_or_raise(errors, DecodeError(index, None, reader))
        return [pa.array([], field.type) for field in self._schema], indices[:0]

    def find_reader(self, schema_id: int, indexes: tuple[int, ...]) -> ProtobufReader | str:
        """Return the reader of a message, or why the message cannot be read.

        Args:
            indexes: the message's indexes; none if they are malformed.

        Raises:
            SchemaRegistryError: the registry is unavailable, or rejects the credentials.
        """
        key = schema_id, indexes
        if key in self._readers:
            return self._readers[key]
        if not indexes:
            return "Unknown data format: expected the indexes of the message after the schema id"
        file = self._find_file(schema_id)
        if isinstance(file, str):
            return file
        try:
            message = find_message(file, indexes)
        except ValueError as e:  # not remembered: there are as many as producers make up
            return f"the Protobuf schema of id {schema_id} {e}"
        try:
            self._readers[key] = self._create_reader(message)
        except SchemaError as e:
            self._readers[key] = f"the Protobuf schema of id {schema_id} cannot be read as the table's columns: {e}"
        return self._readers[key]

    def _find_file(self, schema_id: int) -> FileDescriptor | str:
        """Return a schema, or why it cannot be read."""
        if schema_id not in self._files:
            try:
                registered = self._registry.schema_by_id(schema_id)
                self._files[schema_id] = compile_schema(registered.text, registered.references)
            except SchemaNotFoundError as e:
                self._files[schema_id] = str(e)
            except ValueError as e:
                self._files[schema_id] = f"the Protobuf schema of id {schema_id} {e}"
        return self._files[schema_id]

    def _create_reader(self, message: Descriptor) -> ProtobufReader:
        return ProtobufReader(
            self._schema,
            message,
            read_defaults=self._read_defaults,
            ignore_errors=self._ignore_errors,
            allow_evolution=True,
        )


def _group_by_message(data: Bytes, starts: Indices, ends: Indices, ids: SchemaIds) -> Iterator[_Group]:
    """Yield the payloads of each message.

    Args:
        starts, ends: where each payload begins, after the header, and ends in ``data``.
    """
    is_first = starts < ends
    is_first[is_first] = data[starts[is_first]] == 0  # a single 0: the first message, as in most schemas
    have_first = np.flatnonzero(is_first)
    for schema_id, chosen in group_by_id(ids[have_first]):
        positions = have_first[chosen]
        yield _Group((schema_id, FIRST_MESSAGE), positions, starts[positions] + 1)
    remaining = np.flatnonzero(~is_first)
    for _ in range(_MESSAGES):  # most topics have few
        if not len(remaining):
            return
        first = int(remaining[0])
        indexes, size = _indexes_at(data, int(starts[first]), int(ends[first]))
        if not indexes:
            break
        same_prefix = (ids[remaining] == ids[first]) & (ends[remaining] - starts[remaining] >= size)
        for offset in range(size):
            same_prefix[same_prefix] = data[starts[remaining[same_prefix]] + offset] == data[starts[first] + offset]
        positions = remaining[same_prefix]
        yield _Group((int(ids[first]), indexes), positions, starts[positions] + size)
        remaining = remaining[~same_prefix]
    groups: dict[MessageKey, list[tuple[int, int]]] = {}
    for position in remaining.tolist():
        start = int(starts[position])
        indexes, size = _indexes_at(data, start, int(ends[position]))
        groups.setdefault((int(ids[position]), indexes), []).append((position, start + size))
    for key, members in groups.items():
        group_positions, group_starts = np.array(members, np.int64).T
        yield _Group(key, group_positions, group_starts)


def _indexes_at(data: Bytes, start: int, end: int) -> tuple[tuple[int, ...], int]:
    """Return the indexes of a message, none if they are malformed, and how many bytes they take."""
    return decode_indexes(data[start : min(end, start + MAX_SIZE)].tobytes())
