"""Fuzz responses of broken or hostile schema registries, and the schemas in them."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Callable
from typing import Any, Final
from unittest import mock

import httpx
import pyarrow as pa

from kafka_sql.errors import KafkaSqlError
from kafka_sql.formats.avro import schema as avro
from kafka_sql.formats.avro.decode_plan import SchemaMismatch
from kafka_sql.formats.avro.resolution import resolve_schemas
from kafka_sql.formats.confluent import client
from kafka_sql.formats.confluent.client import SchemaRegistry
from kafka_sql.formats.confluent.options import RegistrySettings
from kafka_sql.formats.confluent.schemas import RegisteredSchema
from tests.fuzz.mutation import mutate, mutate_text

_RECORD: Final = json.dumps(
    {
        "type": "record",
        "name": "a.R",
        "fields": [
            {"name": "n", "type": ["null", "long"], "default": None},
            {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
            {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["X", "Y"]}},
            {"name": "l", "type": {"type": "array", "items": {"type": "map", "values": "a.R"}}},
        ],
    }
)
_VALID: Final = (
    json.dumps({"id": 1, "version": 1, "schema": _RECORD}),
    json.dumps({"id": 7, "schema": '"long"', "schemaType": "AVRO"}),
    json.dumps({"schema": _RECORD, "references": [{"name": "b.S", "subject": "s", "version": 2}]}),
    json.dumps({"error_code": 40403, "message": "Schema not found"}),
    json.dumps({"is_compatible": True}),
)
_WORDS: Final = ("null", "true", "{}", "[]", "1e999", '"record"', '"fixed"', '"union"', "[" * 3000, "-1", '"a.R"')
_READER_SCHEMA: Final = avro.parse_schema(
    '{"type": "record", "name": "R", "fields": [{"name": "n", "type": ["null", "long"], "default": null}]}'
)
_SCHEMA: Final = pa.schema([("n", pa.int64())])
_SETTINGS: Final = RegistrySettings("avro-confluent", "AVRO", ("http://a", "http://b/"))


def make() -> Callable[[random.Random], str]:
    """Return a target that uses the client with mutated responses."""

    def feed(rng: random.Random) -> str:
        registry = SchemaRegistry(_SETTINGS)
        registry._client = httpx.Client(transport=httpx.MockTransport(lambda request: _response(rng)))
        operations: list[Callable[[], Any]] = [
            lambda: _resolve(registry.schema_by_id(1)),
            lambda: _resolve(registry.latest_schema("s")),
            lambda: registry.register("s", "x"),
            lambda: registry.look_up_id("s/\ud800" if rng.random() < 0.01 else "s/..", "x"),
            lambda: registry.check_compatibility("s", "x"),
        ]
        try:
            with mock.patch.object(client, "RETRY_TIMEOUT", 0.09):
                rng.choice(operations)()
        except KafkaSqlError as e:
            return e.condition().lower()
        return "completed"

    return feed


def _resolve(registered: RegisteredSchema) -> None:
    with contextlib.suppress(ValueError, SchemaMismatch):  # the decoder reports these errors
        resolve_schemas(
            avro.parse_schema(registered.text, [text for _, text in registered.references]), _READER_SCHEMA, _SCHEMA
        )


def _response(rng: random.Random) -> httpx.Response:
    text = mutate_text(rng, rng.choice(_VALID), _WORDS) if rng.random() < 0.8 else rng.choice(_VALID)
    content = text.encode(errors="replace")
    headers = {"Content-Type": "application/json"}
    if rng.random() < 0.05:
        content, headers = mutate(rng, content), {"Content-Encoding": "gzip"}
    return httpx.Response(
        rng.choice((200, 200, 200, 200, 404, 409, 401, 503)), stream=httpx.ByteStream(content), headers=headers
    )
