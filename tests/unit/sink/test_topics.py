"""Topics of a sink: the declared settings, and the checks before the first row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import TopicNotFoundError
from kafka_sql.kafka.admin.topics import TopicSettings
from kafka_sql.sink import topics as module
from kafka_sql.sink.topics import ensure_topics_exist, topic_settings
from kafka_sql.table.table import Column, Table


def table(connector: str, **options: str) -> Definition:
    shared = {"connector": connector, "topic": "t", "properties.bootstrap.servers": "h:1"}
    formats = {"format": "json"} if connector == "kafka" else {"key.format": "json", "value.format": "json"}
    keys = {f"sink.topic.{key.replace('_', '-')}": value for key, value in options.items()}
    primary_key = () if connector == "kafka" else ("a",)
    column = Column("a", "INT", "INT", nullable=connector == "kafka")
    return validate_table(Table(("orders",), (column,), {**shared, **formats, **keys}, primary_key))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The requests to a fake cluster that has no topics."""
    requests: list[Any] = []

    @contextmanager
    def cluster(_: object) -> Iterator[Any]:
        yield SimpleNamespace(partitions=lambda topics: requests.append(("partitions", tuple(topics))))

    def ensure(_: object, topics: Any, settings: TopicSettings, name: str, defaults: Any) -> list[str]:
        requests.append(("ensure", tuple(topics), settings.partitions, name, dict(defaults)))
        return list(topics)

    monkeypatch.setattr(module, "cached_cluster", cluster)
    monkeypatch.setattr(module, "ensure_topics", ensure)
    monkeypatch.setattr(module, "_ensured", set())
    return requests


def test_topics_are_only_checked_by_default(calls: list[Any]) -> None:
    ensure_topics_exist(table("kafka"))
    assert calls == [("partitions", ("t",))]


def test_missing_topics_are_created_once_per_process(calls: list[Any]) -> None:
    definition = table("kafka", create="true", partitions="3")
    ensure_topics_exist(definition)
    ensure_topics_exist(definition)
    check = ("partitions", ("t",))
    assert calls == [("ensure", ("t",), 3, "orders", {}), check, check]


def test_a_topic_that_was_deleted_since_is_created_again(calls: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    definition = table("kafka", create="true")
    ensure_topics_exist(definition)
    calls.clear()

    @contextmanager
    def cluster_without_topics(_: object) -> Iterator[Any]:
        def partitions(topics: Any) -> None:
            raise TopicNotFoundError("Topic 't' does not exist.", topic="t")

        yield SimpleNamespace(partitions=partitions)

    monkeypatch.setattr(module, "cached_cluster", cluster_without_topics)
    ensure_topics_exist(definition)
    assert calls == [("ensure", ("t",), None, "orders", {})]
    with pytest.raises(TopicNotFoundError, match=r"does not exist\. Create it, or set 'sink.topic.create' to 'true'\."):
        ensure_topics_exist(table("kafka"))


def test_new_topics_of_upsert_tables_are_compacted(calls: list[Any]) -> None:
    ensure_topics_exist(table("upsert-kafka", create="true"))
    assert calls[0] == ("ensure", ("t",), None, "orders", {"cleanup.policy": "compact"})


def test_declared_settings() -> None:
    settings = topic_settings(
        table("kafka", create="true", partitions="3", replication_factor="2", **{"config.retention.ms": "1000"})
    )
    assert settings == TopicSettings(3, 2, {"retention.ms": "1000"})


def test_a_stream_looks_its_topics_up_again_after_a_second(calls: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_found", {})
    for now, requests in ((0.0, 1), (0.9, 1), (1.0, 2), (1.9, 2)):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda now=now: now))
        ensure_topics_exist(table("kafka"), is_stream=True)
        assert len(calls) == requests
    ensure_topics_exist(table("kafka"))  # a batch
    assert len(calls) == 3
    ensure_topics_exist(table("kafka", create="true", partitions="3"), is_stream=True)  # another declaration
    assert [call[0] for call in calls[3:]] == ["ensure", "partitions"]


def test_a_stream_looks_up_a_missing_topic_each_time(calls: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_found", {})

    @contextmanager
    def cluster_without_topics(_: object) -> Iterator[Any]:
        def partitions(topics: Any) -> None:
            calls.append(("partitions", tuple(topics)))
            raise TopicNotFoundError("Topic 't' does not exist.", topic="t")

        yield SimpleNamespace(partitions=partitions)

    monkeypatch.setattr(module, "cached_cluster", cluster_without_topics)
    for _ in range(2):
        with pytest.raises(TopicNotFoundError):
            ensure_topics_exist(table("kafka"), is_stream=True)
    assert len(calls) == 2
