"""Continuous queries: output modes, and errors after the start."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.plan import Operator
from kafka_sql.sql.jobs.micro_batch import streaming
from kafka_sql.sql.jobs.registry.job_registry import FAILED
from tests.unit.sql.jobs.plans import aggregate, alias, column, count_of, literal, project, source, table, where

K, N = column("k", 1), column("n", 9)
COUNTS = aggregate(source(k=1), (K,), K, alias(count_of(literal(1)), "n", 9))


class Writer:
    """A DataStreamWriter whose query Spark supports in update mode only."""

    def __init__(self, reason: str) -> None:
        self.modes: list[str] = []
        self._reason = reason

    def format(self, provider: str) -> Writer:
        return self

    def foreachBatch(self, write: object) -> Writer:
        return self

    def outputMode(self, mode: str) -> Writer:
        self.modes.append(mode)
        return self

    def start(self) -> str:
        if self.modes[-1] == "append":
            raise _Unsupported(self._reason)
        return "started"


class _Unsupported(AnalysisException):
    def __init__(self, reason: str) -> None:
        self.reason = reason

    def getCondition(self) -> str:
        return "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"

    def __str__(self) -> str:
        return self.reason


AGGREGATION = "append is not supported for streaming aggregations without watermark"


def start(monkeypatch: pytest.MonkeyPatch, plan: Operator, *key: str, reason: str = AGGREGATION) -> Any:
    monkeypatch.setattr(streaming, "read_plan", lambda rows: project(plan, alias(K, "k"), alias(N, "n")))
    entry = SimpleNamespace(provider="kafka.t", definition=table("t", "t", key))
    query: Any = SimpleNamespace(target=entry, target_name="t", rows=None, is_updating=False)
    return streaming.start_query(Writer(reason), query)  # type: ignore[arg-type]


def test_an_aggregate_is_written_in_update_mode_to_an_upsert_table(monkeypatch: pytest.MonkeyPatch) -> None:
    assert start(monkeypatch, COUNTS, "k") == "started"
    with pytest.raises(UnsupportedSqlError, match="a filter"):
        start(monkeypatch, where(COUNTS, N), "k")
    with pytest.raises(
        UnsupportedSqlError,
        match=r"Table sink 't' doesn't support consuming update changes .*'upsert-kafka' table .*WATERMARK FOR",
    ):
        start(monkeypatch, COUNTS)
    with pytest.raises(AnalysisException, match="another operation"):
        start(monkeypatch, COUNTS, "k", reason="another operation")


def test_a_failure_after_the_start_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    failure = StreamingQueryException("[DECODE] src[0]@1: 'properties.sasl.password' = 'hunter2-4711'\nat Java(1)")

    def fail() -> None:
        raise failure

    def job(status: str) -> Any:
        return SimpleNamespace(
            id="id-1", name="copy", status=status, failure=failure, query=SimpleNamespace(awaitTermination=fail)
        )

    caplog.set_level(logging.ERROR, "kafka_sql.sql.jobs")
    running, stopped = (
        SimpleNamespace(
            _sc=SimpleNamespace(_jsc=SimpleNamespace(sc=lambda stop=stop: SimpleNamespace(isStopped=lambda: stop)))
        )
        for stop in (False, True)
    )
    for session, status in ((running, FAILED), (running, "CANCELED"), (stopped, FAILED)):
        streaming._wait_for_end(session, job(status), "tgt", None)  # type: ignore[arg-type]
    (record,) = caplog.records
    message = record.getMessage()
    assert message.startswith("INSERT INTO 'tgt': job 'id-1' (copy) failed: [DECODE] src[0]@1: ")
    assert "hunter2" not in message
    assert "Java" not in message
