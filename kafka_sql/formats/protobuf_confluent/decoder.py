"""Messages in Confluent's wire format: after the schema's id stand the message's places in its file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.errors import DecodeError, SchemaError, SchemaNotFoundError
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets
from kafka_sql.formats.confluent.client import cached_registry
from kafka_sql.formats.confluent.decoder import metadata_columns as metadata_of
from kafka_sql.formats.confluent.options import registry_settings
from kafka_sql.formats.confluent.wire_format import HEADER_SIZE, missing_header_errors, schema_ids, split_by_header
from kafka_sql.formats.format import Decoded, ErrorSink, report_or_raise
from kafka_sql.formats.protobuf.decoder import ProtobufReader
from kafka_sql.formats.protobuf.encoder import ProtobufWriter
from kafka_sql.formats.protobuf_confluent.options import DEFAULTS, IGNORE, LITERAL, REGISTRY
from kafka_sql.formats.protobuf_confluent.protoc import compile_schema, find_message_by_indexes, message_indexes
from kafka_sql.options import Options

Indices: TypeAlias = npt.NDArray[np.int64]
Key: TypeAlias = tuple[int, tuple[int, ...]]  # a schema's id, and a message's places in it

_FIRST: Final = (0,)
_LONGEST: Final = 64  # bytes of places: messages within messages are some dozen deep at most


class ProtobufConfluentDecoder:
    """Decodes framed messages, each by the schema that it was written with; a null payload is no row."""

    def __init__(self, schema: pa.Schema, options: Options, metadata: tuple[str, ...] = ()) -> None:
        """
        Args:
            metadata: ``schema-id``, ``subject``: what to give besides the columns.

        Raises:
            OptionError: the registry's settings are in error.
        """
        self._schema, self._metadata = schema, metadata
        self._ignore, self._defaults = options[IGNORE], options[DEFAULTS]
        self._registry, self._subject = (
            cached_registry(registry_settings(REGISTRY, options)),
            options.get(REGISTRY.subject),
        )
        self._readers: dict[Key, ProtobufReader | str] = {}  # or why there is none

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads.

        Raises:
            DecodeError: the first payload in error, unless errors are ignored or ``bad`` takes them.
            SchemaRegistryError: the registry does not answer, for which no record is to blame.
        """
        kept = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
        data, offsets = bytes_and_offsets(payloads)
        kept, headless = split_by_header(data, offsets, kept, skips=self._ignore or errors is not None)
        found = schema_ids(data, offsets, kept)
        starts, ends = offsets[kept].astype(np.int64) + HEADER_SIZE, offsets[kept + 1].astype(np.int64)
        parts: list[list[pa.Array]] = []
        origins, errors = [np.empty(0, np.int64)], []
        for key, mine, begin in self._groups(data, starts, ends, found):
            try:
                columns, rows = self._read(key, data, begin, ends[mine], kept[mine], errors)
            except DecodeError as e:
                errors.append(e)
            else:
                parts.append(columns)
                origins.append(rows)
        if errors:
            raise min(errors, key=lambda e: e.row)
        for error in [] if self._ignore else missing_header_errors(data, offsets, headless):
            report_or_raise(errors, error)
        rows = np.concatenate(origins)
        columns = _joined(self._schema, parts)
        if len(parts) > 1:
            order = np.argsort(rows, kind="stable")
            rows, columns = rows[order], [column.take(pa.array(order)) for column in columns]
        aligned = len(rows) == len(payloads)
        numbers = schema_ids(data, offsets, rows) if self._metadata else np.empty(0, np.uint32)
        told = metadata_of(self._metadata, numbers, self._subject)
        return Decoded(columns, None if aligned else pa.array(rows, pa.int64()), told)

    def _groups(
        self, data: npt.NDArray[np.uint8], starts: Indices, ends: Indices, found: npt.NDArray[np.uint32]
    ) -> Iterator[tuple[Key, Indices, Indices]]:
        """The payloads of each message: which they are, and where the messages begin."""
        first = starts < ends
        first[first] = data[starts[first]] == 0  # short for the first message, as most are
        for number in np.unique(found[first]).tolist():
            mine = np.flatnonzero(first & (found == number))
            yield (number, _FIRST), mine, starts[mine] + 1
        formless: dict[int, list[int]] = {}
        others = np.flatnonzero(~first)
        while len(others):  # once for all that begin alike, however many they are
            k = int(others[0])
            indexes, size = _indexes(data[starts[k] : min(ends[k], starts[k] + _LONGEST)].tobytes())
            if indexes:
                alike = (found[others] == found[k]) & (ends[others] - starts[others] >= size)
                for at in range(size):
                    alike[alike] = data[starts[others[alike]] + at] == data[starts[k] + at]
                yield (int(found[k]), indexes), others[alike], starts[others[alike]] + size
                others = others[~alike]
            else:
                formless.setdefault(int(found[k]), []).append(k)
                others = others[1:]
        for number, rows in formless.items():
            yield (number, ()), np.array(rows), starts[rows]

    def _read(
        self, key: Key, data: npt.NDArray[np.uint8], starts: Indices, ends: Indices, rows: Indices, errors: ErrorSink
    ) -> tuple[list[pa.Array], Indices]:
        reader = self._reader(key)
        if not isinstance(reader, str):
            return reader.read(data, starts, ends, rows, errors)
        for row in [] if self._ignore else rows.tolist():
            report_or_raise(errors, DecodeError(row, None, reader))
        return _joined(self._schema, []), rows[:0]

    def _reader(self, key: Key) -> ProtobufReader | str:
        """What reads a message, or why it cannot be read."""
        if key not in self._readers:
            number, indexes = key
            if not indexes:
                return "Unknown data format: after the schema's id the places of the message are expected"
            try:
                found = self._registry.schema_by_id(number)
                message = find_message_by_indexes(compile_schema(found.text, found.references), indexes)
                self._readers[key] = self._made(message)
            except SchemaNotFoundError as e:
                self._readers[key] = str(e)
            except ValueError as e:
                self._readers[key] = f"the Protobuf schema of id {number} {e}"
            except SchemaError as e:
                self._readers[key] = f"the Protobuf schema of id {number} cannot be read as the table's columns: {e}"
        return self._readers[key]

    def _made(self, message: object) -> ProtobufReader:
        return ProtobufReader(
            self._schema, message, read_defaults=self._defaults, ignore_errors=self._ignore, evolving=True
        )


def _joined(schema: pa.Schema, parts: list[list[pa.Array]]) -> list[pa.Array]:
    if len(parts) == 1:
        return parts[0]
    empty = [pa.array([], field.type) for field in schema]
    return [pa.concat_arrays(columns) for columns in zip(empty, *parts, strict=True)]


def _indexes(payload: bytes) -> tuple[tuple[int, ...], int]:
    """The places that a payload begins with, and how many bytes they take; none where it has not the form."""
    numbers: list[int] = []
    at = bits = shift = 0
    while at < len(payload) and (not numbers or len(numbers) <= numbers[0]):
        bits |= (payload[at] & 0x7F) << shift
        shift += 7
        at += 1
        if payload[at - 1] < 0x80:
            numbers.append((bits >> 1) ^ -(bits & 1))
            bits = shift = 0
    complete = numbers and numbers[0] >= 0 and len(numbers) == numbers[0] + 1
    return (tuple(numbers[1:]) or _FIRST if complete else ()), at


def _zigzag(number: int) -> bytes:
    bits, out = number << 1, bytearray()
    while bits > 0x7F:
        out.append(bits & 0x7F | 0x80)
        bits >>= 7
    return bytes([*out, bits])


class MessageWriter:
    """Writes rows as a message of a schema, its places before it."""

    def __init__(self, schema: pa.Schema, message: object, options: Options) -> None:
        """
        Raises:
            SchemaError: a column has no field, or one of another type.
        """
        self._writer = ProtobufWriter(schema, message, options[LITERAL])
        indexes = message_indexes(message)
        self._places = b"\0" if indexes == _FIRST else b"".join(map(_zigzag, (len(indexes), *indexes)))

    def write(self, batch: pa.RecordBatch, header: bytes = b"") -> pa.BinaryArray:
        """One payload a row, each with ``header`` before it.

        Raises:
            EncodeError: a value has no form in the message.
        """
        return self._writer.write(batch, header + self._places)
