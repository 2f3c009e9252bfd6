"""Cached clients: one consumer and one producer for all tasks of a worker, one admin client for a planner."""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.admin import AdminClient

from kafka_sql.errors import DeliveryError, OffsetError, TopicNotFoundError
from kafka_sql.kafka import client_cache
from kafka_sql.kafka.admin import cluster as cluster_module
from kafka_sql.kafka.admin.cluster import cached_cluster
from kafka_sql.kafka.client_cache import ClientCache
from kafka_sql.kafka.direct.reads import reader
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.librdkafka import consumer, producer_clients
from kafka_sql.kafka.librdkafka.producer_clients import cached_producer
from kafka_sql.kafka.split import Split
from tests.topics import Topics

pytestmark = pytest.mark.integration

_PARTITIONS, _RECORDS = 3, 2000
_ONLY_LIBRDKAFKA = {"log_connection_close": "false"}  # the direct client has no log of its own


class CreatedClients:
    """Counts the clients that a cache creates."""

    def __init__(self, cache: ClientCache[Any], monkeypatch: pytest.MonkeyPatch) -> None:
        self.count, self._create, self.cache = 0, cache._create, cache
        monkeypatch.setattr(cache, "_create", self)

    def __call__(self, config: Mapping[str, str], stack: ExitStack) -> object:
        self.count += 1
        return self._create(config, stack)


@pytest.fixture(params=[(consumer._CACHE, _ONLY_LIBRDKAFKA), (reader._CACHE, {})], ids=["librdkafka", "direct"])
def consumers(
    request: pytest.FixtureRequest, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> Iterator[CreatedClients]:
    cache, settings = request.param
    cache.close()
    client_config = topics.client
    monkeypatch.setattr(topics, "client", lambda **properties: client_config(**settings, **properties))
    yield CreatedClients(cache, monkeypatch)
    cache.close()


@pytest.fixture
def producers(monkeypatch: pytest.MonkeyPatch) -> Iterator[CreatedClients]:
    producer_clients._CACHE.close()
    yield CreatedClients(producer_clients._CACHE, monkeypatch)
    producer_clients._CACHE.close()


@pytest.fixture
def planners(monkeypatch: pytest.MonkeyPatch) -> Iterator[CreatedClients]:
    cluster_module._CACHE.close()
    yield CreatedClients(cluster_module._CACHE, monkeypatch)
    cluster_module._CACHE.close()


@pytest.fixture
def topic(topics: Topics) -> str:
    name = topics.create(_PARTITIONS)
    for p in range(_PARTITIONS):
        topics.produce(name, *(b"%d:%d" % (p, i) for i in range(_RECORDS)), partition=p)
    return name


def read(config: dict[str, str], topic: str, partition: int, start: int, stop: int) -> None:
    values = [
        v for records in read_records(config, Split(topic, partition, start, stop)) for v in records.values.to_pylist()
    ]
    assert values == [b"%d:%d" % (partition, i) for i in range(start, stop)]


@pytest.mark.long
@pytest.mark.sample(1)
def test_random_ranges_of_changing_partitions(topics: Topics, topic: str, consumers: CreatedClients) -> None:
    """Records prefetched for one split never appear in the next one."""
    config, chance = topics.client(), random.Random(1)
    for _ in range(300):
        start, stop = sorted(chance.sample(range(_RECORDS + 1), 2))
        read(config, topic, chance.randrange(_PARTITIONS), start, stop)
    assert consumers.count == 1


def test_a_read_that_fails_or_stops_early_closes_its_consumer(
    topics: Topics, topic: str, consumers: CreatedClients
) -> None:
    config = topics.client()
    read(config, topic, 0, 0, 10)
    with pytest.raises(OffsetError):
        list(read_records(config, Split(topic, 0, _RECORDS + 10, _RECORDS + 20)))
    assert consumers.cache._idle == []
    read(config, topic, 1, 0, 10)
    batches = read_records(config, Split(topic, 0, 0, _RECORDS))
    next(batches)
    batches.close()  # type: ignore[attr-defined]  # a generator
    read(config, topic, 2, 0, 10)
    assert consumers.count == 3


def test_changed_credentials_create_another_consumer(
    topics: Topics, topic: str, consumers: CreatedClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = topics.client(client_id="${env:CLIENT}")
    for client, count in (("a", 1), ("a", 1), ("b", 2)):
        monkeypatch.setenv("CLIENT", client)
        read(config, topic, 0, 0, 10)
        assert consumers.count == count


def test_a_client_idle_for_too_long_is_not_reused(
    topics: Topics, topic: str, consumers: CreatedClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_cache, "_IDLE_SECONDS", -1)
    read(topics.client(), topic, 0, 0, 10)
    read(topics.client(), topic, 0, 0, 10)
    assert consumers.count == 2
    assert len(consumers.cache._idle) == 1


def test_a_partition_is_added(topics: Topics, topic: str, consumers: CreatedClients) -> None:
    config = topics.client()
    read(config, topic, 0, 0, 10)
    topics.add_partitions(topic, _PARTITIONS + 1)
    topics.produce(topic, *(b"%d:%d" % (_PARTITIONS, i) for i in range(10)), partition=_PARTITIONS)
    read(config, topic, _PARTITIONS, 0, 10)


def test_a_topic_is_recreated(topics: Topics, topic: str, consumers: CreatedClients) -> None:
    config = topics.client()
    read(config, topic, 0, 0, 10)
    admin = AdminClient({"bootstrap.servers": topics.bootstrap})
    admin.delete_topics([topic])[topic].result(60)
    topics.create_named(topic, 1)
    topics.produce(topic, *(b"0:%d" % i for i in range(5)))
    read(config, topic, 0, 0, 5)


def write(config: dict[str, str], topic: str, *values: bytes | None) -> None:
    with cached_producer(config, topic, "t") as producer:
        producer.produce(pa.array(values, pa.binary()))
        producer.flush()
        assert producer.sent == len(values)


def test_one_producer_for_many_writes(topics: Topics, producers: CreatedClients) -> None:
    config = topics.client()
    a, b = topics.create(), topics.create()
    written = [b"%d" % i for i in range(50)]
    for value in written:
        write(config, a, value)
        write(config, b, value)
    assert [m.value() for m in topics.consume(a, 50)] == written
    assert [m.value() for m in topics.consume(b, 50)] == written
    assert producers.count == 1


def test_a_new_producer_does_not_wait_half_a_second(topics: Topics, producers: CreatedClients) -> None:
    """librdkafka checks only every half second for its producer id, unless a broker responds in between."""
    config, topic, durations = topics.client(), topics.create(), list[float]()
    for _ in range(9):
        started = time.monotonic()
        write(config, topic, b"a")
        durations.append(time.monotonic() - started)
        producer_clients._CACHE.close()
    assert producers.count == 9
    assert statistics.median(durations) < 0.4, durations


def test_a_write_that_fails_or_is_not_flushed_closes_its_producer(topics: Topics, producers: CreatedClients) -> None:
    config, topic = topics.client(message_max_bytes="2000"), topics.create(max_message_bytes="1000")
    write(config, topic, b"a")
    with pytest.raises(DeliveryError):
        write(config, topic, b"b" * 1500)
    assert producer_clients._CACHE._idle == []
    write(config, topic, b"c")
    with cached_producer(config, topic) as producer:
        producer.produce(pa.array([b"dropped, because it was not flushed"]))
    assert producer_clients._CACHE._idle == []
    write(config, topic, b"d")
    assert [m.value() for m in topics.consume(topic, 3)] == [b"a", b"c", b"d"]
    assert producers.count == 3


def test_a_cached_producer_and_a_recreated_topic(topics: Topics, producers: CreatedClients) -> None:
    config, topic = topics.client(), topics.create(2)
    write(config, topic, b"a")
    topics.create_named(topic, 1)
    write(config, topic, b"b", b"c")
    assert [m.value() for m in topics.consume(topic, 2)] == [b"b", b"c"]
    assert producers.count == 1


def end_offsets(topics: Topics, topic: str) -> dict[int, int]:
    with cached_cluster(topics.client()) as cluster:
        return {p: offset for (_, p), offset in cluster.latest(cluster.partitions((topic,))).items()}


def test_one_client_for_many_plans_sees_changes(topics: Topics, planners: CreatedClients) -> None:
    topic = topics.create(2)
    assert end_offsets(topics, topic) == {0: 0, 1: 0}
    topics.produce(topic, b"x", partition=1)
    assert end_offsets(topics, topic) == {0: 0, 1: 1}
    admin = AdminClient({"bootstrap.servers": topics.bootstrap})
    topics.add_partitions(topic, 3)
    assert end_offsets(topics, topic) == {0: 0, 1: 1, 2: 0}
    admin.delete_topics([topic])[topic].result(60)
    topics.create_named(topic, 1)
    assert end_offsets(topics, topic) == {0: 0}
    assert planners.count == 1


def test_a_plan_that_fails_closes_its_client(topics: Topics, topic: str, planners: CreatedClients) -> None:
    with cached_cluster(topics.client()) as cluster:
        cluster.latest(cluster.partitions((topic,)))
    with pytest.raises(TopicNotFoundError), cached_cluster(topics.client()) as cluster:
        cluster.partitions(("no-such-topic",))
    assert end_offsets(topics, topic) == dict.fromkeys(range(_PARTITIONS), _RECORDS)
    assert planners.count == 2


def test_a_forked_process_can_exit(topics: Topics, topic: str, planners: CreatedClients) -> None:
    """A client's threads exist only in the parent: closing the client in the child would hang."""
    end_offsets(topics, topic)
    child = os.fork()
    if not child:
        os._exit(0 if not cluster_module._CACHE._idle else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    end_offsets(topics, topic)
    assert planners.count == 1
