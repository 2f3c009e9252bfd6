"""Confluent's serializers and their client of a schema registry, for tests."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

with warnings.catch_warnings(record=True):  # a library that they import emits a warning
    from confluent_kafka.schema_registry import SchemaRegistryClient
    from confluent_kafka.schema_registry.avro import AvroSerializer
    from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
    from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

__all__ = [
    "AvroSerializer",
    "JSONDeserializer",
    "JSONSerializer",
    "ProtobufDeserializer",
    "ProtobufSerializer",
    "registry_client",
    "value_context",
]


@contextmanager
def registry_client(url: str) -> Iterator[SchemaRegistryClient]:
    """Yield a client, which is closed at the end of the ``with`` block."""
    with SchemaRegistryClient({"url": url}) as client:
        yield client


def value_context(topic: str) -> SerializationContext:
    """Return the context of a topic's values."""
    return SerializationContext(topic, MessageField.VALUE)
