"""INSERT statements emit OpenLineage events, written to a file here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.observability import lineage
from tests.topics import Topics
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


@pytest.fixture
def events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a function that returns the emitted events."""
    path = tmp_path / "events.jsonl"
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "file")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__LOG_FILE_PATH", str(path))
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__APPEND", "true")
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "shop")
    lineage._client.cache_clear()
    yield lambda: [json.loads(line) for line in path.read_text().splitlines()]
    lineage._client.cache_clear()


def datasets(event: Any, side: str) -> list[tuple[str, str, list[tuple[str, str]]]]:
    return [
        (d["namespace"], d["name"], [(f["name"], f["type"]) for f in d["facets"]["schema"]["fields"]])
        for d in event[side]
    ]


def test_batches_and_continuous_queries(spark: Any, sql: Any, topics: Topics, events: Any, tmp_path: Path) -> None:
    source, target = topics.create(), topics.create()
    sql(f"CREATE TABLE orders (id INT, ts TIMESTAMP(3)) {topics.with_options(source)}")
    sql(f"CREATE TABLE ids (id INT) {topics.with_options(target)}")
    sql("INSERT INTO orders VALUES (1, TIMESTAMP '2026-01-01 00:00:00')")
    sql("INSERT INTO ids SELECT id FROM orders")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        sql("INSERT INTO ids SELECT CAST(1 / (id - 1) AS INT) FROM orders")
    sql("SET 'execution.runtime-mode' = 'streaming'")
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    sql("SET 'pipeline.name' = 'copy_ids'")
    (row,) = sql("INSERT INTO ids SELECT id FROM orders").collect()
    query = spark.streams.get(row[0])
    query.processAllAvailable()
    sql(f"STOP JOB '{row[0]}'")
    wait_until(lambda: len(events()) == 8, "the job's last event")

    emitted = [(e["job"]["name"], e["eventType"], len(e["inputs"]), len(e["outputs"])) for e in events()]
    assert emitted == [
        ("insert_into.default.orders", "START", 0, 1),
        ("insert_into.default.orders", "COMPLETE", 0, 1),
        ("insert_into.default.ids", "START", 1, 1),
        ("insert_into.default.ids", "COMPLETE", 1, 1),
        ("insert_into.default.ids", "START", 1, 1),
        ("insert_into.default.ids", "FAIL", 1, 1),
        ("copy_ids", "START", 1, 1),
        ("copy_ids", "ABORT", 1, 1),
    ]
    failed, started = events()[5], events()[6]
    assert "DIVIDE_BY_ZERO" in failed["run"]["facets"]["errorMessage"]["message"]
    cluster = f"kafka://{topics.bootstrap}"
    assert datasets(started, "inputs") == [(cluster, source, [("id", "INT"), ("ts", "TIMESTAMP_NTZ")])]
    assert datasets(started, "outputs") == [(cluster, target, [("id", "INT")])]
    assert started["run"]["runId"] == query.runId
    assert started["job"]["namespace"] == "shop"
    assert started["job"]["facets"]["jobType"]["processingType"] == "STREAMING"


def test_a_failure_to_emit_does_not_fail_the_statement(
    sql: Any, topics: Topics, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    topic = topics.create()
    sql(f"CREATE TABLE numbers (n INT) {topics.with_options(topic)}")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "file")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__LOG_FILE_PATH", "/nowhere/events")
    lineage._client.cache_clear()
    sql("INSERT INTO numbers VALUES (1)")
    assert [m.value() for m in topics.consume(topic, 1)] == [b'{"n":1}']
    message = "Job 'insert_into.default.numbers': the OpenLineage event COMPLETE was not emitted"
    wait_until(lambda: message in caplog.text, "the warning")
    lineage._client.cache_clear()
