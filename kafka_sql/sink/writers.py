"""Spark's two writers of a table: a batch's and a stream's. At-least-once: a task ends when its rows are
acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from kafka_sql.definition import Definition
from kafka_sql.sink.figures import Figures
from kafka_sql.sink.metadata import written_columns
from kafka_sql.sink.partitioner import load
from kafka_sql.sink.topics import check_topics_exist


@dataclass
class Written(WriterCommitMessage):
    """What one task has written."""

    figures: Figures


def _write(definition: Definition, batches: Iterator[pa.RecordBatch]) -> Written:
    from kafka_sql.sink.rows import write_rows  # here: it loads the compiled loops, which planning does not need

    return Written(write_rows(definition, batches))


class BatchWriter(DataSourceArrowWriter):
    """Writes the rows of an INSERT."""

    def __init__(self, definition: Definition) -> None:
        """Keep what a task needs."""
        self._definition = definition

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's rows; returns after the last acknowledgement."""
        return _write(self._definition, iterator)


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes the rows of every micro-batch."""

    def __init__(self, definition: Definition) -> None:
        """Keep what a task needs."""
        self._definition = definition

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's rows; returns after the last acknowledgement."""
        return _write(self._definition, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """All tasks have been acknowledged; there is nothing left to decide."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """What was acknowledged stays, and the batch is written again: that is at-least-once."""


def check_sink(definition: Definition, schema: pa.Schema) -> None:
    """Check on the driver that a write can begin, so that a wrong address, topic or column fails once and early.

    Args:
        schema: what is written.

    Raises:
        SchemaError: a metadata column cannot be written.
        InvalidOptionError: the table has several topics, and no column says which a row is for; or the class of
            'sink.partitioner' cannot be loaded.
        BrokerError: the cluster does not answer, or a topic does not exist.
    """
    written_columns(definition, schema)
    load(definition)
    check_topics_exist(definition)
