"""Confluent's own serializers, for tests, and their client of a registry."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

with warnings.catch_warnings(record=True):  # a library that they import warns of another
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
    "client",
    "value_of",
]


@contextmanager
def client(url: str) -> Iterator[SchemaRegistryClient]:
    """A client, for a ``with`` block."""
    with SchemaRegistryClient({"url": url}) as found:
        yield found


def value_of(topic: str) -> SerializationContext:
    """Where a value goes or comes from."""
    return SerializationContext(topic, MessageField.VALUE)
