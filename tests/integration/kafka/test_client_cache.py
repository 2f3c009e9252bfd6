"""One consumer and one producer for the tasks of a worker, one after another; one client for a planner's statements."""

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
from confluent_kafka.admin import AdminClient, NewPartitions

from kafka_sql.errors import DeliveryError, OffsetError, TopicNotFoundError
from kafka_sql.kafka import client_cache
from kafka_sql.kafka.admin import cluster as cluster_module
from kafka_sql.kafka.admin.cluster import cached_cluster
from kafka_sql.kafka.client_cache import ClientCache
from kafka_sql.kafka.direct import reader
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.librdkafka import consumer, producer_clients
from kafka_sql.kafka.types import Split
from tests.topics import Topics

pytestmark = pytest.mark.integration

_PARTITIONS, _RECORDS = 3, 2000


class Made:
    """How many consumers or producers were made."""

    def __init__(self, cache: ClientCache[Any], monkeypatch: pytest.MonkeyPatch) -> None:
        self.count, self._make, self.cache = 0, cache._make, cache
        monkeypatch.setattr(cache, "_make", self)

    def __call__(self, config: Mapping[str, str], stack: ExitStack) -> object:
        self.count += 1
        return self._make(config, stack)


# what only librdkafka reads, and what is read directly
@pytest.fixture(params=[(consumer._CACHE, {"client_rack": "r"}), (reader._CACHE, {})], ids=["librdkafka", "direct"])
def made(request: pytest.FixtureRequest, topics: Topics, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    cache, settings = request.param
    cache.close()
    own = topics.client
    monkeypatch.setattr(topics, "client", lambda **more: own(**settings, **more))
    yield Made(cache, monkeypatch)
    cache.close()


@pytest.fixture
def producing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    producer_clients._CACHE.close()
    yield Made(producer_clients._CACHE, monkeypatch)
    producer_clients._CACHE.close()


@pytest.fixture
def planning(monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    cluster_module._CACHE.close()
    yield Made(cluster_module._CACHE, monkeypatch)
    cluster_module._CACHE.close()


@pytest.fixture
def topic(topics: Topics) -> str:
    name = topics.create(_PARTITIONS)
    for p in range(_PARTITIONS):
        topics.put(name, *(b"%d:%d" % (p, i) for i in range(_RECORDS)), partition=p)
    return name


def read(config: dict[str, str], topic: str, partition: int, start: int, stop: int) -> None:
    found = [
        v for records in read_records(config, Split(topic, partition, start, stop)) for v in records.values.to_pylist()
    ]
    assert found == [b"%d:%d" % (partition, i) for i in range(start, stop)]


def test_random_ranges_of_changing_partitions(topics: Topics, topic: str, made: Made) -> None:
    """What was fetched ahead for the split before never gets into the next one."""
    config, chance = topics.client(), random.Random(1)
    for _ in range(300):
        start, stop = sorted(chance.sample(range(_RECORDS + 1), 2))
        read(config, topic, chance.randrange(_PARTITIONS), start, stop)
    assert made.count == 1


def test_a_read_that_fails_or_is_left_takes_its_consumer_with_it(topics: Topics, topic: str, made: Made) -> None:
    config = topics.client()
    read(config, topic, 0, 0, 10)
    with pytest.raises(OffsetError):
        list(read_records(config, Split(topic, 0, _RECORDS + 10, _RECORDS + 20)))
    assert made.cache._idle == []
    read(config, topic, 1, 0, 10)
    left = read_records(config, Split(topic, 0, 0, _RECORDS))
    next(left)
    left.close()  # type: ignore[attr-defined]  # a generator
    read(config, topic, 2, 0, 10)
    assert made.count == 3


def test_another_login_is_another_consumer(
    topics: Topics, topic: str, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = topics.client(client_id="${env:WHO}")
    for who, count in (("a", 1), ("a", 1), ("b", 2)):
        monkeypatch.setenv("WHO", who)
        read(config, topic, 0, 0, 10)
        assert made.count == count


def test_a_long_idle_one_is_not_taken(topics: Topics, topic: str, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_cache, "_IDLE_SECONDS", -1)
    read(topics.client(), topic, 0, 0, 10)
    read(topics.client(), topic, 0, 0, 10)
    assert made.count == 2
    assert len(made.cache._idle) == 1


def test_a_partition_that_is_added(topics: Topics, topic: str, made: Made) -> None:
    config = topics.client()
    read(config, topic, 0, 0, 10)
    admin = AdminClient({"bootstrap.servers": topics.bootstrap})
    admin.create_partitions([NewPartitions(topic, _PARTITIONS + 1)])[topic].result(60)
    topics.put(topic, *(b"%d:%d" % (_PARTITIONS, i) for i in range(10)), partition=_PARTITIONS)
    read(config, topic, _PARTITIONS, 0, 10)


def test_a_topic_that_is_made_anew(topics: Topics, topic: str, made: Made) -> None:
    config = topics.client()
    read(config, topic, 0, 0, 10)
    admin = AdminClient({"bootstrap.servers": topics.bootstrap})
    admin.delete_topics([topic])[topic].result(60)
    topics.create_named(topic, 1)
    topics.put(topic, *(b"0:%d" % i for i in range(5)))
    read(config, topic, 0, 0, 5)


def write(config: dict[str, str], topic: str, *values: bytes | None) -> None:
    with producer_clients(config, topic, "t") as producer:
        producer.produce(pa.array(values, pa.binary()))
        producer.flush()
        assert producer.sent == len(values)


def test_one_producer_for_many_writes(topics: Topics, producing: Made) -> None:
    config = topics.client()
    a, b = topics.create(), topics.create()
    written = [b"%d" % i for i in range(50)]
    for value in written:
        write(config, a, value)
        write(config, b, value)
    assert [m.value() for m in topics.take(a, 50)] == written
    assert [m.value() for m in topics.take(b, 50)] == written
    assert producing.count == 1


def test_a_new_producer_does_not_wait_half_a_second(topics: Topics, producing: Made) -> None:
    """librdkafka looks each half second whether it can have a producer id, unless a broker answers in between."""
    config, topic, took = topics.client(), topics.create(), list[float]()
    for _ in range(9):
        began = time.monotonic()
        write(config, topic, b"a")
        took.append(time.monotonic() - began)
        producer_clients._CACHE.close()
    assert producing.count == 9
    assert statistics.median(took) < 0.4, took


def test_a_write_that_fails_or_is_not_acknowledged_takes_its_producer_with_it(topics: Topics, producing: Made) -> None:
    config, topic = topics.client(message_max_bytes="2000"), topics.create(max_message_bytes="1000")
    write(config, topic, b"a")
    with pytest.raises(DeliveryError):
        write(config, topic, b"b" * 1500)
    assert producer_clients._CACHE._idle == []
    write(config, topic, b"c")
    with producer_clients(config, topic) as producer:
        producer.produce(pa.array([b"dropped, as nobody waited for it"]))
    assert producer_clients._CACHE._idle == []
    write(config, topic, b"d")
    assert [m.value() for m in topics.take(topic, 3)] == [b"a", b"c", b"d"]
    assert producing.count == 3


def test_a_kept_producer_and_a_topic_that_is_made_anew(topics: Topics, producing: Made) -> None:
    config, topic = topics.client(), topics.create(2)
    write(config, topic, b"a")
    topics.create_named(topic, 1)
    write(config, topic, b"b", b"c")
    assert [m.value() for m in topics.take(topic, 2)] == [b"b", b"c"]
    assert producing.count == 1


def ends(topics: Topics, topic: str) -> dict[int, int]:
    with cached_cluster(topics.client()) as cluster:
        return {p: offset for (_, p), offset in cluster.latest(cluster.partitions((topic,))).items()}


def test_one_client_for_many_plans_sees_what_has_changed(topics: Topics, planning: Made) -> None:
    topic = topics.create(2)
    assert ends(topics, topic) == {0: 0, 1: 0}
    topics.put(topic, b"x", partition=1)
    assert ends(topics, topic) == {0: 0, 1: 1}
    admin = AdminClient({"bootstrap.servers": topics.bootstrap})
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(30)
    assert ends(topics, topic) == {0: 0, 1: 1, 2: 0}
    admin.delete_topics([topic])[topic].result(60)
    topics.create_named(topic, 1)
    assert ends(topics, topic) == {0: 0}
    assert planning.count == 1


def test_a_plan_that_fails_takes_its_client_with_it(topics: Topics, topic: str, planning: Made) -> None:
    with cached_cluster(topics.client()) as cluster:
        cluster.latest(cluster.partitions((topic,)))
    with pytest.raises(TopicNotFoundError), cached_cluster(topics.client()) as cluster:
        cluster.partitions(("no-such-topic",))
    assert ends(topics, topic) == dict.fromkeys(range(_PARTITIONS), _RECORDS)
    assert planning.count == 2


def test_a_kept_client_is_as_impatient_as_a_new_one(topics: Topics, topic: str) -> None:
    """A cluster that has answered is waited for; a statement that comes later has not been answered."""
    with cached_cluster(topics.client()) as cluster:
        new = cluster.admin().timeout
        cluster.latest(cluster.partitions((topic,)))
        assert cluster.admin().timeout > new
    with cached_cluster(topics.client()) as cluster:
        assert cluster.admin().timeout == new


def test_a_process_that_is_forked_off_ends(topics: Topics, topic: str, planning: Made) -> None:
    """A client's threads stay with the parent: a child that ended the client would wait for them for ever."""
    ends(topics, topic)
    child = os.fork()
    if not child:
        os._exit(0 if not cluster_module._CACHE._idle else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    ends(topics, topic)
    assert planning.count == 1
