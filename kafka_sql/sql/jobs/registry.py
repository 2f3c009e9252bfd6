"""The continuous queries of a session, running and ended: SHOW JOBS, STOP JOB."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kafka_sql.errors import JobNotFoundError, UnsupportedSqlError
from kafka_sql.observability.late_rows import late_record_count
from kafka_sql.observability.listener import query_bytes_in
from kafka_sql.observability.metrics import JobMetrics, SourceMetrics, job_metrics
from kafka_sql.source.reader.record_counters import records_by_client
from kafka_sql.spark.context import is_connect
from kafka_sql.sql.dataframes import dataframe, empty_dataframe
from kafka_sql.sql.errors.spark_errors import error_message, mask_message
from kafka_sql.sql.recognize.statement_types import StopJob
from kafka_sql.suggestions import did_you_mean

RUNNING, FINISHED, FAILED, CANCELED = "RUNNING", "FINISHED", "FAILED", "CANCELED"  # as Flink names them
SHORT_ID: Final = 8  # characters of an id in SHOW JOBS
MAX_ENDED_JOBS = 100  # per session; older ones are removed

_ATTRIBUTE = "_kafka_sql_jobs"


@dataclass
class Job:
    """One run of a continuous query."""

    query: StreamingQuery  # Spark's query, which stays valid after its end
    id: str  # the query's id, which is stable across restarts from its checkpoint
    name: str | None  # its 'pipeline.name'
    started: float = field(default_factory=time.time)  # start time in seconds since the epoch
    stopped: bool = False  # whether ``stop`` was called
    records_before: int = 0  # records that the tasks of earlier runs of the query have counted
    transactional_sink: tuple[str, str] | None = None  # cluster and transactional id prefix of an exactly-once sink

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
    jobs.append(Job(query, query.id, query.name, records_before=records_counted(spark, query.id)))
    return jobs[-1]


def session_jobs(spark: SparkSession) -> list[Job]:
    """Return the session's jobs by start time, including running queries that were started by ``writeStream``."""
    jobs: list[Job] = spark.__dict__.setdefault(_ATTRIBUTE, [])
    runs = {job.query.runId for job in jobs}
    for query in spark.streams.active:
        if query.runId not in runs:
            register_job(spark, query).started = _first_trigger_time(query)
    return sorted(jobs, key=lambda job: job.started)


def records_counted(spark: SparkSession, id: str) -> int:
    """Return how many records of Kafka tables the runs of a query have read in this application."""
    return sum(records_by_client(spark, id).values())


def _first_trigger_time(query: StreamingQuery) -> float:
    """Return when a query that was started elsewhere first reported progress; now, if it has not yet."""
    progress = query.recentProgress
    return datetime.fromisoformat(progress[0].timestamp.replace("Z", "+00:00")).timestamp() if progress else time.time()


def stop_job(spark: SparkSession, statement: StopJob) -> DataFrame:
    """Stop a running job. The start of its id, as in SHOW JOBS, is enough if no other id starts with it.

    Raises:
        UnsupportedSqlError: WITH SAVEPOINT or WITH DRAIN.
        JobNotFoundError: no job of this session has the id, it has ended, or several ids start with it.
    """
    if statement.savepoint:
        raise UnsupportedSqlError(
            "STOP JOB ... WITH SAVEPOINT is not supported and not needed: every batch ends with a checkpoint. Use "
            f"STOP JOB '{statement.id}'; the same INSERT with the same 'pipeline.name' resumes from that checkpoint."
        )
    if statement.drain:
        raise UnsupportedSqlError(
            "STOP JOB ... WITH DRAIN is not supported: Spark cannot close open windows when a query stops; they stay "
            f"in its checkpoint. Use STOP JOB '{statement.id}'."
        )
    jobs = session_jobs(spark)
    is_start = len(statement.id) >= SHORT_ID
    runs = [job for job in jobs if job.id == statement.id or (is_start and job.id.startswith(statement.id))]
    if len({job.id for job in runs}) > 1:
        raise JobNotFoundError(
            f"STOP JOB '{statement.id}': the ids of several jobs start with this. Use the whole id; SHOW JOBS EXTENDED "
            "lists it.",
            job=statement.id,
        )
    running = [job for job in runs if job.query.isActive]
    if not running:
        status = f" It is {runs[-1].status}." if runs else did_you_mean(statement.id, [job.id for job in jobs])
        raise JobNotFoundError(
            f"Running job '{statement.id}' not found in this session.{status} See SHOW JOBS.", job=statement.id
        )
    for job in running:
        job.stop()
    return empty_dataframe(spark)


_RETAINED_REPORTS: Final = "spark.sql.streaming.numRecentProgressUpdates"
_COLUMNS: Final = {
    "id": pa.string(),
    "job name": pa.string(),
    "status": pa.string(),
    "age": pa.string(),
    "rows": pa.int64(),
    "lag": pa.int64(),
}
_EXTENDED_COLUMNS: Final = {
    "job id": pa.string(),
    "job name": pa.string(),
    "status": pa.string(),
    "start time": pa.timestamp("us", "UTC"),
    "rows": pa.int64(),
    "rows per second": pa.float64(),
    "bytes per second": pa.float64(),
    "pending records": pa.int64(),
    "commits succeeded": pa.int64(),
    "commits failed": pa.int64(),
    "event time lag ms": pa.int64(),
    "late records dropped": pa.int64(),
    "idle ms": pa.int64(),
    "state rows": pa.int64(),
    "state bytes": pa.int64(),
    "last error": pa.string(),
}


def show_jobs(spark: SparkSession) -> DataFrame:
    """Return all jobs in a table at most 80 characters wide: what runs, since when, and how much is read and unread."""
    jobs = [(job, _JobState.of(spark, job)) for job in session_jobs(spark)]
    rows = [
        (job.id[:SHORT_ID], job.name, job.status, _format_age(time.time() - job.started), state.rows, state.lag)
        for job, state in jobs
    ]
    return dataframe(spark, _COLUMNS, rows)


def show_jobs_extended(spark: SparkSession) -> DataFrame:
    """Return Flink's columns for all jobs, the source metrics of running ones and the error of failed ones."""
    rows = [_extended_row(spark, job, _JobState.of(spark, job)) for job in session_jobs(spark)]
    return dataframe(spark, _EXTENDED_COLUMNS, [tuple(row.get(column) for column in _EXTENDED_COLUMNS) for row in rows])


@dataclass(frozen=True)
class _JobState:
    """What Spark has reported about a job."""

    rows: int | None = None  # rows read since the start; None if unknown
    metrics: JobMetrics | None = None  # the metrics of a running job; None before its first report

    @classmethod
    def of(cls, spark: SparkSession, job: Job) -> _JobState:
        is_active = job.query.isActive
        # a Spark Connect server forgets queries that have ended
        reports = job.query.recentProgress if is_active or not is_connect(spark) else []
        if not reports:
            return cls()
        rows = _rows_read(spark, job, [report.numInputRows for report in reports])
        if not is_active:
            return cls(rows)
        batches_with_rows = [report.batchId for report in reports if report.numInputRows]
        bytes_in = {batch: query_bytes_in(job.query, batch) for batch in batches_with_rows[-1:]}
        return cls(rows, job_metrics((json.loads(report.json) for report in reports), bytes_in))

    @property
    def sources(self) -> list[SourceMetrics]:
        """The metrics of the Kafka tables that a running job reads."""
        return self.metrics.sources if self.metrics is not None else []

    @property
    def lag(self) -> int | None:
        """The number of records that a running job has not read; None if unknown."""
        return sum(s.pending_records for s in self.sources) if self.sources else None


def _rows_read(spark: SparkSession, job: Job, reported: Sequence[int]) -> int | None:
    """Return how many rows a job has read since its start.

    Spark keeps the last reports only. A long-running job is counted by its tasks, which count records of Kafka tables.
    """
    total = sum(reported)
    if len(reported) < int(spark.conf.get(_RETAINED_REPORTS) or 0):
        return total
    counted = records_counted(spark, job.id) - job.records_before
    return counted if counted >= total else None


def _extended_row(spark: SparkSession, job: Job, state: _JobState) -> dict[str, Any]:
    row = {
        "job id": job.id,
        "job name": job.name,
        "status": job.status,
        "start time": datetime.fromtimestamp(job.started, timezone.utc),
        "rows": state.rows,
        "late records dropped": late_record_count(spark, str(job.query.runId)),
    }
    metrics, sources = state.metrics, state.sources
    if metrics is None:
        error = None if job.failure is None else mask_message(error_message(job.failure)).partition("\n")[0]
        return {**row, "last error": error}
    return {
        **row,
        "rows per second": round(metrics.records_per_second, 1),
        "bytes per second": None if metrics.bytes_per_second is None else round(metrics.bytes_per_second, 1),
        "pending records": state.lag,
        "commits succeeded": sum(s.commits_succeeded for s in sources) if sources else None,
        "commits failed": sum(s.commits_failed for s in sources) if sources else None,
        "event time lag ms": metrics.event_time_lag,
        "late records dropped": max(row["late records dropped"] or 0, metrics.late_records_dropped),
        "idle ms": metrics.idle_time(time.time_ns() // 1_000_000),
        "state rows": metrics.state_rows,
        "state bytes": metrics.state_bytes,
    }


def _format_age(seconds: float) -> str:
    """Return a duration with its two largest units: ``5s``, ``3m 20s``, ``2h 5m``, ``4d 11h``."""
    minutes, s = divmod(max(0, int(seconds)), 60)
    hours, m = divmod(minutes, 60)
    days, h = divmod(hours, 24)
    if days:
        return f"{days}d {h}h"
    if hours:
        return f"{h}h {m}m"
    return f"{m}m {s}s" if m else f"{s}s"
