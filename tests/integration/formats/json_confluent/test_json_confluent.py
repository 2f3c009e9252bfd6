"""Test the json-confluent format with a real schema registry against Confluent's serializer."""

from __future__ import annotations

import json
from typing import Any

import httpx
import jsonschema
import pyarrow as pa
import pytest

from kafka_sql.embedded import EmbeddedRegistry
from kafka_sql.errors import IncompatibleSchemaError, SchemaRegistryError
from kafka_sql.formats.json_confluent import JSON_CONFLUENT
from kafka_sql.options import Options
from tests.confluent_serializers import JSONDeserializer, JSONSerializer, registry_client, value_context
from tests.registry_helpers import infer, latest_version, register

pytestmark = pytest.mark.integration

PAIR = pa.schema([("id", pa.int64()), ("name", pa.string())])
ROWS: list[dict[str, Any]] = [{"id": 1, "name": "é"}, {"id": 2, "name": None}]


def options(registry: EmbeddedRegistry, **format_options: str) -> Options:
    named = {f"json-confluent.{key}": value for key, value in format_options.items()}
    return Options(JSON_CONFLUENT.options, {"json-confluent.url": registry.url, **named})


def test_confluent_reads_written_payloads(registry: EmbeddedRegistry) -> None:
    format_options = options(registry, subject="json-written-value")
    payloads = JSON_CONFLUENT.encoder(PAIR, format_options).encode(pa.RecordBatch.from_pylist(ROWS, PAIR)).to_pylist()
    latest = latest_version(registry, "json-written-value")
    assert latest["schemaType"] == "JSON"
    assert [p[:5] for p in payloads] == [b"\0" + latest["id"].to_bytes(4, "big")] * 2
    assert [json.loads(p[5:]) for p in payloads] == ROWS
    with registry_client(registry.url) as client:
        read = JSONDeserializer(latest["schema"], schema_registry_client=client, conf={"validate": True})
        assert [read(p, value_context("json-written")) for p in payloads] == ROWS


def test_reads_payloads_of_confluent(registry: EmbeddedRegistry) -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Pair", "type": "object",
              "properties": {"id": {"type": "integer"}, "name": {"type": ["string", "null"]}}}  # fmt: skip
    with registry_client(registry.url) as client:
        write = JSONSerializer(json.dumps(schema), client)
        payloads = pa.array([write(row, value_context("json-read")) for row in ROWS])
    format_options = options(registry, subject="json-read-value")
    decoded = JSON_CONFLUENT.decoder(PAIR, format_options, ("schema-id",)).decode(payloads)
    assert pa.RecordBatch.from_arrays(decoded.columns, schema=PAIR).to_pylist() == ROWS
    assert decoded.metadata[0].to_pylist() == [latest_version(registry, "json-read-value")["id"]] * 2


def test_schema_option_without_automatic_registration(registry: EmbeddedRegistry) -> None:
    custom_schema = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": ["string", "null"]}}}
    batch = pa.RecordBatch.from_pylist(ROWS, PAIR)
    fixed = {
        "subject": "json-own-value",
        "schema": json.dumps(custom_schema),
        "properties": "auto.register.schemas:false",
    }
    encoder = JSON_CONFLUENT.encoder(PAIR, options(registry, **fixed))
    with pytest.raises(SchemaRegistryError, match="subject 'json-own-value' not found"):
        encoder.encode(batch)
    number = register(registry, "json-own-value", custom_schema, schemaType="JSON")
    payloads = encoder.encode(batch).to_pylist()
    assert [p[:5] for p in payloads] == [b"\0" + number.to_bytes(4, "big")] * 2
    for payload in payloads:
        jsonschema.validate(json.loads(payload[5:]), custom_schema)


def test_incompatible_schema(registry: EmbeddedRegistry) -> None:
    subject = "json-strict-value"
    closed = {"type": "object", "properties": {"id": {"type": "string"}}, "additionalProperties": False}
    register(registry, subject, closed, schemaType="JSON")
    httpx.put(f"{registry.url}/config/{subject}", json={"compatibility": "BACKWARD"}).raise_for_status()
    encoder = JSON_CONFLUENT.encoder(PAIR, options(registry, subject=subject))
    with pytest.raises(IncompatibleSchemaError, match=f"for subject '{subject}': it is incompatible"):
        encoder.encode(pa.RecordBatch.from_pylist(ROWS, PAIR))


def test_inferred_columns(registry: EmbeddedRegistry) -> None:
    place = {"$id": "place.json", "type": "object", "properties": {"city": {"type": "string"}}}
    register(registry, "place", place, schemaType="JSON")
    table_options = {
        "topic": "json-infer",
        "value.format": "json-confluent",
        "value.json-confluent.url": registry.url,
    }
    schema: dict[str, Any] = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    register(registry, "json-infer-value", schema, schemaType="JSON")
    inferred = infer(table_options)
    assert inferred.columns == (("id", "BIGINT NOT NULL"),)
    assert json.loads(inferred.options["value.json-confluent.schema"]) == schema
    schema["properties"]["home"] = {"$ref": "place.json"}
    reference = [{"name": "place.json", "subject": "place", "version": 1}]
    register(registry, "json-infer-value", schema, schemaType="JSON", references=reference)
    inferred = infer(table_options)
    assert inferred.columns == (("id", "BIGINT NOT NULL"), ("home", "ROW<`city` STRING>"))
    assert not inferred.options
    register(registry, "json-not-value", {"type": "record", "name": "R", "fields": []})
    with pytest.raises(SchemaRegistryError, match="is of type AVRO, expected JSON"):
        infer({**table_options, "topic": "json-not"})
