"""Test decoding and encoding of messages against protobuf's library."""

from __future__ import annotations

import datetime as dt
import json
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from google.protobuf import message_factory
from google.protobuf.message import DecodeError as MessageError
from google.protobuf.message import Message

from kafka_sql.errors import DecodeError
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets
from kafka_sql.formats.protobuf.decoder import ProtobufReader
from kafka_sql.formats.protobuf.encoder import ProtobufWriter
from tests.unit.formats.protobuf.oracle import EPOCH, ITEM, ITEMS, ORDER, ORDERS, expected_row, random_message

MESSAGE_TYPES = {"proto3": (ORDER, ORDERS), "proto2": (ITEM, ITEMS)}
READERS = {
    (name, defaults): ProtobufReader(schema, descriptor, read_defaults=defaults, ignore_errors=False)
    for name, (descriptor, schema) in MESSAGE_TYPES.items()
    for defaults in (False, True)
}


def read(reader: ProtobufReader, payloads: list[bytes]) -> list[pa.Array]:
    data, offsets = bytes_and_offsets(pa.array(payloads, pa.binary()))
    boundaries = offsets.astype(np.int64)
    return reader.read(data, boundaries[:-1], boundaries[1:], np.arange(len(payloads)))[0]


def rows(columns: list[pa.Array], schema: pa.Schema) -> list[Any]:
    for column in columns:
        column.validate(full=True)
    decoded_rows = pa.RecordBatch.from_arrays(columns, schema=schema).to_pylist()
    for row in decoded_rows:
        if row.get("doc") is not None:
            row["doc"] = json.loads(row["doc"])
        for name in ("m", "ml"):
            if row.get(name) is not None:
                row[name] = sorted(row[name], key=lambda entry: entry[0])
    return decoded_rows


def expected_rows(messages: list[Message], schema: pa.Schema, defaults: bool) -> list[Any]:
    library_rows = [expected_row(message, schema, defaults) for message in messages]
    for row in library_rows:
        for name in ("m", "ml"):
            if row.get(name) is not None:
                row[name] = sorted(row[name], key=lambda entry: entry[0])
    return normalize(library_rows)


def normalize(value: Any) -> Any:
    """Return a value with maps sorted by key at any depth, and timestamps as the time since 1970."""
    if isinstance(value, dict):
        return {k: normalize(value[k]) for k in sorted(value)}
    if isinstance(value, list):
        values = [normalize(v) for v in value]
        return sorted(values, key=lambda entry: entry[0]) if values and isinstance(values[0], tuple) else values
    if isinstance(value, dt.datetime):
        return value - EPOCH
    return tuple(normalize(v) for v in value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("defaults", [False, True])
@pytest.mark.parametrize("name", MESSAGE_TYPES)
def test_decoded_messages_match_the_library(name: str, defaults: bool) -> None:
    descriptor, schema = MESSAGE_TYPES[name]
    rng = Random(1)
    for count in (1, 2, 3, 300):
        messages = [random_message(descriptor, rng) for _ in range(count)]
        columns = read(READERS[name, defaults], [message.SerializePartialToString() for message in messages])
        assert repr(normalize(rows(columns, schema))) == repr(expected_rows(messages, schema, defaults))


def parse_with_library(descriptor: Any, payload: bytes) -> Message | None:
    """Return the message, or None if the library rejects it."""
    try:
        message: Message = message_factory.GetMessageClass(descriptor).FromString(payload)
    except MessageError:
        return None
    return message if message.IsInitialized() else None


@pytest.mark.large
@pytest.mark.parametrize("name", MESSAGE_TYPES)
def test_concatenated_and_malformed_messages(name: str) -> None:
    """Concatenated messages are merged; truncated and modified ones fail if the library fails."""
    descriptor, schema = MESSAGE_TYPES[name]
    rng, decoded_count = Random(2), 0
    for _ in range(600):
        messages = [random_message(descriptor, rng, 2) for _ in range(rng.choice((1, 2)))]
        payload = b"".join(message.SerializePartialToString() for message in messages)
        match rng.randint(0, 3):
            case 0:
                payload = payload[: rng.randint(0, len(payload))]
            case 1 if payload:
                start = rng.randint(0, len(payload) - 1)
                payload = payload[:start] + rng.randbytes(rng.randint(0, 3)) + payload[start + rng.randint(0, 3) :]
        merged = parse_with_library(descriptor, payload)
        if merged is None:
            try:
                read(READERS[name, False], [payload])
            except DecodeError:
                continue
            pytest.fail(f"decoded a malformed message: {payload.hex(' ')}")
        else:
            decoded_count += 1
            decoded = rows(read(READERS[name, False], [payload]), schema)
            assert repr(normalize(decoded)) == repr(expected_rows([merged], schema, False)), payload.hex(" ")
    assert 200 < decoded_count < 590


@pytest.mark.parametrize("name", MESSAGE_TYPES)
def test_encoded_rows_match_the_library(name: str) -> None:
    """Rows of decoded messages are encoded as by the library, with fields ordered by number."""
    descriptor, schema = MESSAGE_TYPES[name]
    writer, rng = ProtobufWriter(schema, descriptor), Random(3)
    message_class = message_factory.GetMessageClass(descriptor)
    for count in (1, 2, 200):
        messages = [random_message(descriptor, rng) for _ in range(count)]
        for message in messages:
            for field in ("flag", "doc", "ul", "o"):  # without a column, or written in another order
                if field in message.DESCRIPTOR.fields_by_name and field not in schema.names:
                    message.ClearField(field)
        columns = read(READERS[name, False], [message.SerializePartialToString() for message in messages])
        batch = pa.RecordBatch.from_arrays(columns, schema=schema)
        payloads = writer.encode(batch, b"head").to_pylist()
        assert all(p[:4] == b"head" for p in payloads)
        reparsed = [message_class.FromString(p[4:]) for p in payloads]
        # an unknown enum value is written as the enum's first value, as in Flink
        expected = repr(expected_rows(messages, schema, False)).replace("UNRECOGNIZED", "RED")
        assert repr(expected_rows(reparsed, schema, False)) == expected
        for message, payload in zip(reparsed, payloads, strict=True):  # maps are unordered
            row = expected_rows([message], schema, False)
            if "[(" not in repr(row) and row[0].get("doc") is None:
                assert payload[4:] == message.SerializeToString()
        sliced = writer.encode(batch.slice(count // 2)).to_pylist()
        assert sliced == [p[4:] for p in payloads[count // 2 :]]
