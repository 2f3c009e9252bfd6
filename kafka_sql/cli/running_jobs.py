"""Wait for the jobs that statements started."""

from __future__ import annotations

from queue import SimpleQueue
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.util import InheritableThread

from kafka_sql.cli.interrupts import handle_signals, next_event
from kafka_sql.cli.screen import Screen
from kafka_sql.sql.errors.spark_errors import error_message
from kafka_sql.sql.jobs.registry import FAILED, RUNNING, Job, session_jobs

_TICK_SECONDS = 1.0  # between two progress updates


def wait_for_jobs(spark: SparkSession, screen: Screen) -> int:
    """Wait until all jobs have ended; return the exit code.

    SIGINT and SIGTERM stop the jobs, which is not an error. If a job fails, the others are stopped, too, so that a
    supervisor notices and restarts the process; all jobs then resume from their checkpoints.
    """
    running = [job for job in session_jobs(spark) if job.status == RUNNING]
    if running:
        names = ", ".join(f"{job.name} ({job.id})" for job in running)
        screen.info(f"Running until the jobs end or Ctrl-C stops them: {names}")
        _wait_for_end(spark, running, screen)
    failed = [job for job in session_jobs(spark) if job.status == FAILED]
    for job in failed:
        report_failure(job, screen)
    return int(bool(failed))


def _wait_for_end(spark: SparkSession, running: list[Job], screen: Screen) -> None:
    events: SimpleQueue[int] = SimpleQueue()
    with handle_signals(events.put):
        for job in running:
            thread: Any = InheritableThread(target=_wait, args=(job, events), session=spark, daemon=True)
            thread.start()
        while any(job.status == RUNNING for job in running):
            event = next_event(events, _TICK_SECONDS)
            if event is None:
                screen.status(" | ".join(job_progress(job) for job in running if job.status == RUNNING))
            if event or any(job.status == FAILED for job in session_jobs(spark)):
                stop_jobs(running)
    screen.clear()


def stop_jobs(running: list[Job]) -> None:
    """Stop jobs and wait until they have ended."""
    for job in running:
        if job.status == RUNNING:
            job.stop()


def _wait(job: Job, events: SimpleQueue[int]) -> None:
    try:
        job.query.awaitTermination()
    except StreamingQueryException:
        pass  # job.failure has it
    finally:
        events.put(0)


def job_progress(job: Job) -> str:
    """Return a short description of a running job's progress."""
    progress = job.query.lastProgress
    if progress is None:
        return f"{job.name}: starting"
    return f"{job.name}: batch {progress.batchId}, {progress.processedRowsPerSecond or 0:,.0f} rows/s"


def report_failure(job: Job, screen: Screen) -> None:
    screen.error(f"Job {job.name} ({job.id}) failed: {error_message(job.failure or Exception())}")
