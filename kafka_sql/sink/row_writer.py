"""A task's rows into their topics: encode, produce, wait for the acknowledgement."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from kafka_sql.definition import Definition
from kafka_sql.errors import EncodeError, InvalidOptionError
from kafka_sql.formats.format import ROW_KIND_COLUMN
from kafka_sql.kafka.direct.producer import DirectProducer
from kafka_sql.options import connector as opt
from kafka_sql.runtime.time_zone import session_zone
from kafka_sql.sink.metadata import check_topics, converted, milliseconds, written_columns
from kafka_sql.sink.partitioner import choose, open_partitioner
from kafka_sql.sink.producer_choice import AnyProducer, table_producer
from kafka_sql.sink.upsert import reduced, tombstones
from kafka_sql.sink.write_stats import Figures
from kafka_sql.table.row_kind import ROW_KIND, taken_back


def write_rows(definition: Definition, batches: Iterator[pa.RecordBatch]) -> Figures:
    """Write batches whose columns are found by name; returns when the brokers have acknowledged them.

    Raises:
        EncodeError: a value has no form in the table's format.
        DeliveryError: a record was not acknowledged; or another BrokerError.
    """
    with table_producer(definition) as producer:
        return write_with(producer, definition, batches)


def write_with(producer: AnyProducer, definition: Definition, batches: Iterator[pa.RecordBatch]) -> Figures:
    """The same by an open producer, which may be inside a transaction."""
    rows: RowWriter | None = None
    for batch in reduced(definition, batches):
        rows = rows or RowWriter(definition, batch.schema)
        rows.write(batch, producer)
    producer.flush()
    return Figures(producer.sent, producer.sent_bytes, producer.errors, producer.send_time)


class RowWriter:
    """Makes records of rows: value, key, timestamp, headers, topic, partition."""

    def __init__(self, definition: Definition, schema: pa.Schema) -> None:
        """
        Args:
            schema: of the batches; metadata columns may be absent from it.

        Raises:
            SchemaError: a column cannot be written.
            InvalidOptionError: the class of 'sink.partitioner' cannot be loaded, or more tasks write than
                'sink.parallelism' allows.
        """
        self._definition = definition
        self._value = definition.value.encoder(schema)
        self._key = definition.key.encoder(schema) if definition.key is not None else None
        self._metadata = written_columns(definition, schema)
        self._zone = session_zone() if any(c.zoned for c in self._metadata.values()) else ""
        context = TaskContext.get()
        task = context.partitionId() if context is not None else 0
        _check_parallelism(definition, task)
        self._partitioner = open_partitioner(definition, task)

    def write(self, batch: pa.RecordBatch, producer: AnyProducer) -> None:
        """Queue a batch.

        Raises:
            EncodeError: a value has no form in the format, or a row's topic, timestamp or kind is none.
            DeliveryError: a record was refused.
            PartitionerError: the class of 'sink.partitioner' chose no partition.
        """
        times, topics = self._column(batch, "timestamp"), self._column(batch, "topic")
        headers = self._column(batch, "headers")
        keys, values = self._payloads(batch)
        if topics is not None:
            topics = check_topics(self._definition, topics)
            for topic in pc.unique(topics).to_pylist():
                producer.partitions(topic)  # one that does not exist is told at once, not after many retries
        partitions = None
        if self._partitioner is not None:
            target = topics if topics is not None else producer.topic
            assert target is not None
            partitions = choose(self._partitioner, producer.partitions, batch, keys, values, target)
        if isinstance(producer, DirectProducer):  # the table has no such columns
            producer.produce(values, keys, partitions)
            return
        producer.produce(
            values,
            keys,
            milliseconds(times, self._metadata["timestamp"].name) if times is not None else None,
            headers if headers is not None else self._column(batch, "header-list"),
            topics,
            partitions,
        )

    def _payloads(self, batch: pa.RecordBatch) -> tuple[pa.BinaryArray | None, pa.BinaryArray]:
        """The records' keys and values."""
        definition = self._definition
        kinds = self._column(batch, ROW_KIND)
        try:
            deleted = np.asarray(taken_back(kinds)) if kinds is not None else None
            if deleted is not None and not deleted.any():
                deleted = None
            _check_nulls(definition, batch, pa.array(~deleted) if deleted is not None else None)
            rows = definition.value.batch(batch)
            if deleted is None:
                values = self._value.encode(rows)
            elif definition.is_upsert:
                values = tombstones(self._value, rows, deleted)
            else:  # the format says it
                values = self._value.encode(rows.append_column(ROW_KIND_COLUMN, kinds))
            key = definition.key
            keys = self._key.encode(key.batch(batch)) if self._key is not None and key is not None else None
        except EncodeError as e:
            raise EncodeError(f"Table '{definition.name}': {e.args[0]}") from e
        return keys, values

    def _column(self, batch: pa.RecordBatch, key: str) -> pa.Array | None:
        column = self._metadata.get(key)
        return converted(column, batch.column(column.name), self._zone) if column is not None else None


def _check_parallelism(definition: Definition, task: int) -> None:
    """A write that is no INSERT of this package's brings tasks of its own number."""
    tasks = definition.options.get(opt.SINK_PARALLELISM)
    if tasks is not None and task >= tasks:
        raise InvalidOptionError(
            f"Table '{definition.name}': more tasks write than option '{opt.SINK_PARALLELISM.key}' = '{tasks}' says. "
            f"It distributes the rows of INSERT INTO in spark.sql(); before df.write, call df.repartition({tasks})."
        )


def _check_nulls(definition: Definition, batch: pa.RecordBatch, kept: pa.BooleanArray | None) -> None:
    """Check NOT NULL.

    Args:
        kept: the rows that have values; None where all do. The others have a key alone.
    """
    keys = definition.key.columns if definition.key is not None else ()
    for column in definition.table.physical:
        if column.nullable or not batch.column(column.name).null_count:
            continue
        nulls = pc.is_null(batch.column(column.name))
        if pc.any(nulls if kept is None or column.name in keys else pc.and_(nulls, kept)).as_py():
            raise EncodeError(f"column '{column.name}' is declared NOT NULL, and a row holds NULL for it.")
