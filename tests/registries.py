"""Schemas in a registry, for tests."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import httpx

from kafka_sql.embedded import EmbeddedRegistry


def register(registry: EmbeddedRegistry, subject: str, schema: Any, **more: Any) -> int:
    """Register a schema, as text or as JSON's data, under a subject; its id."""
    text = schema if isinstance(schema, str) else json.dumps(schema)
    answer = httpx.post(f"{registry.url}/subjects/{subject}/versions", json={"schema": text, **more})
    assert answer.is_success, answer.text
    return int(answer.json()["id"])


def latest(registry: EmbeddedRegistry, subject: str) -> Any:
    """What the registry says of a subject's latest schema."""
    answer = httpx.get(f"{registry.url}/subjects/{subject}/versions/latest")
    assert answer.is_success, answer.text
    return answer.json()


def framed(number: int, schema: Any, row: Any) -> bytes:
    """A row as Avro in Confluent's wire format."""
    out = io.BytesIO(b"\0" + number.to_bytes(4, "big"))
    out.seek(0, io.SEEK_END)
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
    return out.getvalue()
