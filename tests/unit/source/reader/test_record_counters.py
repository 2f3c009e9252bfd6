"""Test what tasks count, and what the driver reads of it, with Spark's accumulator of one process."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.runtime import task as task_module
from kafka_sql.source.reader import record_counters
from kafka_sql.source.reader.record_counters import (
    BadRecordCounts,
    bad_record_counts,
    count_bad_records,
    count_records_read,
    records_by_client,
    reset_counts,
)


@pytest.fixture
def query(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The query whose task runs."""
    counts: dict[tuple[str, ...], int] = {}
    accumulator = SimpleNamespace(value=counts)
    accumulator.add = lambda update: record_counters._SUM_BY_KEY.addInPlace(counts, update)
    query = SimpleNamespace(id="q")
    task = SimpleNamespace(getLocalProperty=lambda key: query.id)
    monkeypatch.setattr(task_module, "TaskContext", SimpleNamespace(get=lambda: task))
    monkeypatch.setattr(record_counters, "task_accumulator", lambda *_: accumulator)
    monkeypatch.setattr(record_counters, "_accumulator", lambda spark: accumulator)
    return query


def test_counts_of_each_query(query: SimpleNamespace) -> None:
    spark: Any = None
    count_records_read(0, 5, "a", "direct")
    count_records_read(0, 7, "a", "direct")
    count_records_read(0, 1, "a", "librdkafka")
    count_records_read(0, 2, "b", "direct")
    count_bad_records(0, 3, dead_lettered=False)
    query.id = "other"
    count_records_read(0, 100, "a", "direct")
    count_bad_records(0, 4, dead_lettered=True)
    expected = {("a", "direct"): 12, ("a", "librdkafka"): 1, ("b", "direct"): 2}
    assert records_by_client(spark, "q") == expected
    assert bad_record_counts(spark, "q") == BadRecordCounts(3, 0)
    reset_counts(spark, "other")
    assert (records_by_client(spark, "other"), bad_record_counts(spark, "other")) == ({}, BadRecordCounts(0, 0))
    assert records_by_client(spark, "q") == expected


def test_batch_queries_and_connect_clients_count_nothing(
    query: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark: Any = None
    query.id = None
    count_records_read(0, 5, "a", "direct")
    query.id = "q"
    count_records_read(None, 5, "a", "direct")
    assert records_by_client(spark, "q") == {}
    monkeypatch.setattr(record_counters, "_accumulator", lambda spark: None)
    assert (records_by_client(spark, "q"), bad_record_counts(spark, "q")) == ({}, None)
