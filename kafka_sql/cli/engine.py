"""Define the operations that differ between classic and Spark Connect sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kafka_sql.cli import classic, connect
from kafka_sql.cli.rows import Rows
from kafka_sql.spark.jvm import is_classic


class Engine(Protocol):
    """Implemented by the modules ``classic`` and ``connect``."""

    def tag(self, spark: SparkSession, tag: str) -> None:
        """Tag all requests of this thread to Spark, from now on until it ends."""

    def cancel(self, spark: SparkSession, tag: str) -> None:
        """Cancel the requests with a tag."""

    def count_tasks(self, spark: SparkSession, tag: str) -> tuple[int, int]:
        """Return the number of completed and of all tasks in the running stages with a tag; (0, 0) if none run."""
        ...

    def collect_rows(self, frame: DataFrame) -> Iterator[Rows]:
        """Run a query and yield its rows in chunks, with the values as the texts that spark-sql prints."""
        ...

    def start_stream(self, frame: DataFrame, emit: Callable[[Rows], None]) -> StreamingQuery:
        """Start a continuous query that passes its rows to ``emit``."""
        ...

    def wait_for_end(self, query: StreamingQuery, emit: Callable[[Rows], None]) -> None:
        """Wait until a query of ``start_stream`` ends."""


def engine_for(spark: SparkSession) -> Engine:
    """Return the engine for a session."""
    return classic if is_classic(spark) else connect
