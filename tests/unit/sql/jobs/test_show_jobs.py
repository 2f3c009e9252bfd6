"""Test SHOW JOBS and SHOW JOBS EXTENDED."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.sql.jobs import registry
from kafka_sql.sql.jobs.registry import register_job
from tests.unit.sql.jobs.fake_session import Query, Session

ID = "01234567-89ab-cdef-0123-456789abcdef"
LIMIT = {"spark.sql.streaming.numRecentProgressUpdates": "3"}


@pytest.fixture(autouse=True)
def classic_session(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], int]:
    """Make the session a classic one, and return the records that its tasks have counted."""
    counted: dict[tuple[str, str], int] = {}
    monkeypatch.setattr(registry, "is_connect", lambda spark: False)
    monkeypatch.setattr(registry, "query_bytes_in", lambda query, batch: None)
    monkeypatch.setattr("kafka_sql.sql.jobs.registry.records_by_client", lambda spark, id: counted)
    return counted


def report(batch: int, rows: int, end: int = 0, latest: int = 0) -> Any:
    progress = {
        "batchId": batch,
        "numInputRows": rows,
        "timestamp": "2020-01-01T00:00:00.000Z",
        "sources": [
            {
                "startOffset": None,
                "endOffset": {"version": 1, "offsets": {"t": {"0": end}}},
                "latestOffset": {"version": 1, "offsets": {"t": {"0": latest}}, "table": "default.t"},
            }
        ],
    }
    return SimpleNamespace(batchId=batch, numInputRows=rows, json=json.dumps(progress))


def test_show_jobs_is_a_short_summary() -> None:
    spark: Any = Session(**LIMIT)
    query = Query(ID, name="copy")
    register_job(spark, query).started = time.time() - 3725.5  # type: ignore[arg-type]
    query.recentProgress = [report(0, 5, end=5, latest=9), report(1, 2, end=7, latest=10)]
    (row,) = registry.show_jobs(spark)
    assert row == {"id": "01234567", "job name": "copy", "status": "RUNNING", "age": "1h 2m", "rows": 7, "lag": 3}
    query.isActive = False
    (row,) = registry.show_jobs(spark)
    assert (row["status"], row["rows"], row["lag"]) == ("FINISHED", 7, None)


def test_a_job_without_a_report() -> None:
    spark: Any = Session(**LIMIT)
    register_job(spark, Query(ID))  # type: ignore[arg-type]
    (row,) = registry.show_jobs(spark)
    assert (row["job name"], row["rows"], row["lag"]) == (None, None, None)


def test_rows_of_a_long_running_job_are_those_that_its_tasks_counted(
    classic_session: dict[tuple[str, str], int],
) -> None:
    spark: Any = Session(**LIMIT)
    query = Query(ID)
    classic_session["default.t", "direct"] = 100  # of an earlier run
    register_job(spark, query)  # type: ignore[arg-type]
    query.recentProgress = [report(n, 5) for n in (7, 8, 9)]
    classic_session["default.t", "direct"] = 152
    assert registry.show_jobs(spark)[0]["rows"] == 52  # type: ignore[index]
    classic_session["default.t", "direct"] = 110  # tasks count the records of Kafka tables only
    assert registry.show_jobs(spark)[0]["rows"] is None  # type: ignore[index]


def test_failed_jobs_show_the_first_line_of_their_error() -> None:
    spark: Any = Session(**LIMIT)
    query = Query(ID, name="copy")
    register_job(spark, query)  # type: ignore[arg-type]
    query.isActive, query.failure = False, ValueError("boom\n at somewhere")  # type: ignore[assignment]
    (row,) = registry.show_jobs_extended(spark)
    assert (row["job id"], row["job name"], row["status"], row["last error"]) == (
        ID,
        "copy",
        "FAILED",
        "ValueError: boom",
    )
    assert row["rows per second"] is None


@pytest.mark.parametrize(
    ("seconds", "age"),
    [
        (-1, "0s"),
        (59.9, "59s"),
        (60, "1m 0s"),
        (3599, "59m 59s"),
        (3600, "1h 0m"),
        (86_399, "23h 59m"),
        (90_000, "1d 1h"),
    ],
)
def test_ages_have_two_units(seconds: float, age: str) -> None:
    assert registry._format_age(seconds) == age
