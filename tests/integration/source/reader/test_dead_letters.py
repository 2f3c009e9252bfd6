"""Test that undecodable records are written to a dead letter topic."""

from __future__ import annotations

import pyarrow as pa
import pytest
from confluent_kafka import Message, Producer

from kafka_sql.definition import validate_table
from kafka_sql.errors import BrokerError
from kafka_sql.kafka.types import Split
from kafka_sql.source.reader.split_reader import read_split
from kafka_sql.table.declaration import Column, Table
from tests.topics import Topics

pytestmark = pytest.mark.integration

COLUMNS = (Column("n", "BIGINT", "BIGINT"), Column("k", "STRING", "STRING"))
SCHEMA = pa.schema([("n", pa.int64()), ("k", pa.string())])


def table(topics: Topics, topic: str, target: str) -> Table:
    options = {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": topics.bootstrap,
        "key.format": "json",
        "key.fields": "k",
        "value.format": "json",
        "value.fields-include": "EXCEPT_KEY",
        "error-handling.mode": "log",
        "error-handling.log.target": target,
    }
    return Table(("db", "t"), COLUMNS, options)


def headers(message: Message) -> list[tuple[str, bytes | None]]:
    return [(k, v if isinstance(v, bytes) or v is None else v.encode()) for k, v in message.headers() or ()]


def test_dead_letters_have_the_record_and_the_error(topics: Topics) -> None:
    topic, dead = topics.create(), topics.create()
    producer = Producer({"bootstrap.servers": topics.bootstrap})
    good, record_headers = b'{"k": "a"}', [("trace", b"\x00\xff"), ("trace", None)]
    producer.produce(topic, b'{"n": 1}', good)
    producer.produce(topic, b'{"n": "x"}\n', good, headers=record_headers, timestamp=1_700_000_000_123)
    producer.produce(topic, b'{"n": 2}', b"[", timestamp=1_700_000_000_456)
    producer.produce(topic, b'{"n": 3}', good)
    producer.produce(topic, b"{", None)
    producer.flush()

    definition = validate_table(table(topics, topic, dead))
    rows = [row for b in read_split(definition, SCHEMA, Split(topic, 0, 0, 5)) for row in b.to_pylist()]
    assert rows == [{"n": 1, "k": "a"}, {"n": 3, "k": "a"}]

    value, key, neither = topics.consume(dead, 3)
    assert (value.key(), value.value(), value.timestamp()[1]) == (good, b'{"n": "x"}\n', 1_700_000_000_123)
    assert headers(value)[:2] == record_headers
    error_headers = dict(headers(value)[2:])
    message = error_headers.pop("__kafka_sql.errors.exception.message")
    assert message is not None
    assert message.startswith(f"[DECODE] {topic}[0]@1, field 'n': found ".encode())
    assert error_headers == {
        "__kafka_sql.errors.topic": topic.encode(),
        "__kafka_sql.errors.partition": b"0",
        "__kafka_sql.errors.offset": b"1",
        "__kafka_sql.errors.timestamp": b"1700000000123",
        "__kafka_sql.errors.exception.class.name": b"DecodeError",
        "__kafka_sql.errors.field": b"n",
    }
    assert (key.key(), key.value(), key.timestamp()[1]) == (b"[", b'{"n": 2}', 1_700_000_000_456)
    assert b"(key)" in (dict(headers(key))["__kafka_sql.errors.exception.message"] or b"")
    assert (neither.key(), neither.value()) == (None, b"{")


def test_the_query_fails_if_a_dead_letter_cannot_be_written(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"{")
    declared = table(topics, topic, "no-such-topic")
    declared.options["properties.delivery.timeout.ms"] = "2000"  # type: ignore[index]
    definition = validate_table(declared)
    with pytest.raises(BrokerError, match=r"Table 'db\.t'.*no-such-topic"):
        list(read_split(definition, SCHEMA, Split(topic, 0, 0, 1)))
