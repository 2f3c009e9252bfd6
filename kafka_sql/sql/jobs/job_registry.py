"""The continuous queries of a session, running and ended: SHOW JOBS and STOP JOB."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kafka_sql.errors import JobNotFoundError, UnsupportedSqlError, did_you_mean
from kafka_sql.observability.listener import query_bytes_in
from kafka_sql.observability.metrics import job_metrics
from kafka_sql.sql.dataframes import dataframe, empty_dataframe
from kafka_sql.sql.recognize.classify import StopJob
from kafka_sql.sql.spark_errors import error_message, mask_secrets

RUNNING, FINISHED, FAILED, CANCELED = "RUNNING", "FINISHED", "FAILED", "CANCELED"  # as Flink names them
KEPT = 100  # ended jobs of a session that SHOW JOBS remembers

_ATTRIBUTE = "_kafka_sql_jobs"


@dataclass
class Job:
    """One start of a continuous query.

    Attributes:
        query: Spark's handle, which is valid after the query's end, too.
        id: the query's id, which stays over restarts from its checkpoint.
        name: its 'pipeline.name'.
        started: seconds since the epoch.
        stopped: whether it was asked to stop.
        writer: cluster and transactional id prefix of an exactly-once sink.
    """

    query: StreamingQuery
    id: str
    name: str | None
    started: float = field(default_factory=time.time)
    stopped: bool = False
    writer: tuple[str, str] | None = None

    @property
    def status(self) -> str:
        """RUNNING, FINISHED, FAILED or CANCELED."""
        if self.query.isActive:
            return RUNNING
        if self.failure is not None:
            return FAILED
        return CANCELED if self.stopped else FINISHED

    @property
    def failure(self) -> Exception | None:
        """What it failed of."""
        return self.query.exception()

    def stop(self) -> None:
        """Stop it and wait until it has; what its last batch had not committed is done again at the next start."""
        self.stopped = True
        self.query.stop()


def register_job(spark: SparkSession, query: StreamingQuery) -> Job:
    """Keep a query that was just started among the session's jobs: Spark forgets it when it ends."""
    jobs: list[Job] = spark.__dict__.setdefault(_ATTRIBUTE, [])
    ended = [job for job in jobs if not job.query.isActive] if len(jobs) > KEPT else []
    for job in ended[: len(jobs) - KEPT]:
        jobs.remove(job)
    jobs.append(Job(query, query.id, query.name))
    return jobs[-1]


def session_jobs(spark: SparkSession) -> list[Job]:
    """The session's jobs by start; queries that ``writeStream`` started belong to them as long as they run."""
    known: list[Job] = spark.__dict__.setdefault(_ATTRIBUTE, [])
    runs = {job.query.runId for job in known}
    for query in spark.streams.active:
        if query.runId not in runs:
            register_job(spark, query).started = _first_trigger(query)
    return sorted(known, key=lambda job: job.started)


def _first_trigger(query: StreamingQuery) -> float:
    """When a query that somebody else started first said that it was working; now, if it has not yet."""
    progress = query.recentProgress
    return datetime.fromisoformat(progress[0].timestamp.replace("Z", "+00:00")).timestamp() if progress else time.time()


_COLUMNS: Final = {
    "job id": pa.string(),
    "job name": pa.string(),
    "status": pa.string(),
    "start time": pa.timestamp("us", "UTC"),
    "rows per second": pa.float64(),
    "bytes per second": pa.float64(),
    "pending records": pa.int64(),
    "commits succeeded": pa.int64(),
    "commits failed": pa.int64(),
    "event time lag ms": pa.int64(),
    "idle ms": pa.int64(),
    "last error": pa.string(),
}


def show_jobs(spark: SparkSession) -> DataFrame:
    """Flink's columns, of running jobs what their last reports say of their sources, of failed ones why."""
    return dataframe(spark, _COLUMNS, [_row(job) for job in session_jobs(spark)])


def _row(job: Job) -> tuple[Any, ...]:
    started = datetime.fromtimestamp(job.started, timezone.utc)
    reports = job.query.recentProgress if job.query.isActive else []
    if not reports:
        error = None if job.failure is None else mask_secrets(error_message(job.failure)).partition("\n")[0]
        return (job.id, job.name, job.status, started, *[None] * (len(_COLUMNS) - 5), error)
    last = [report.batchId for report in reports if report.numInputRows][-1:]
    found = job_metrics(
        (json.loads(report.json) for report in reports), {i: query_bytes_in(job.query, i) for i in last}
    )
    sources = found.sources
    return (
        *(job.id, job.name, job.status, started),
        round(found.records_per_second, 1),
        None if found.bytes_per_second is None else round(found.bytes_per_second, 1),
        sum(s.pending_records for s in sources) if sources else None,
        sum(s.commits_succeeded for s in sources) if sources else None,
        sum(s.commits_failed for s in sources) if sources else None,
        found.event_time_lag,
        found.idle_time(time.time_ns() // 1_000_000),
        None,
    )


def stop_job(spark: SparkSession, statement: StopJob) -> DataFrame:
    """Stop a running job.

    Raises:
        UnsupportedSqlError: WITH SAVEPOINT or WITH DRAIN.
        JobNotFoundError: no job of this session has the id, or it has ended.
    """
    if statement.savepoint:
        raise UnsupportedSqlError(
            "STOP JOB ... WITH SAVEPOINT: every batch of a job ends with a checkpoint, so there is nothing to save. "
            f"Write STOP JOB '{statement.id}'; the same INSERT under the same 'pipeline.name' continues from it."
        )
    if statement.drain:
        raise UnsupportedSqlError(
            "STOP JOB ... WITH DRAIN: Spark cannot close the windows that are open when a query stops; they stay in "
            f"its checkpoint. Write STOP JOB '{statement.id}'."
        )
    found = [job for job in session_jobs(spark) if job.id == statement.id]
    running = [job for job in found if job.query.isActive]
    if not running:
        ended = (
            f" It is {found[-1].status}." if found else did_you_mean(statement.id, [j.id for j in session_jobs(spark)])
        )
        raise JobNotFoundError(f"There is no running job '{statement.id}' in this session.{ended} See SHOW JOBS.")
    for job in running:
        job.stop()
    return empty_dataframe(spark)
