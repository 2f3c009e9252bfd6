"""Test the output modes of continuous queries."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql.types import StructType

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.catalog.data_source import data_source_class
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.plan import Operator
from kafka_sql.sql.jobs.job_plan import JobMode, JobPlan
from kafka_sql.sql.jobs.micro_batch import start as module
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
    monkeypatch.setattr(module, "read_plan", lambda rows: project(plan, alias(K, "k"), alias(N, "n")))
    definition = table("t", "t", key)
    source = data_source_class("kafka.t", definition, StructType([]))
    rows: Any = object()
    job = JobPlan(JobMode.MICRO_BATCH, "SELECT", CatalogTable(("", "t"), definition, ("", "t"), source), rows)
    return module.start_query(Writer(reason), job)  # type: ignore[arg-type]


def test_an_aggregate_is_written_in_update_mode_to_an_upsert_table(monkeypatch: pytest.MonkeyPatch) -> None:
    assert start(monkeypatch, COUNTS, "k") == "started"
    with pytest.raises(UnsupportedSqlError, match="a filter"):
        start(monkeypatch, where(COUNTS, N), "k")
    with pytest.raises(
        UnsupportedSqlError,
        match=r"Table sink 't' doesn't support consuming update changes, .*'upsert-kafka' table .*WATERMARK FOR",
    ):
        start(monkeypatch, COUNTS)
    with pytest.raises(AnalysisException, match="another operation"):
        start(monkeypatch, source(k=1), "k", reason="another operation")
