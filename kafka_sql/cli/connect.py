"""Run the shell's statements in a Spark Connect session. Implements ``kafka_sql.cli.engine.Engine``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, cast
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from kafka_sql.cli.output_mode import start_query
from kafka_sql.cli.rows import Rows, bytes_text
from kafka_sql.cli.text_columns import text_columns

_CHUNK_ROWS = 10_000  # rows that are printed at once
_POLL_SECONDS = 0.5  # between two checks for new rows of a continuous query

# the running stages, as last reported by the server; a command line process has only one session
_stages: list[Any] = []


def tag(spark: SparkSession, tag: str) -> None:
    """Tag this thread's requests, and follow their progress."""
    spark.clearProgressHandlers()
    spark.registerProgressHandler(cast(Any, _update_stages))
    spark.addTag(tag)


def _update_stages(stages: Any, done: bool, **_: Any) -> None:
    _stages[:] = [] if done else stages or []


def cancel(spark: SparkSession, tag: str) -> None:
    """Interrupt the requests with a tag."""
    spark.interruptTag(tag)


def count_tasks(spark: SparkSession, tag: str) -> tuple[int, int]:
    """Return the number of completed and of all tasks in this session's running stages."""
    stages = list(_stages)
    return sum(s.num_completed_tasks for s in stages), sum(s.num_tasks for s in stages)


def collect_rows(frame: DataFrame) -> Iterator[Rows]:
    """Receive the rows. The server formats the values, because number formats are Java's."""
    texts = text_columns(frame)
    # as bytes, because a string of Spark may contain some that are not UTF-8
    rows = texts.select(*(F.col(name).cast("string").cast("binary") for name in texts.columns)).toLocalIterator()
    while chunk := list(itertools.islice(rows, _CHUNK_ROWS)):
        yield [[None if value is None else bytes_text(bytes(value)) for value in row] for row in chunk]


def start_stream(frame: DataFrame, emit: Callable[[Rows], None]) -> StreamingQuery:
    """Start a query that writes to a table in the server's memory; ``wait_for_end`` prints its rows.

    With ``foreachBatch`` instead, the function would run on the server and print there.
    """
    name = f"kafka_sql_select_{uuid4().hex}"
    return start_query(frame, lambda mode: frame.writeStream.format("memory").queryName(name).outputMode(mode).start())


def wait_for_end(query: StreamingQuery, emit: Callable[[Rows], None]) -> None:
    """Print new rows until the query ends."""
    spark = SparkSession.active()
    printed_rows = 0
    has_ended = False
    while not has_ended:
        # check this before reading, so that the last rows are printed
        has_ended = bool(query.awaitTermination(cast(Any, _POLL_SECONDS)))
        for chunk in collect_rows(spark.table(query.name).offset(printed_rows)):
            emit(chunk)
            printed_rows += len(chunk)
    spark.catalog.dropTempView(query.name)
