"""One consumer for the splits of a worker, one after another."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from kafka_sql.errors import OffsetError
from kafka_sql.kafka import kept
from kafka_sql.kafka.consumer import fetch
from kafka_sql.kafka.split import Split
from tests.support import Topics

pytestmark = pytest.mark.integration

_PARTITIONS, _RECORDS = 3, 2000


class Made:
    """How many consumers were made."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, *arguments: object) -> object:
        self.count += 1
        return _MADE(*arguments)  # type: ignore[arg-type]


_MADE = kept._made


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    kept._close()
    counted = Made()
    monkeypatch.setattr(kept, "_made", counted)
    yield counted
    kept._close()


@pytest.fixture
def topic(topics: Topics) -> str:
    name = topics.create(_PARTITIONS)
    for p in range(_PARTITIONS):
        topics.put(name, *(b"%d:%d" % (p, i) for i in range(_RECORDS)), partition=p)
    return name


def read(config: dict[str, str], topic: str, partition: int, start: int, stop: int) -> None:
    found = [v for records in fetch(config, Split(topic, partition, start, stop)) for v in records.values.to_pylist()]
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
        list(fetch(config, Split(topic, 0, _RECORDS + 10, _RECORDS + 20)))
    assert kept._idle == []
    read(config, topic, 1, 0, 10)
    left = fetch(config, Split(topic, 0, 0, _RECORDS))
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
    monkeypatch.setattr(kept, "_IDLE_SECONDS", -1)
    read(topics.client(), topic, 0, 0, 10)
    read(topics.client(), topic, 0, 0, 10)
    assert made.count == 2
    assert len(kept._idle) == 1


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
