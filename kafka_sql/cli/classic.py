"""A Spark whose JVM belongs to this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kafka_sql.cli.results import Lines, start_query

_PART = 10_000  # rows that cross from the JVM at once


def tag(spark: SparkSession, tag: str) -> None:
    """Mark this thread's jobs."""
    spark.sparkContext.addJobTag(tag)


def cancel(spark: SparkSession, tag: str) -> None:
    """Cancel the jobs that are marked."""
    spark.sparkContext.cancelJobsWithTag(tag)


def tasks(spark: SparkSession, tag: str) -> tuple[int, int]:
    """Done and all tasks of the marked stages that are at work."""
    tracker = spark.sparkContext.statusTracker()
    marked = set(cast(Any, spark.sparkContext)._jsc.sc().statusTracker().getJobIdsForTag(tag))
    done = total = 0
    for job in marked.intersection(tracker.getActiveJobsIds()):
        info = tracker.getJobInfo(job)
        for stage in [tracker.getStageInfo(id) for id in (info.stageIds if info else ())]:
            if stage is not None and stage.numActiveTasks:
                done, total = done + stage.numCompletedTasks, total + stage.numTasks
    return done, total


def lines(frame: DataFrame) -> Iterator[Lines]:
    """The rows in the words of Spark itself, which prints them so in spark-sql."""
    inner = cast(Any, frame)
    jvm = inner.sparkSession._jvm
    rows = jvm.org.apache.spark.sql.execution.HiveResult.hiveResultString(inner._jdf.queryExecution().executedPlan())
    for at in range(0, rows.size(), _PART):
        # one message for many rows; a NUL inside of a row would break the line on a terminal, too
        yield rows.slice(at, at + _PART).mkString("\0").split("\0")


def stream(frame: DataFrame, emit: Callable[[Lines], None]) -> StreamingQuery:
    """Start a query that prints each batch; its checkpoint is a temporary folder, which Spark removes."""

    def batch(rows: DataFrame, _: int) -> None:
        for part in lines(rows):
            emit(part)

    return start_query(frame, lambda mode: frame.writeStream.foreachBatch(batch).outputMode(mode).start())


def finish(query: StreamingQuery, emit: Callable[[Lines], None]) -> None:
    """Wait for the end of the query."""
    query.awaitTermination()
