"""Spark's two writers of a table, a batch's and a stream's.

At-least-once: a task ends when its rows are acknowledged, and there is nothing to commit. Exactly-once: a task ends
with an open transaction, and ``commit`` decides.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from kafka_sql.definition import Definition
from kafka_sql.kafka.protocol.transaction_admin import check_security
from kafka_sql.options import connector as opt
from kafka_sql.runtime.gc_freeze import freeze_modules
from kafka_sql.runtime.quick_ack import Prompt
from kafka_sql.sink.batch_reports import report, streaming_task
from kafka_sql.sink.exactly_once import driver
from kafka_sql.sink.exactly_once.timeout import transaction_timeout
from kafka_sql.sink.metadata import written_columns
from kafka_sql.sink.partitioner import load
from kafka_sql.sink.topics import check_topics_exist
from kafka_sql.sink.write_stats import Figures


@dataclass
class Written(WriterCommitMessage):
    """What one task has written, and for which query and batch."""

    figures: Figures
    query: str | None = None
    batch: int | None = None


class _Writer(Prompt):
    """What both have in common."""

    def __init__(self, definition: Definition, statement: str | None) -> None:
        """Keep what a task needs.

        Args:
            statement: a name of its own for a batch write; None for a stream.
        """
        self._definition, self._statement = definition, statement
        self._timeout = transaction_timeout(definition) if exactly_once(definition) else None

    def _write(self, batches: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        written = self._written(batches)
        freeze_modules()
        return written

    def _written(self, batches: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        # here: they load the compiled loops, which planning does not need
        if self._timeout is None:
            from kafka_sql.sink.row_writer import write_rows

            return Written(write_rows(self._definition, batches), *streaming_task())
        from kafka_sql.sink.exactly_once.prepare import current_task, prepare

        return prepare(self._definition, current_task(self._statement), batches, self._timeout)

    def _commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        if self._timeout is not None:
            driver.commit(self._definition, messages)
        report(self._definition, messages)
        freeze_modules()

    def _abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        if self._timeout is not None:
            driver.abort(self._definition, messages)


class BatchWriter(_Writer, DataSourceArrowWriter):
    """Writes the rows of an INSERT."""

    def __init__(self, definition: Definition) -> None:
        """Keep what a task needs."""
        super().__init__(definition, uuid.uuid4().hex)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's rows; returns after the last acknowledgement."""
        return self._write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """All tasks are done. Exactly-once: from here on all rows are to be seen, or none."""
        self._commit(messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """A task has failed for good. At-least-once: what was acknowledged stays."""
        self._abort(messages)


class StreamWriter(_Writer, DataSourceStreamArrowWriter):
    """Writes the rows of every micro-batch."""

    def __init__(self, definition: Definition) -> None:
        """Keep what a task needs."""
        super().__init__(definition, None)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's rows; returns after the last acknowledgement."""
        return self._write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """All tasks are done. Exactly-once: from here on all rows of the batch are to be seen, or none."""
        self._commit(messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """The batch failed, or the query was stopped in it; it is written again at the next start."""
        self._abort(messages)


def exactly_once(definition: Definition) -> bool:
    """Whether the table is written exactly once."""
    return definition.options[opt.DELIVERY_GUARANTEE] == opt.EXACTLY_ONCE


def check_sink(definition: Definition, schema: pa.Schema) -> None:
    """Check on the driver that a write can begin, so that a wrong address, topic or column fails once and early.

    Args:
        schema: what is written.

    Raises:
        SchemaError: a metadata column cannot be written.
        InvalidOptionError: the table has several topics, and no column says which a row is for; the class of
            'sink.partitioner' cannot be loaded; or a security setting that exactly-once does not know.
        BrokerError: the cluster does not answer, or a topic does not exist.
    """
    written_columns(definition, schema)
    if exactly_once(definition):
        check_security(definition.client)
    load(definition)
    check_topics_exist(definition)
