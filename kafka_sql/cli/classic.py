"""Run the shell's statements in a classic session, whose JVM belongs to this process. Implements ``Engine``."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import BinaryType, DataType

from kafka_sql.cli.output_mode import start_query
from kafka_sql.cli.rows import Rows, bytes_text
from kafka_sql.cli.text_columns import text_columns
from kafka_sql.spark.collect import collect_texts, jobs_with_tag
from kafka_sql.sql.jobs.targets.batch_functions import with_short_errors

_CHUNK_ROWS: Final = 10_000  # rows per transfer from the JVM


def tag(spark: SparkSession, tag: str) -> None:
    """Tag this thread's jobs."""
    spark.sparkContext.addJobTag(tag)


def cancel(spark: SparkSession, tag: str) -> None:
    """Cancel the jobs with a tag."""
    spark.sparkContext.cancelJobsWithTag(tag)


def count_tasks(spark: SparkSession, tag: str) -> tuple[int, int]:
    """Return the number of completed and of all tasks in the running stages with a tag."""
    tracker = spark.sparkContext.statusTracker()
    completed = total = 0
    for job_id in jobs_with_tag(spark, tag).intersection(tracker.getActiveJobsIds()):
        job = tracker.getJobInfo(job_id)
        for stage in [tracker.getStageInfo(stage_id) for stage_id in (job.stageIds if job else ())]:
            if stage is not None and stage.numActiveTasks:
                completed, total = completed + stage.numCompletedTasks, total + stage.numTasks
    return completed, total


def collect_rows(frame: DataFrame) -> Iterator[Rows]:
    """Collect the rows, as ``frame.collect()`` does. The JVM holds the result, up to ``spark.driver.maxResultSize``."""
    texts = text_columns(frame)
    types = [field.dataType for field in texts.schema]
    separator = secrets.token_hex(8)  # no value contains it
    line = F.concat_ws(separator, *(_mark(F.col(name), type) for name, type in zip(texts.columns, types, strict=True)))
    for marked in collect_texts(texts, line, separator, _CHUNK_ROWS):
        values: list[str | None] = [None if value == "-" else value[1:] for value in marked]
        for i, type in enumerate(types):
            if isinstance(type, BinaryType):
                values[i :: len(types)] = [
                    value and bytes_text(value.encode("latin-1")) for value in values[i :: len(types)]
                ]
        yield [values[row : row + len(types)] for row in range(0, len(values), len(types))]


def _mark(column: Column, type: DataType) -> Column:
    """Put a sign before each value, so that NULL differs from texts; decode bytes to one character each."""
    text = F.decode(column, "ISO-8859-1") if isinstance(type, BinaryType) else column.cast("string")
    return F.coalesce(F.concat(F.lit("+"), text), F.lit("-"))


def start_stream(frame: DataFrame, emit: Callable[[Rows], None]) -> StreamingQuery:
    """Start a query that prints each batch; Spark removes its temporary checkpoint."""

    def print_batch(rows: DataFrame, _: int) -> None:
        for chunk in collect_rows(rows):
            emit(chunk)

    return start_query(
        frame, lambda mode: frame.writeStream.foreachBatch(with_short_errors(print_batch)).outputMode(mode).start()
    )


def wait_for_end(query: StreamingQuery, emit: Callable[[Rows], None]) -> None:
    """Wait until the query ends."""
    query.awaitTermination()
