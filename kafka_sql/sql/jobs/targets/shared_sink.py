"""Write the rows of a source to the tables of several INSERTs: each micro-batch is read once.

Spark's streaming query has one sink. So a shared query reads the source only, keeps the rows of a micro-batch, and
executes the plan of each INSERT over them in ``foreachBatch``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.spark.shared_read import split_batch
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json
from kafka_sql.sql.jobs.targets.batch_functions import BatchFunction, with_short_errors
from kafka_sql.sql.jobs.targets.builtin_sinks import write_batch
from kafka_sql.sql.jobs.targets.file_sink import claim_file_sink
from kafka_sql.sql.jobs.targets.spark_table import Sink, SparkTable
from kafka_sql.sql.jobs.targets.spark_writes import append_batch, merge, open_file_sink


@dataclass(frozen=True)
class Write:
    """One INSERT of a shared query."""

    target: CatalogTable | SparkTable  # the table to write
    rows: DataFrame  # the rows of the INSERT, in the table's columns, as if it were a separate query

    @property
    def table(self) -> str:
        """The name of the table."""
        return self.target.name if isinstance(self.target, SparkTable) else self.target.definition.name


@dataclass(frozen=True)
class SharedSink:
    """The INSERTs of a shared query, all of which read one stream."""

    writes: Sequence[Write]

    @property
    def name(self) -> str:
        """The names of the tables, for messages."""
        return "', '".join(write.table for write in self.writes)

    @property
    def description(self) -> Json:
        """What a checkpoint requires: the same tables in the same order."""
        return {"name": f"tables '{self.name}'"}


def start_shared(writer: DataStreamWriter, sink: SharedSink) -> StreamingQuery:
    """Start a query of the INSERTs' source whose name and checkpoint are set.

    Raises:
        UnsupportedSqlError: Spark cannot write a file-based table.
    """
    session = SparkSession.active()
    split = split_batch([write.rows for write in sink.writes])
    writers = [_batch_writer(session, write.target, str(number)) for number, write in enumerate(sink.writes)]

    def write_all(batch_rows: DataFrame, batch: int) -> None:
        batch_rows.persist()
        try:
            for write, rows in zip(writers, split(batch_rows), strict=True):
                write(rows, batch)
        finally:
            batch_rows.unpersist()

    return writer.outputMode("append").foreachBatch(with_short_errors(write_all)).start()


@contextmanager
def claim_file_sinks(spark: SparkSession, writes: Sequence[Write], checkpoint: str) -> Iterator[None]:
    """Record that a query writes file-based tables; see ``claim_file_sink``."""
    with ExitStack() as stack:
        for write in writes:
            if isinstance(write.target, SparkTable) and write.target.sink is Sink.FILES:
                stack.enter_context(claim_file_sink(spark, write.target, checkpoint))
        yield


def _batch_writer(session: SparkSession, target: CatalogTable | SparkTable, part: str) -> BatchFunction:
    """Return a function that writes the rows of one INSERT for a micro-batch."""
    if isinstance(target, SparkTable) and not target.primary_key and target.sink is Sink.FILES:
        return open_file_sink(session, target).add_batch

    def write(rows: DataFrame, batch: int) -> None:
        if isinstance(target, SparkTable):
            if target.primary_key:
                merge(rows, batch, target, part)
                session.catalog.refreshTable(target.sql_name)  # see start_merge
            else:
                append_batch(rows, batch, target, part)
        elif target.definition.is_builtin:
            write_batch(target, rows)
        else:
            rows.write.format(target.provider).mode("append").save()

    return write
