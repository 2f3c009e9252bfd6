"""What is checked before a continuous query starts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.errors import AuthorizationError, OffsetError, StatementError, TopicNotFoundError, UnsupportedSqlError
from kafka_sql.kafka.admin import cluster as cluster_module
from kafka_sql.kafka.admin.descriptions import TopicState
from kafka_sql.source.dynamic import clusters
from kafka_sql.sql.jobs.checks import check_job
from tests.unit.source.fake_cluster import FakeCluster, Log
from tests.unit.sql.jobs.fake_session import Query, Session
from tests.unit.sql.jobs.plans import table

OPERATIONS: dict[str, frozenset[str] | None] = {}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    """A cluster with the topics src and out."""
    fake = FakeCluster({("src", 0): Log(), ("out", 0): Log()})

    @contextmanager
    def cached(config: object) -> Iterator[FakeCluster]:
        yield fake

    def describe(topics: Collection[str]) -> dict[str, TopicState]:
        return {t: TopicState(1, 1, (), (), OPERATIONS.get(t, frozenset({"READ", "WRITE"}))) for t in topics}

    def not_found(admin: object, name: str, topics: object) -> TopicNotFoundError:
        return TopicNotFoundError(f"no {name}")

    monkeypatch.setattr(check_job, "cached_cluster", cached)
    monkeypatch.setattr(clusters, "cached_cluster", cached)
    monkeypatch.setattr(fake, "describe_topics", describe)
    monkeypatch.setattr(cluster_module, "topic_not_found_error", not_found)
    yield fake
    OPERATIONS.clear()


def entry(topics: str = "src", **options: str) -> Any:
    startup = {"scan.startup.mode": "earliest-offset"}
    return SimpleNamespace(provider=f"kafka.{topics}", definition=table(topics, **{**startup, **options}))


def test_a_running_query_keeps_its_name() -> None:
    ended = Query("id-2", name="b")
    session: Any = Session(Query("id-1", name="a"))
    check_job.check_name(session, ended.name or "", "t")
    with pytest.raises(
        StatementError, match=r"job 'id-1' is running under the name 'a'.*SET another 'pipeline.name', or"
    ):
        check_job.check_name(session, "a", "t")


def test_changelogs_are_rejected() -> None:
    check_job.check_changelog_modes([entry()])
    with pytest.raises(UnsupportedSqlError, match="a stream of changes needs a row kind column"):
        check_job.check_changelog_modes([entry(), entry(format="debezium-json")])


def test_topics_must_exist_unless_they_may_be_missing(cluster: FakeCluster) -> None:
    check_job.check_sources([entry(), entry()], resumes=False)
    assert cluster.listings == 1
    with pytest.raises(TopicNotFoundError, match="no gone"):
        check_job.check_sources([entry(), entry("src;gone")], resumes=True)
    check_job.check_sources([entry("src;gone", **{"scan.missing-topics": "ignore"})], resumes=False)


def test_start_offsets_are_resolved_unless_a_checkpoint_has_them(cluster: FakeCluster) -> None:
    group = {"scan.startup.mode": "group-offsets", "properties.group.id": "g", "properties.auto.offset.reset": "none"}
    check_job.check_sources([entry(**group)], resumes=True)
    with pytest.raises(OffsetError):
        check_job.check_sources([entry(**group)], resumes=False)


def test_permissions(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_job, "check_sink", lambda *_: None)
    monkeypatch.setattr(check_job, "arrow_schema", lambda *_: None)
    rows: Any = SimpleNamespace(schema=None)
    OPERATIONS["src"] = frozenset({"READ", "DESCRIBE"})
    check_job.check_sources([entry()], resumes=True)
    with pytest.raises(
        AuthorizationError, match=r"not allowed to write topic 'src'\. Grant the user WRITE on the topic"
    ):
        check_job.check_target(entry(), rows)
    OPERATIONS["src"] = frozenset({"WRITE"})
    check_job.check_target(entry(), rows)
    with pytest.raises(AuthorizationError, match="not allowed to read topic 'src'"):
        check_job.check_sources([entry()], resumes=True)
    for unknown in (None, frozenset[str]()):  # some brokers do not report permissions
        OPERATIONS["src"] = unknown
        check_job.check_sources([entry()], resumes=True)
        check_job.check_target(entry(), rows)
