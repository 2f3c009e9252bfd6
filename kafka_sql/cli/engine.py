"""What differs between a Spark of this process and one behind Spark Connect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kafka_sql.cli import classic, connect
from kafka_sql.cli.results import Lines


class Engine(Protocol):
    """Implemented by the modules ``classic`` and ``connect``."""

    def tag(self, spark: SparkSession, tag: str) -> None:
        """Mark all that this thread asks of Spark from now on, until it ends."""

    def cancel(self, spark: SparkSession, tag: str) -> None:
        """Cancel what runs under the mark."""

    def tasks(self, spark: SparkSession, tag: str) -> tuple[int, int]:
        """Tasks that are done and all tasks of the stages at work under the mark; (0, 0) if there are none."""
        ...

    def lines(self, frame: DataFrame) -> Iterator[Lines]:
        """The rows as spark-sql prints them, in parts."""
        ...

    def stream(self, frame: DataFrame, emit: Callable[[Lines], None]) -> StreamingQuery:
        """Start a continuous query whose rows are given to ``emit`` as they come."""
        ...

    def finish(self, query: StreamingQuery, emit: Callable[[Lines], None]) -> None:
        """Wait for the end of such a query."""


def engine_for(spark: SparkSession) -> Engine:
    """The one for this session."""
    return classic if hasattr(spark, "_jsparkSession") else connect
