"""A Spark behind Spark Connect."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, cast
from uuid import uuid4

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from kafka_sql.cli.results import Lines, start_query

_PART = 10_000  # rows that are printed at once
_LOOK = 0.5  # seconds between two looks for new rows of a continuous query

_stages: list[Any] = []  # what the server last said of its work; a process of the command line has one session


def tag(spark: SparkSession, tag: str) -> None:
    """Mark this thread's requests."""
    spark.clearProgressHandlers()
    spark.registerProgressHandler(cast(Any, _progress))
    spark.addTag(tag)


def _progress(stages: Any, done: bool, **_: Any) -> None:
    _stages[:] = [] if done else stages or []


def cancel(spark: SparkSession, tag: str) -> None:
    """Interrupt the requests that are marked."""
    spark.interruptTag(tag)


def tasks(spark: SparkSession, tag: str) -> tuple[int, int]:
    """Done and all tasks of what the server works on for this session."""
    stages = list(_stages)
    return sum(s.num_completed_tasks for s in stages), sum(s.num_tasks for s in stages)


def lines(frame: DataFrame) -> Iterator[Lines]:
    """The rows in spark-sql's form: the server makes the texts, as it knows time zones and Java's numbers."""
    types = [field.dataType for field in frame.schema]
    named = frame.toDF(*(str(i) for i in range(len(types))))
    rows = named.select(*(_text(F.col(str(i)), type).alias(str(i)) for i, type in enumerate(types))).toLocalIterator()
    while part := ["\t".join("NULL" if v is None else v for v in row) for row in itertools.islice(rows, _PART)]:
        yield part


def _text(column: Column, type: DataType) -> Column:
    if isinstance(type, (StructType, ArrayType, MapType, VariantType)):
        return F.to_json(column, {"ignoreNullFields": "false"})
    return column.cast("string")


def stream(frame: DataFrame, emit: Callable[[Lines], None]) -> StreamingQuery:
    """Start a query into a table in the server's memory, which is gone with the query's end.

    A function for each batch would run on the server, and print there.
    """
    name = f"kafka_sql_select_{uuid4().hex}"
    return start_query(frame, lambda mode: frame.writeStream.format("memory").queryName(name).outputMode(mode).start())


def finish(query: StreamingQuery, emit: Callable[[Lines], None]) -> None:
    """Print the rows that have come, until the query ends."""
    spark = SparkSession.active()
    seen = 0
    ended = False
    while not ended:
        ended = bool(query.awaitTermination(cast(Any, _LOOK)))  # first, so that the last rows are seen
        for part in lines(spark.table(query.name).offset(seen)):
            emit(part)
            seen += len(part)
    spark.catalog.dropTempView(query.name)
