"""Run the shell's statements: in a classic session, whose JVM belongs to this process, or over Spark Connect."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias, cast
from uuid import uuid4

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import BinaryType, DataType

from kafka_sql.cli.screen import Rows, bytes_text
from kafka_sql.cli.text_columns import text_columns
from kafka_sql.spark.collect import collect_texts, jobs_with_tag
from kafka_sql.spark.distinct_aggregates import expand_distinct
from kafka_sql.spark.jvm import is_classic
from kafka_sql.spark.stream_support import is_output_mode_error
from kafka_sql.sql.jobs.checks.unsupported_operations import explain_unsupported
from kafka_sql.sql.jobs.targets.batch_functions import with_short_errors

_CHUNK_ROWS: Final = 10_000  # rows per transfer from the JVM, or that are printed at once
_POLL_SECONDS: Final = 0.5  # between two checks for new rows of a continuous query


class Classic:
    """Prints the batches of a stream as this process receives them; Spark removes its temporary checkpoint."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def tag(self, tag: str) -> None:
        """Tag all requests of this thread to Spark, from now on until it ends."""
        self._spark.sparkContext.addJobTag(tag)

    def cancel(self, tag: str) -> None:
        """Cancel the requests with a tag."""
        self._spark.sparkContext.cancelJobsWithTag(tag)

    def count_tasks(self, tag: str) -> tuple[int, int]:
        """Return the number of completed and of all tasks in the running stages with a tag; (0, 0) if none run."""
        tracker = self._spark.sparkContext.statusTracker()
        completed = total = 0
        for job_id in jobs_with_tag(self._spark, tag).intersection(tracker.getActiveJobsIds()):
            job = tracker.getJobInfo(job_id)
            for stage in [tracker.getStageInfo(stage_id) for stage_id in (job.stageIds if job else ())]:
                if stage is not None and stage.numActiveTasks:
                    completed, total = completed + stage.numCompletedTasks, total + stage.numTasks
        return completed, total

    def collect_rows(self, frame: DataFrame) -> Iterator[Rows]:
        """Run a query and yield its rows in chunks, with the values as the texts that spark-sql prints."""
        # as ``frame.collect()``: the JVM holds the result, up to spark.driver.maxResultSize
        texts = text_columns(frame)
        types = [field.dataType for field in texts.schema]
        separator = secrets.token_hex(8)  # no value contains it
        marked_columns = [_mark(F.col(name), type) for name, type in zip(texts.columns, types, strict=True)]
        for marked in collect_texts(texts, F.concat_ws(separator, *marked_columns), separator, _CHUNK_ROWS):
            values: list[str | None] = [None if value == "-" else value[1:] for value in marked]
            for i, type in enumerate(types):
                if isinstance(type, BinaryType):
                    values[i :: len(types)] = [
                        value and bytes_text(value.encode("latin-1")) for value in values[i :: len(types)]
                    ]
            yield [values[row : row + len(types)] for row in range(0, len(values), len(types))]

    def start_stream(self, frame: DataFrame, emit: Callable[[Rows], None]) -> StreamingQuery:
        """Start a continuous query that passes its rows to ``emit``."""

        def print_batch(rows: DataFrame, _: int) -> None:
            for chunk in self.collect_rows(rows):
                emit(chunk)

        writer = expand_distinct(frame).writeStream.foreachBatch(with_short_errors(print_batch))
        return _start(frame, lambda mode: writer.outputMode(mode).start())

    def wait_for_end(self, query: StreamingQuery, emit: Callable[[Rows], None]) -> None:
        """Wait until a query of ``start_stream`` ends."""
        query.awaitTermination()


def _mark(column: Column, type: DataType) -> Column:
    """Put a sign before each value, so that NULL differs from texts; decode bytes to one character each."""
    text = F.decode(column, "ISO-8859-1") if isinstance(type, BinaryType) else column.cast("string")
    return F.coalesce(F.concat(F.lit("+"), text), F.lit("-"))


class Connect:
    """Has the methods of ``Classic``. Writes a stream to a table in the server's memory, whose new rows are printed.

    With ``foreachBatch`` instead, the function would run on the server and print there.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._stages: list[Any] = []  # the running ones, as last reported by the server

    def tag(self, tag: str) -> None:
        self._spark.clearProgressHandlers()
        self._spark.registerProgressHandler(cast(Any, self._update_stages))
        self._spark.addTag(tag)

    def _update_stages(self, stages: Any, done: bool, **_: Any) -> None:
        self._stages = [] if done else stages or []

    def cancel(self, tag: str) -> None:
        self._spark.interruptTag(tag)

    def count_tasks(self, tag: str) -> tuple[int, int]:
        stages = self._stages
        return sum(s.num_completed_tasks for s in stages), sum(s.num_tasks for s in stages)

    def collect_rows(self, frame: DataFrame) -> Iterator[Rows]:
        texts = text_columns(frame)  # the server formats the values, because number formats are Java's
        # as bytes, because a string of Spark may contain some that are not UTF-8
        rows = texts.select(*(F.col(name).cast("string").cast("binary") for name in texts.columns)).toLocalIterator()
        while chunk := list(itertools.islice(rows, _CHUNK_ROWS)):
            yield [[None if value is None else bytes_text(bytes(value)) for value in row] for row in chunk]

    def start_stream(self, frame: DataFrame, emit: Callable[[Rows], None]) -> StreamingQuery:
        writer = frame.writeStream.format("memory").queryName(f"kafka_sql_select_{uuid4().hex}")
        return _start(frame, lambda mode: writer.outputMode(mode).start())

    def wait_for_end(self, query: StreamingQuery, emit: Callable[[Rows], None]) -> None:
        printed_rows = 0
        has_ended = False
        while not has_ended:
            # check this before reading, so that the last rows are printed
            has_ended = bool(query.awaitTermination(cast(Any, _POLL_SECONDS)))
            for chunk in self.collect_rows(self._spark.table(query.name).offset(printed_rows)):
                emit(chunk)
                printed_rows += len(chunk)
        self._spark.catalog.dropTempView(query.name)


Engine: TypeAlias = Classic | Connect


def engine_for(spark: SparkSession) -> Engine:
    return Classic(spark) if is_classic(spark) else Connect(spark)


def _start(frame: DataFrame, write: Callable[[str], StreamingQuery]) -> StreamingQuery:
    """Start a continuous query in an output mode that Spark supports for it."""
    try:
        return write("append")
    except AnalysisException as e:
        if not is_output_mode_error(e):
            raise explain_unsupported(e, frame) from None
        return write("update")  # an aggregate without a watermark: print each change of a row
