"""Test the jobs of a session: status and STOP JOB."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.errors import JobNotFoundError, UnsupportedSqlError
from kafka_sql.sql.jobs import registry
from kafka_sql.sql.jobs.registry import register_job, session_jobs, stop_job
from kafka_sql.sql.recognize.statement_types import StopJob
from tests.unit.sql.jobs.fake_session import Query, Session


@pytest.fixture(autouse=True)
def no_spark_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "empty_dataframe", lambda spark: [])


def register(spark: Any, query: Any) -> Any:
    return register_job(spark, query)


def test_the_status_of_a_job() -> None:
    spark, query = Session(), Query("a")
    job = register(spark, query)
    assert job.status == "RUNNING"
    query.isActive = False
    assert job.status == "FINISHED"
    job.stopped = True
    assert job.status == "CANCELED"
    query.failure = ValueError("boom")  # type: ignore[assignment]
    assert job.status == "FAILED"


def test_jobs_are_listed_by_start_time_with_queries_started_elsewhere() -> None:
    unregistered = Query("unregistered", "run-2")
    unregistered.recentProgress = [SimpleNamespace(timestamp="2020-01-01T00:00:00.000Z")]
    registered = Query("registered")
    spark: Any = Session(unregistered, registered)
    register(spark, registered)
    assert [job.id for job in session_jobs(spark)] == ["unregistered", "registered"]
    assert session_jobs(spark)[0].started == 1_577_836_800
    assert [job.id for job in session_jobs(spark)] == ["unregistered", "registered"]  # not registered twice


def test_only_the_last_ended_jobs_are_kept() -> None:
    spark = Session()
    running = Query("running")
    register(spark, running)
    for n in range(150):
        query = Query(str(n), f"run-{n}")
        query.isActive = False
        register(spark, query)
    jobs = [job.id for job in session_jobs(spark)]  # type: ignore[arg-type]
    assert len(jobs) == registry.MAX_ENDED_JOBS + 1
    assert jobs[0] == "running"
    assert jobs[-1] == "149"


def test_stop_job_stops_running_jobs_with_the_id() -> None:
    spark: Any = Session()
    first, second = Query("a"), Query("b", "run-2")
    register(spark, first)
    register(spark, second)
    stop_job(spark, StopJob("a"))
    assert (first.stops, second.stops) == (1, 0)
    assert session_jobs(spark)[0].status == "CANCELED"
    with pytest.raises(JobNotFoundError, match=r"Running job 'a' not found in this session. It is CANCELED. See SHOW"):
        stop_job(spark, StopJob("a"))
    with pytest.raises(JobNotFoundError, match=r"Running job 'c' not found"):
        stop_job(spark, StopJob("c"))


def test_stop_job_takes_the_start_of_an_id() -> None:
    spark: Any = Session()
    first, second, third = Query("01234567-0"), Query("01234567-1", "run-2"), Query("abcdefgh-0", "run-3")
    for query in (first, second, third):
        register(spark, query)
    stop_job(spark, StopJob("abcdefgh"))
    assert (first.stops, second.stops, third.stops) == (0, 0, 1)
    with pytest.raises(JobNotFoundError, match=r"the ids of several jobs start with this\. Use the whole id") as error:
        stop_job(spark, StopJob("01234567"))
    assert error.value.job == "01234567"
    for too_short in ("", "0123456"):
        with pytest.raises(JobNotFoundError, match="not found in this session"):
            stop_job(spark, StopJob(too_short))
    assert (first.stops, second.stops) == (0, 0)


@pytest.mark.parametrize(
    ("statement", "clause"), [(StopJob("a", savepoint=True), "SAVEPOINT"), (StopJob("a", drain=True), "DRAIN")]
)
def test_savepoint_and_drain_are_not_supported_and_stop_nothing(statement: StopJob, clause: str) -> None:
    spark: Any = Session()
    query = Query("a")
    register(spark, query)
    with pytest.raises(UnsupportedSqlError, match=rf"STOP JOB ... WITH {clause} is not supported"):
        stop_job(spark, statement)
    assert query.stops == 0
