"""Test which partitions a table has, and when a stream discovers new ones."""

from __future__ import annotations

import logging

import pytest

from kafka_sql.errors import TopicNotFoundError
from kafka_sql.kafka.admin import cluster as cluster_module
from kafka_sql.kafka.decision_log import LOG_TOPIC
from kafka_sql.kafka.topic_partition import TopicPartition
from kafka_sql.source.enumerator.partitions import Discovery, list_partitions
from tests.unit.source.fake_cluster import FakeCluster, Log, define


def cluster(*partitions: TopicPartition) -> FakeCluster:
    return FakeCluster({p: Log() for p in partitions})


def test_the_topics_of_the_option() -> None:
    logs = cluster(("t", 1), ("t", 0), ("u", 0), ("v", 0))
    assert list_partitions(define(), logs) == [("t", 0), ("t", 1)]
    assert list_partitions(define(topic="v;t"), logs) == [("t", 0), ("t", 1), ("v", 0)]


def test_a_pattern_matches_full_names_except_internal_topics(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "kafka_sql")
    logs = cluster(("orders-a", 0), ("orders-b", 1), ("my-orders-a", 0), ("__consumer_offsets", 3), ("__mine", 0))
    assert list_partitions(define(topic="", topic__pattern="orders-."), logs) == [("orders-a", 0), ("orders-b", 1)]
    logs.logs[LOG_TOPIC, 0] = Log()
    assert list_partitions(define(topic="", topic__pattern="__.*"), logs) == [("__mine", 0)]
    assert not caplog.records
    assert list_partitions(define(topic="", topic__pattern="none"), logs) == []
    assert [r.getMessage() for r in caplog.records] == ["table 'db.orders': no topic matches the pattern 'none'"]


def test_missing_topics_are_an_error_or_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_found(admin: object, name: str, topics: object) -> TopicNotFoundError:
        return TopicNotFoundError(f"no {name}")

    monkeypatch.setattr(cluster_module, "topic_not_found_error", not_found)
    with pytest.raises(TopicNotFoundError, match="no u"):
        list_partitions(define(topic="t;u"), cluster(("t", 0)))
    assert list_partitions(define(topic="t;u", scan_missing__topics="ignore"), cluster(("t", 0))) == [("t", 0)]


def test_selected_partitions() -> None:
    logs = cluster(("t", 0), ("t", 1), ("t", 2))
    assert list_partitions(define(scan_partitions="t:2,0"), logs) == [("t", 0), ("t", 2)]
    with pytest.raises(
        TopicNotFoundError, match=r"'scan.partitions' do not exist on the Kafka brokers: t\[7\], t\[8\]"
    ):
        list_partitions(define(scan_partitions="t:8,0,7"), logs)
    assert list_partitions(define(scan_partitions="t:8,0", scan_missing__topics="ignore"), logs) == [("t", 0)]


def test_new_partitions_are_discovered_at_the_interval() -> None:
    now = [100.0]
    logs = cluster(("t", 0))
    discovery = Discovery(define(scan_topic__partition__discovery_interval="60 s"), lambda: now[0])
    assert discovery.partitions(logs) == [("t", 0)]
    logs.logs["t", 1] = Log()
    now[0] = 159.9
    assert discovery.partitions(logs) == [("t", 0)]
    now[0] = 160.0
    assert discovery.partitions(logs) == [("t", 0), ("t", 1)]
    assert logs.listings == 2
    now[0] = 219.0
    discovery.partitions(logs)
    assert logs.listings == 2


@pytest.mark.parametrize(
    "options",
    [
        {"scan_topic__partition__discovery_interval": "0"},
        {"scan_bounded_mode": "latest-offset"},
        {"scan_partitions": "t:0"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_streams_that_do_not_discover_partitions(options: dict[str, str]) -> None:
    now = [0.0]
    logs = cluster(("t", 0))
    discovery = Discovery(define(**options), lambda: now[0])
    for now[0] in (0.0, 1e9):
        assert discovery.partitions(logs) == [("t", 0)]
    assert logs.listings == 1
