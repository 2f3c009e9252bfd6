"""Test the protobuf-confluent format with a real schema registry against Confluent's serializer."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import message_factory

from kafka_sql.embedded import EmbeddedRegistry
from kafka_sql.errors import DecodeError, SchemaError
from kafka_sql.formats.declared_types import DECLARED_TYPE
from kafka_sql.formats.protobuf_confluent import PROTOBUF_CONFLUENT
from kafka_sql.formats.protobuf_confluent.schema_descriptors import compile_schema
from kafka_sql.options import Options
from tests.confluent_serializers import ProtobufDeserializer, ProtobufSerializer, registry_client, value_context
from tests.registry_helpers import infer, latest_version, register

pytestmark = pytest.mark.integration

NAME = "protobuf-confluent"
PAIR = pa.schema([("id", pa.int64()), ("name", pa.string())])
ROWS: list[dict[str, Any]] = [{"id": 1, "name": "é"}, {"id": 2, "name": None}]
TEXT = """
syntax = "proto3";
package shop;
message Other { string x = 1; }
message Pair {
  int64 id = 1;
  optional string name = 2;
  message Inner { optional string name = 1; int32 id = 3; }
}
"""


def options(registry: EmbeddedRegistry, **format_options: str) -> Options:
    named = {f"{NAME}.{key.replace('_', '-')}": value for key, value in format_options.items()}
    return Options(PROTOBUF_CONFLUENT.options, {f"{NAME}.url": registry.url, **named})


def rows(decoded: Any, schema: pa.Schema = PAIR) -> list[Any]:
    return list(pa.RecordBatch.from_arrays(decoded.columns, schema=schema).to_pylist())


def header(schema_id: int, *encoded_indexes: int) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + bytes(encoded_indexes)


def message_class(name: str) -> Any:
    file = compile_schema(TEXT)
    return message_factory.GetMessageClass(file.message_types_by_name[name])


def test_confluent_reads_written_payloads(registry: EmbeddedRegistry) -> None:
    fields = {"id": (pa.int64(), "BIGINT NOT NULL"), "name": (pa.string(), "STRING"),
              "at": (pa.timestamp("us", "UTC"), "TIMESTAMP_LTZ(3)"), "tags": (pa.list_(pa.string()), "ARRAY<STRING>"),
              "line": (pa.struct([("sku", pa.string())]), "ROW<sku STRING NOT NULL>"),
              "more": (pa.map_(pa.string(), pa.float64()), "MAP<STRING, DOUBLE>")}  # fmt: skip
    schema = pa.schema([pa.field(n, t, metadata={DECLARED_TYPE: text}) for n, (t, text) in fields.items()])
    at = dt.datetime(2020, 1, 2, 3, 4, 5, 6_000, dt.timezone.utc)
    data = [{"id": 1, "name": "é", "at": at, "tags": ["a"], "line": {"sku": "x"}, "more": [("k", 1.5)]},
            {"id": 2, "name": None, "at": None, "tags": None, "line": None, "more": None}]  # fmt: skip
    format_options = options(registry, subject="proto-written-value")
    payloads = (
        PROTOBUF_CONFLUENT.encoder(schema, format_options).encode(pa.RecordBatch.from_pylist(data, schema)).to_pylist()
    )
    latest = latest_version(registry, "proto-written-value")
    assert latest["schemaType"] == "PROTOBUF"
    assert [p[:6] for p in payloads] == [header(latest["id"], 0)] * 2
    message_class = message_factory.GetMessageClass(compile_schema(latest["schema"]).message_types_by_name["Record"])
    read = ProtobufDeserializer(message_class, {"use.deprecated.format": False})
    first, second = (read(p, value_context("proto-written")) for p in payloads)
    assert (first.id, first.name, first.line.sku, list(first.tags), dict(first.more)) == (
        1,
        "é",
        "x",
        ["a"],
        {"k": 1.5},
    )
    assert first.at.ToDatetime(dt.timezone.utc) == at
    assert [fd.name for fd, _ in second.ListFields()] == ["id"]
    again = PROTOBUF_CONFLUENT.decoder(schema, format_options, ("schema-id", "subject"))
    decoded = again.decode(pa.array([payloads[0], None, payloads[1]]))
    assert rows(decoded, schema) == data
    assert [m.to_pylist() for m in decoded.metadata] == [[latest["id"]] * 2, ["proto-written-value"] * 2]


def test_reads_payloads_of_confluent(registry: EmbeddedRegistry) -> None:
    pair = message_class("Pair")
    with registry_client(registry.url) as client:
        write = ProtobufSerializer(pair, client, {"use.deprecated.format": False})
        payloads = [write(pair(**row), value_context("proto-read")) for row in ROWS]
        nested = message_factory.GetMessageClass(pair.DESCRIPTOR.nested_types_by_name["Inner"])
        inner = ProtobufSerializer(nested, client, {"use.deprecated.format": False})
        payloads.append(inner(nested(id=3, name="in"), value_context("proto-read")))
    assert [p[5:8].hex() for p in payloads] == ["020208", "020208", "040200"]  # indexes [1], [1] and [1, 0]
    decoded = PROTOBUF_CONFLUENT.decoder(PAIR, options(registry)).decode(pa.array(payloads))
    assert rows(decoded) == [*ROWS, {"id": 3, "name": "in"}]


def test_payloads_of_several_schema_versions(registry: EmbeddedRegistry) -> None:
    register(registry, "proto-place", 'syntax = "proto3"; message Place { string city = 1; }', schemaType="PROTOBUF")
    first = 'syntax = "proto3"; message M { int32 id = 1; }'
    second = 'syntax = "proto3"; import "place.proto"; message M { int64 id = 1; Place home = 2; }'
    reference = [{"name": "place.proto", "subject": "proto-place", "version": 1}]
    one = register(registry, "proto-first", first, schemaType="PROTOBUF")
    two = register(registry, "proto-second", second, schemaType="PROTOBUF", references=reference)
    schema = pa.schema([("id", pa.int64()), ("home", pa.struct([("city", pa.string()), ("zip", pa.string())]))])
    old, new = header(one, 0) + b"\x08\x07", header(two, 0) + b"\x08\x09\x12\x06\x0a\x04Oslo"
    decoder = PROTOBUF_CONFLUENT.decoder(schema, options(registry))
    assert rows(decoder.decode(pa.array([old, new, None, old])), schema) == [
        {"id": 7, "home": None}, {"id": 9, "home": {"city": "Oslo", "zip": None}}, {"id": 7, "home": None}
    ]  # fmt: skip


def test_undecodable_payloads(registry: EmbeddedRegistry) -> None:
    number = register(registry, "proto-errors", TEXT, schemaType="PROTOBUF")
    other = register(registry, "proto-other", {"type": "record", "name": "R", "fields": []})
    text = register(registry, "proto-text", 'syntax = "proto3"; message M { string id = 1; }', schemaType="PROTOBUF")
    good = header(number, 2, 2) + message_class("Pair")(id=1).SerializeToString()
    decoder = PROTOBUF_CONFLUENT.decoder(PAIR, options(registry))
    lenient = PROTOBUF_CONFLUENT.decoder(PAIR, options(registry, ignore_parse_errors="true"))
    for bad, fragment in (
        (b"", "Magic number does not match"),
        (b"{}", "the payload is: 7b 7d"),
        (header(number), "expected the indexes of the message"),
        (header(number, 4, 2), "expected the indexes of the message"),
        (header(number, 2, 8) + b"\x08\x01", f"schema of id {number} has no message with the indexes [4]"),
        (header(1_000_000, 0), "schema id 1000000 not found"),
        (header(other, 0), "is of type AVRO, expected PROTOBUF"),
        (header(text, 0), f"of id {text} cannot be read as the table's columns"),
        (good[:-1], "the message ends in the middle of a value"),
    ):
        with pytest.raises(DecodeError) as e:
            decoder.decode(pa.array([good, None, bad, good, b"x"]))
        assert e.value.row == 2, bad
        assert fragment in str(e.value)
        assert lenient.decode(pa.array([good, None, bad, good, b"x"])).payload_indices.to_pylist() == [0, 3]


def test_schema_option(registry: EmbeddedRegistry) -> None:
    format_options = {"subject": "proto-own-value", "schema": TEXT, "message_class_name": "shop.Pair.Inner"}
    schema = pa.schema([("id", pa.int32()), ("name", pa.string())])
    encoder = PROTOBUF_CONFLUENT.encoder(schema, options(registry, **format_options))
    (payload,) = encoder.encode(pa.RecordBatch.from_pylist(ROWS[:1], schema)).to_pylist()
    assert payload == header(latest_version(registry, "proto-own-value")["id"], 4, 2, 0) + b"\x0a\x02\xc3\xa9\x18\x01"
    for changed_options, fragment in (
        ({"message_class_name": "shop.None"}, "has no message 'shop.None'; it has: shop.Other, shop.Pair"),
        ({"schema": "message {"}, "is rejected by protoc"),
        ({"message_class_name": "shop.Other"}, "Column id does not exist"),
    ):
        with pytest.raises(SchemaError) as e:
            PROTOBUF_CONFLUENT.encoder(schema, options(registry, **{**format_options, **changed_options}))
        assert fragment in str(e.value)


@pytest.mark.parametrize(
    ("field", "fragment"),
    [
        (pa.field("d", pa.decimal128(5, 2)), "Protobuf has no type for decimal128"),
        (pa.field("é", pa.int32()), "is not a valid name in protobuf"),
        (pa.field("m", pa.map_(pa.float64(), pa.int32())), "no map with a key of type double"),
        (pa.field("a", pa.list_(pa.list_(pa.int32()))), "Protobuf has no type for list"),
    ],
)
def test_unsupported_columns(registry: EmbeddedRegistry, field: pa.Field, fragment: str) -> None:
    with pytest.raises(SchemaError) as e:
        PROTOBUF_CONFLUENT.encoder(pa.schema([field]), options(registry, subject="s"))
    assert fragment in str(e.value)


def test_inferred_columns(registry: EmbeddedRegistry) -> None:
    register(registry, "proto-infer-value", TEXT, schemaType="PROTOBUF")
    table_options = {
        "topic": "proto-infer",
        "value.format": NAME,
        f"value.{NAME}.url": registry.url,
    }
    pair = {f"value.{NAME}.message-class-name": "shop.Pair"}
    assert infer({**table_options, **pair}).columns == (("id", "BIGINT"), ("name", "STRING"))
    assert infer(table_options).columns == (("x", "STRING"),)
