"""Run the shell's statements in a classic session, whose JVM belongs to this process. Implements ``Engine``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kafka_sql.cli.output_mode import start_query

_CHUNK_ROWS = 10_000  # rows per transfer from the JVM


def tag(spark: SparkSession, tag: str) -> None:
    """Tag this thread's jobs."""
    spark.sparkContext.addJobTag(tag)


def cancel(spark: SparkSession, tag: str) -> None:
    """Cancel the jobs with a tag."""
    spark.sparkContext.cancelJobsWithTag(tag)


def count_tasks(spark: SparkSession, tag: str) -> tuple[int, int]:
    """Return the number of completed and of all tasks in the running stages with a tag."""
    tracker = spark.sparkContext.statusTracker()
    job_ids = set(cast(Any, spark.sparkContext)._jsc.sc().statusTracker().getJobIdsForTag(tag))
    completed = total = 0
    for job_id in job_ids.intersection(tracker.getActiveJobsIds()):
        job = tracker.getJobInfo(job_id)
        for stage in [tracker.getStageInfo(stage_id) for stage_id in (job.stageIds if job else ())]:
            if stage is not None and stage.numActiveTasks:
                completed, total = completed + stage.numCompletedTasks, total + stage.numTasks
    return completed, total


def format_rows(frame: DataFrame) -> Iterator[list[str]]:
    """Yield the rows as Spark formats them in spark-sql."""
    untyped = cast(Any, frame)
    jvm = untyped.sparkSession._jvm
    rows = jvm.org.apache.spark.sql.execution.HiveResult.hiveResultString(untyped._jdf.queryExecution().executedPlan())
    for start in range(0, rows.size(), _CHUNK_ROWS):
        # one string for many rows: each call to the JVM is slow, and rows of text contain no NUL
        yield rows.slice(start, start + _CHUNK_ROWS).mkString("\0").split("\0")


def start_stream(frame: DataFrame, emit: Callable[[list[str]], None]) -> StreamingQuery:
    """Start a query that prints each batch; Spark removes its temporary checkpoint."""

    def print_batch(rows: DataFrame, _: int) -> None:
        for chunk in format_rows(rows):
            emit(chunk)

    return start_query(frame, lambda mode: frame.writeStream.foreachBatch(print_batch).outputMode(mode).start())


def wait_for_end(query: StreamingQuery, emit: Callable[[list[str]], None]) -> None:
    """Wait until the query ends."""
    query.awaitTermination()
