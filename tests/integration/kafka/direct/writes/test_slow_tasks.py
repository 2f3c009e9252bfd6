"""Tasks that write rarely: brokers close connections, restart and forget producers between two batches."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pytest

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.direct.writes.producer import DirectProducer, cached_direct_producer
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.messages import Request
from tests.topics import Topics
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


@contextmanager
def open_producer(topics: Topics, topic: str, **properties: str) -> Iterator[DirectProducer]:
    named = {key.replace("_", "."): value for key, value in properties.items()}
    config = to_librdkafka({"bootstrap.servers": topics.bootstrap, **named})
    with cached_direct_producer(config, topic, "t") as producer:
        yield producer


def numbers(start: int, stop: int) -> pa.BinaryArray:
    return pa.array([b"%d" % i for i in range(start, stop)], pa.binary())


def read_numbers(topics: Topics, topic: str, count: int) -> list[int]:
    return [int(message.value() or b"") for message in topics.consume(topic, count)]


@pytest.fixture(scope="module")
def forgetful() -> Iterator[EmbeddedKafka]:
    """A broker that closes idle connections after 2 s, and forgets producers after 1 s."""
    settings = {
        "connections.max.idle.ms": "2000",
        "producer.id.expiration.ms": "1000",
        "producer.id.expiration.check.interval.ms": "200",
    }
    with EmbeddedKafka(properties=settings) as kafka:
        yield kafka


@pytest.mark.long
def test_acknowledgements_are_read_while_the_task_computes_rows(
    forgetful: EmbeddedKafka,
) -> None:
    """The broker closes the connection between two batches, later than the first one could be delivered."""
    topics = Topics(forgetful.bootstrap_servers)
    topic = topics.create()
    with open_producer(topics, topic, batch_size="2000", delivery_timeout_ms="1000", linger_ms="50") as producer:
        producer.produce(numbers(0, 1_000))
        wait_until(lambda: not producer._state.pending, "acknowledgements")
        time.sleep(4)
        producer.produce(numbers(1_000, 2_000))
        producer.flush()
    assert read_numbers(topics, topic, 2_000) == list(range(2_000))


@pytest.mark.long
def test_a_restart_between_two_batches() -> None:
    with EmbeddedKafka() as kafka:
        topics = Topics(kafka.bootstrap_servers)
        topic = topics.create()
        with open_producer(topics, topic, batch_size="2000", delivery_timeout_ms="1000", linger_ms="50") as producer:
            for start in range(0, 3_000, 1_000):
                producer.produce(numbers(start, start + 1_000))
                wait_until(lambda: not producer._state.pending, "acknowledgements")
                kafka.nodes[0].kill()
                kafka.nodes[0].restart()
            producer.flush()
        assert read_numbers(topics, topic, 3_000) == list(range(3_000))


@pytest.mark.long
def test_a_batch_is_rejected_by_a_leader_that_has_forgotten_the_producer(
    forgetful: EmbeddedKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would accept the next batch in place of the rejected one."""
    topics = Topics(forgetful.bootstrap_servers)
    topic, send, rejected = topics.create(), Connection.send, list[int]()

    def misdirect_one(connection: Connection, request: Request, parts: Sequence[bytes] = ()) -> int:
        if request.key == ApiKey.PRODUCE and not rejected:
            rejected.append(1)
            body = request.encode(request.latest, True).replace(topic.encode(), b"?" * len(topic))  # a missing topic
            request = request._replace(encode=lambda *_: body)
        return send(connection, request, parts)

    with open_producer(topics, topic, batch_size="2000", linger_ms="50") as producer:
        producer.produce(numbers(0, 1_000))
        wait_until(lambda: not producer._state.pending, "acknowledgements")
        time.sleep(3)
        monkeypatch.setattr(Connection, "send", misdirect_one)
        producer.produce(numbers(1_000, 3_000))
        producer.flush()
        assert rejected
    assert read_numbers(topics, topic, 3_000) == list(range(3_000))


def test_rows_are_visible_after_linger_ms_with_the_time_at_which_they_were_added(forgetful: EmbeddedKafka) -> None:
    topics = Topics(forgetful.bootstrap_servers)
    topic = topics.create()
    with open_producer(topics, topic, linger_ms="500") as producer:
        times = []
        for i in range(2):
            producer.produce(numbers(i, i + 1))
            times.append(time.time() * 1000)
            time.sleep(0.2)
        messages = topics.consume(topic, 2)  # while the task has not ended
        for message, added in zip(messages, times, strict=True):
            assert 0 <= added - message.timestamp()[1] <= 100
        producer.flush()
