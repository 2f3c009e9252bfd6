"""Run the shell's statements in a classic session, whose JVM belongs to this process. Implements ``Engine``."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import BinaryType, CharType, DataType, StringType, VarcharType

from kafka_sql.cli.output_mode import start_query
from kafka_sql.cli.rows import Rows, bytes_text, prints_text_of_bytes
from kafka_sql.sql.jobs.batch_functions import with_short_errors

_CHUNK_ROWS: Final = 10_000  # rows per transfer from the JVM
_TEXT_TYPES: Final = (StringType, CharType, VarcharType)
_MARK: Final = "+"


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


def collect_rows(frame: DataFrame) -> Iterator[Rows]:
    """Collect the rows, as ``frame.collect()`` does, with values that Spark formats as in spark-sql.

    The JVM holds the result, up to ``spark.driver.maxResultSize``.
    """
    types = [field.dataType for field in frame.schema]
    show_bytes = prints_text_of_bytes(frame.sparkSession)
    separator = secrets.token_hex(8)  # no value contains it
    # by number, because several columns may have the same name
    numbered = frame.toDF(*(str(i) for i in range(len(types))))
    columns = [(_mark_text(F.col(str(i)), type, show_bytes), F.lit(separator)) for i, type in enumerate(types)]
    selected = cast(Any, numbered.select(*itertools.chain(*columns)))._jdf
    session = cast(Any, frame.sparkSession)
    hive_result = session._jvm.org.apache.spark.sql.execution.HiveResult
    rows, schema = selected.collectAsList(), selected.schema()
    for start in range(0, rows.size(), _CHUNK_ROWS):
        chunk = rows.subList(start, min(start + _CHUNK_ROWS, rows.size()))
        plan = session._jsparkSession.createDataFrame(chunk, schema).queryExecution().executedPlan()
        # one string for many rows, because each call to the JVM is slow
        text = hive_result.hiveResultString(plan).mkString("\t")
        values = f"{text}\t".split(f"\t{separator}\t")[:-1]
        yield [
            [_read_text(value, type, show_bytes) for value, type in zip(row, types, strict=True)]
            for row in zip(*[iter(values)] * len(types), strict=True)
        ]


def _mark_text(column: Column, type: DataType, show_bytes: bool) -> Column:
    """Put a mark before each text, so that no text is like Spark's NULL; decode bytes to one character each."""
    if isinstance(type, BinaryType) and show_bytes:
        return F.concat(F.lit(_MARK), F.decode(column, "ISO-8859-1"))
    return F.concat(F.lit(_MARK), column) if isinstance(type, _TEXT_TYPES) else column


def _read_text(value: str, type: DataType, show_bytes: bool) -> str | None:
    """Return a value without the mark; None for NULL."""
    if value == "NULL":
        return None
    if isinstance(type, BinaryType) and show_bytes:
        return bytes_text(value.removeprefix(_MARK).encode("latin-1"))
    return value.removeprefix(_MARK) if isinstance(type, _TEXT_TYPES) else value


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
