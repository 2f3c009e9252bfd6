"""Register the continuous queries of a session, running and ended, for SHOW JOBS and STOP JOB."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kafka_sql.errors import JobNotFoundError, UnsupportedSqlError
from kafka_sql.observability.listener import query_bytes_in
from kafka_sql.observability.metrics import job_metrics
from kafka_sql.sql.dataframes import dataframe, empty_dataframe
from kafka_sql.sql.recognize.classify import StopJob
from kafka_sql.sql.spark_errors import error_message, mask_message
from kafka_sql.suggestions import did_you_mean

RUNNING, FINISHED, FAILED, CANCELED = "RUNNING", "FINISHED", "FAILED", "CANCELED"  # as Flink names them
MAX_ENDED_JOBS = 100  # per session; older ones are removed

_ATTRIBUTE = "_kafka_sql_jobs"


@dataclass
class Job:
    """One run of a continuous query.

    Attributes:
        query: Spark's query, which stays valid after its end.
        id: the query's id, which is stable across restarts from its checkpoint.
        name: its 'pipeline.name'.
        started: start time in seconds since the epoch.
        stopped: whether ``stop`` was called.
        transactional_sink: cluster and transactional id prefix of an exactly-once sink.
    """

    query: StreamingQuery
    id: str
    name: str | None
    started: float = field(default_factory=time.time)
    stopped: bool = False
    transactional_sink: tuple[str, str] | None = None

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
        """The error that ended the query, or None."""
        return self.query.exception()

    def stop(self) -> None:
        """Stop the query and wait for its end; the next start repeats a batch that was not committed."""
        self.stopped = True
        self.query.stop()


def register_job(spark: SparkSession, query: StreamingQuery) -> Job:
    """Add a started query to the session's jobs: Spark itself forgets queries that have ended."""
    jobs: list[Job] = spark.__dict__.setdefault(_ATTRIBUTE, [])
    ended = [job for job in jobs if not job.query.isActive] if len(jobs) > MAX_ENDED_JOBS else []
    for job in ended[: len(jobs) - MAX_ENDED_JOBS]:
        jobs.remove(job)
    jobs.append(Job(query, query.id, query.name))
    return jobs[-1]


def session_jobs(spark: SparkSession) -> list[Job]:
    """Return the session's jobs by start time, including running queries that were started by ``writeStream``."""
    jobs: list[Job] = spark.__dict__.setdefault(_ATTRIBUTE, [])
    runs = {job.query.runId for job in jobs}
    for query in spark.streams.active:
        if query.runId not in runs:
            register_job(spark, query).started = _first_trigger_time(query)
    return sorted(jobs, key=lambda job: job.started)


def _first_trigger_time(query: StreamingQuery) -> float:
    """Return when a query that was started elsewhere first reported progress; now, if it has not yet."""
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
    """Return Flink's columns for all jobs, the source metrics of running ones and the error of failed ones."""
    return dataframe(spark, _COLUMNS, [_job_row(job) for job in session_jobs(spark)])


def _job_row(job: Job) -> tuple[Any, ...]:
    started = datetime.fromtimestamp(job.started, timezone.utc)
    reports = job.query.recentProgress if job.query.isActive else []
    if not reports:
        error = None if job.failure is None else mask_message(error_message(job.failure)).partition("\n")[0]
        return (job.id, job.name, job.status, started, *[None] * (len(_COLUMNS) - 5), error)
    batches_with_rows = [report.batchId for report in reports if report.numInputRows]
    bytes_in = {batch: query_bytes_in(job.query, batch) for batch in batches_with_rows[-1:]}
    metrics = job_metrics((json.loads(report.json) for report in reports), bytes_in)
    sources = metrics.sources
    return (
        *(job.id, job.name, job.status, started),
        round(metrics.records_per_second, 1),
        None if metrics.bytes_per_second is None else round(metrics.bytes_per_second, 1),
        sum(s.pending_records for s in sources) if sources else None,
        sum(s.commits_succeeded for s in sources) if sources else None,
        sum(s.commits_failed for s in sources) if sources else None,
        metrics.event_time_lag,
        metrics.idle_time(time.time_ns() // 1_000_000),
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
            "STOP JOB ... WITH SAVEPOINT: not supported, and not needed: every batch ends with a checkpoint. Use "
            f"STOP JOB '{statement.id}'; the same INSERT with the same 'pipeline.name' resumes from that checkpoint."
        )
    if statement.drain:
        raise UnsupportedSqlError(
            "STOP JOB ... WITH DRAIN: not supported: Spark cannot close open windows when a query stops; they stay in "
            f"its checkpoint. Use STOP JOB '{statement.id}'."
        )
    jobs = session_jobs(spark)
    runs = [job for job in jobs if job.id == statement.id]
    running = [job for job in runs if job.query.isActive]
    if not running:
        status = f" It is {runs[-1].status}." if runs else did_you_mean(statement.id, [job.id for job in jobs])
        raise JobNotFoundError(
            f"Running job '{statement.id}' not found in this session.{status} See SHOW JOBS.", job=statement.id
        )
    for job in running:
        job.stop()
    return empty_dataframe(spark)
