"""Decode messages in Confluent's wire format: the schema's id is followed by the message's indexes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor import FileDescriptor

from kafka_sql.errors import SchemaError
from kafka_sql.formats.columnar.binary_reader import Bytes, Indices
from kafka_sql.formats.confluent.decoder import Group, WireFormatDecoder
from kafka_sql.formats.confluent.schemas import RegisteredSchema
from kafka_sql.formats.confluent.wire_format import SchemaIds, group_by_id
from kafka_sql.formats.protobuf.decoder import ProtobufReader
from kafka_sql.formats.protobuf_confluent.options import IGNORE_PARSE_ERRORS, READ_DEFAULT_VALUES, REGISTRY
from kafka_sql.formats.protobuf_confluent.schema_descriptors import (
    FIRST_MESSAGE,
    MAX_SIZE,
    compile_schema,
    decode_indexes,
    find_message,
)
from kafka_sql.options import Options

_MESSAGES: Final = 8  # of a buffer, other than the first one of a schema, that are found without a loop over payloads

MessageKey: TypeAlias = tuple[int, tuple[int, ...]]  # a schema's id and a message's indexes; () if they are malformed


class ProtobufConfluentDecoder(WireFormatDecoder):
    """Decodes messages, each with the schema that it was written with; skips null payloads."""

    def __init__(self, schema: pa.Schema, options: Options, metadata: tuple[str, ...] = ()) -> None:
        """
        Args:
            metadata: which of ``schema-id`` and ``subject`` to provide besides the columns.

        Raises:
            OptionError: the registry's settings are invalid.
        """
        super().__init__(schema, REGISTRY, options, metadata, options[IGNORE_PARSE_ERRORS])
        self._read_defaults = options[READ_DEFAULT_VALUES]
        self._files: dict[int, FileDescriptor | str] = {}  # by schema id; or why the schema cannot be read
        self._readers: dict[MessageKey, ProtobufReader | str] = {}  # or why the message cannot be read

    def group(self, data: Bytes, starts: Indices, ends: Indices, ids: SchemaIds) -> Iterator[Group]:
        """Yield the payloads of each message."""
        return _group_by_message(data, starts, ends, ids)

    def find_reader(self, schema_id: int, indexes: tuple[int, ...]) -> ProtobufReader | str:
        """Return the reader of a message, or why the message cannot be read.

        Args:
            indexes: the message's indexes; none if they are malformed.
        """
        key = schema_id, indexes
        if key in self._readers:
            return self._readers[key]
        if not indexes:
            return "Unknown data format: expected the indexes of the message after the schema id"
        if schema_id not in self._files:
            self._files[schema_id] = self.read_schema(schema_id, _compile)
        file = self._files[schema_id]
        if isinstance(file, str):
            return file
        try:
            message = find_message(file, indexes)
        except ValueError as e:  # not remembered: there are as many as producers make up
            return f"the Protobuf schema of id {schema_id} {e}"
        try:
            self._readers[key] = ProtobufReader(
                self._schema,
                message,
                read_defaults=self._read_defaults,
                ignore_errors=self._ignore_errors,
                allow_evolution=True,
            )
        except SchemaError as e:
            self._readers[key] = f"the Protobuf schema of id {schema_id} cannot be read as the table's columns: {e}"
        return self._readers[key]


def _compile(registered: RegisteredSchema) -> FileDescriptor:
    return compile_schema(registered.text, registered.references)


def _group_by_message(data: Bytes, starts: Indices, ends: Indices, ids: SchemaIds) -> Iterator[Group]:
    """Yield the payloads of each message.

    Args:
        starts, ends: where each payload begins, after the header, and ends in ``data``.
    """
    is_first = starts < ends
    is_first[is_first] = data[starts[is_first]] == 0  # a single 0: the first message, as in most schemas
    have_first = np.flatnonzero(is_first)
    for schema_id, chosen in group_by_id(ids[have_first]):
        positions = have_first[chosen]
        yield Group((schema_id, FIRST_MESSAGE), positions, starts[positions] + 1)
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
        yield Group((int(ids[first]), indexes), positions, starts[positions] + size)
        remaining = remaining[~same_prefix]
    groups: dict[MessageKey, list[tuple[int, int]]] = {}
    for position in remaining.tolist():
        start = int(starts[position])
        indexes, size = _indexes_at(data, start, int(ends[position]))
        groups.setdefault((int(ids[position]), indexes), []).append((position, start + size))
    for key, members in groups.items():
        group_positions, group_starts = np.array(members, np.int64).T
        yield Group(key, group_positions, group_starts)


def _indexes_at(data: Bytes, start: int, end: int) -> tuple[tuple[int, ...], int]:
    """Return the indexes of a message, none if they are malformed, and how many bytes they take."""
    return decode_indexes(data[start : min(end, start + MAX_SIZE)].tobytes())
