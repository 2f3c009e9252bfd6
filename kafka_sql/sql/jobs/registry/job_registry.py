"""Register the continuous queries of a session, running and ended; STOP JOB."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kafka_sql.errors import JobNotFoundError, UnsupportedSqlError
from kafka_sql.source.reader.record_counters import records_by_client
from kafka_sql.sql.dataframes import empty_dataframe
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
