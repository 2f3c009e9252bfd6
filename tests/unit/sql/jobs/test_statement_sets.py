"""Test statement sets: the names of their jobs, and sets that fail halfway."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_sql.sql.jobs import statement_sets
from kafka_sql.sql.jobs.job_plan import JobMode, JobPlan
from kafka_sql.sql.jobs.targets.spark_table import Sink, SparkTable
from kafka_sql.sql.recognize.statement_types import StatementSet
from tests.unit.sql.jobs.fake_session import Session


def plan(sink: str) -> JobPlan:
    """Return the plan of a continuous query; of a batch if it has no sink."""
    if not sink:
        return JobPlan(JobMode.BATCH, "INSERT")
    return JobPlan(JobMode.MICRO_BATCH, "SELECT", SparkTable(("spark_catalog", sink), "parquet", Sink.FILES))


def job_names(*sinks: str, **settings: str) -> list[str | None]:
    spark: Any = Session(**settings)
    return [job.name for job in statement_sets._name_jobs(spark, list(map(plan, sinks)))]


def test_job_names_are_unique() -> None:
    assert job_names("a", "b", "", "a", "a") == [
        "insert-into_a", "insert-into_b", None, "insert-into_a-2", "insert-into_a-3",
    ]  # fmt: skip
    assert job_names("a-x", "a") == ["insert-into_a-x", "insert-into_a"]
    assert job_names("a-2", "a", "a") == ["insert-into_a-2", "insert-into_a", "insert-into_a-3"]
    assert job_names("a", "a", **{"pipeline.name": "p"}) == ["p/a", "p/a-2"]


class Job:
    id = name = "job"

    def __init__(self, fails: type[BaseException] | None) -> None:
        self.stops, self.fails = 0, fails

    def stop(self) -> None:
        self.stops += 1
        if self.fails:
            raise self.fails("stuck")


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_set_that_fails_stops_its_jobs(monkeypatch: pytest.MonkeyPatch, failure: type[BaseException]) -> None:
    jobs = [Job(RuntimeError), Job(None), Job(KeyboardInterrupt), Job(None)]
    remaining = list(jobs)

    def start(*_: Any) -> Job:
        if not remaining:
            raise failure("first failure")
        return remaining.pop(0)

    monkeypatch.setattr(statement_sets, "plan_insert", lambda *_: plan("a"))
    monkeypatch.setattr(statement_sets, "share_reads", lambda _, plans: plans)
    monkeypatch.setattr(statement_sets, "check_job", lambda _, plan: plan)
    monkeypatch.setattr(statement_sets, "start_job", start)
    with pytest.raises(failure, match="first failure"):
        statement_sets.execute(Session(), None, StatementSet(("INSERT INTO a SELECT 1",) * 5), None)  # type: ignore[arg-type]
    assert [job.stops for job in jobs] == [1, 1, 1, 1]
