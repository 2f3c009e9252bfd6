"""Implement Spark's data source writers for batch and streaming writes.

At-least-once: a task ends when its records are acknowledged; there is nothing to commit. Exactly-once: a task ends
with an open transaction, which ``commit`` commits.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from kafka_sql.definition import Definition
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.kafka.protocol.transaction_admin import check_security
from kafka_sql.options import connector as opt
from kafka_sql.runtime.error_trailer import raises_attributes
from kafka_sql.runtime.task import query_and_batch, start_task
from kafka_sql.runtime.workers import QuickAckMixin, freeze_modules
from kafka_sql.sink.exactly_once import driver
from kafka_sql.sink.exactly_once.driver import transaction_timeout
from kafka_sql.sink.metadata import resolve_metadata_columns
from kafka_sql.sink.partitioner import load_partitioner
from kafka_sql.sink.topics import ensure_topics_exist
from kafka_sql.sink.write_stats import WriteStats, report_batch


@dataclass
class TaskCommitMessage(WriterCommitMessage):
    """Commit message of an at-least-once task."""

    stats: WriteStats
    query: str | None = None  # id of the streaming query; None for a batch write
    batch: int | None = None  # id of the micro-batch; None for a batch write


@raises_attributes
class _TableWriter(QuickAckMixin):
    """Implements batch and streaming writes. Instances are pickled and sent to the tasks."""

    def __init__(self, definition: Definition, statement_id: str | None, time_zone: str | None) -> None:
        """Look up the transaction timeout if the table is written exactly-once.

        Args:
            statement_id: unique id of a batch write; None for a stream.
            time_zone: the session's time zone, for tasks to which Spark does not pass it.
        """
        self._definition, self._statement_id, self._time_zone = definition, statement_id, time_zone
        self._timeout = transaction_timeout(definition) if definition.is_exactly_once else None  # milliseconds

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a task and return after the last acknowledgement."""
        start_task(self._time_zone)
        message = self._write_rows(iterator)
        freeze_modules()
        return message

    def _write_rows(self, batches: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        # imported here, because planning does not need the numba kernels that these modules load
        if self._timeout is None:
            from kafka_sql.sink.row_writer import write_rows

            return TaskCommitMessage(write_rows(self._definition, batches), *query_and_batch())
        from kafka_sql.sink.exactly_once.prepare import current_task, prepare

        return prepare(self._definition, current_task(self._statement_id), batches, self._timeout)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int | None = None) -> None:
        """Commit a write after all tasks succeeded. Exactly-once: either all its rows become visible or none."""
        if self._timeout is not None:
            driver.commit(self._definition, messages)
        report_batch(self._definition, messages)
        freeze_modules()

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int | None = None) -> None:
        """Clean up after a job that failed. At-least-once: acknowledged records stay.

        A micro-batch is written again when the query restarts.
        """
        if self._timeout is not None:
            driver.abort(self._definition, messages)


class BatchWriter(_TableWriter, DataSourceArrowWriter):
    """Writes the rows of an INSERT statement or of ``df.write``."""

    def __init__(self, definition: Definition, time_zone: str | None = None) -> None:
        super().__init__(definition, uuid.uuid4().hex, time_zone)


class StreamWriter(_TableWriter, DataSourceStreamArrowWriter):
    """Writes the rows of each micro-batch."""

    def __init__(self, definition: Definition, time_zone: str | None = None) -> None:
        super().__init__(definition, None, time_zone)


def check_sink(definition: Definition, schema: pa.Schema, is_stream: bool = False) -> None:
    """Check a sink on the driver, so that a wrong address, topic or column fails once, and before a task starts.

    Args:
        is_stream: see ``ensure_topics_exist``.

    Raises:
        UnsupportedSqlError: the connector is only a source.
        SchemaError: a metadata column cannot be written.
        InvalidOptionError: the table has several topics, but no column with the topic of each row is written; the
            class in 'sink.partitioner' cannot be loaded; or a security setting is not supported with exactly-once.
        BrokerError: the cluster does not respond, or a topic does not exist or differs from its declaration.
    """
    if definition.is_dynamic:
        raise UnsupportedSqlError(
            f"Table '{definition.name}': Connector '{definition.options[opt.CONNECTOR]}' can only be used as a source. "
            "It cannot be used as a sink. Write to a table with the connector 'kafka'.",
            table=definition.name,
        )
    resolve_metadata_columns(definition, schema)
    if definition.is_exactly_once:
        check_security(definition.client_config)
    load_partitioner(definition)
    ensure_topics_exist(definition, is_stream)
