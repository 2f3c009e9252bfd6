"""Write the rows of a task: encode them, produce the records and wait for the acknowledgements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from kafka_sql.definition import Definition
from kafka_sql.errors import EncodeError, InvalidOptionError
from kafka_sql.formats.format import ROW_KIND_COLUMN
from kafka_sql.kafka.client_choice import choose_writer
from kafka_sql.kafka.direct.writes.producer import DirectProducer
from kafka_sql.kafka.produce import AnyProducer, open_producer
from kafka_sql.options import connector as opt
from kafka_sql.runtime.task import session_time_zone
from kafka_sql.sink.fractional_seconds import truncate_fractions
from kafka_sql.sink.metadata import (
    cast_column,
    check_librdkafka_timestamps,
    check_row_topics,
    resolve_metadata_columns,
    single_topic,
    to_epoch_millis,
)
from kafka_sql.sink.partitioner import choose_partitions, open_partitioner
from kafka_sql.sink.upsert import encode_with_tombstones, is_replaced, keep_updates_together, reduce_to_last_rows
from kafka_sql.sink.write_stats import WriteStats
from kafka_sql.table.changelog import ROW_KIND, is_retraction


def write_rows(definition: Definition, batches: Iterator[pa.RecordBatch]) -> WriteStats:
    """Write batches and return when the brokers have acknowledged all records. Columns are matched by name.

    Raises:
        EncodeError: a value cannot be represented in the table's format.
        DeliveryError: a record was not acknowledged.
        BrokerError: any other broker failure.
    """
    with table_producer(definition) as producer:
        return write_with_producer(producer, definition, batches)


def write_with_producer(producer: AnyProducer, definition: Definition, batches: Iterator[pa.RecordBatch]) -> WriteStats:
    """Write batches with an open producer, which may be inside a transaction. See ``write_rows``."""
    row_writer: RowWriter | None = None
    batches = reduce_to_last_rows(definition, truncate_fractions(definition.table, batches))
    for batch in keep_updates_together(definition, batches):
        row_writer = row_writer or RowWriter(definition, batch.schema)
        row_writer.write(batch, producer)
    producer.flush()
    client = opt.DIRECT if isinstance(producer, DirectProducer) else opt.LIBRDKAFKA
    return WriteStats(producer.sent, producer.sent_bytes, producer.errors, producer.send_time, client)


class RowWriter:
    """Converts rows to records: value, key, timestamp, headers, topic and partition."""

    def __init__(self, definition: Definition, schema: pa.Schema) -> None:
        """Create the encoders and the partitioner.

        Args:
            schema: schema of the batches; metadata columns may be missing.

        Raises:
            SchemaError: a column cannot be written.
            InvalidOptionError: the class in 'sink.partitioner' cannot be loaded, or there are more write tasks than
                'sink.parallelism' allows.
        """
        self._definition = definition
        self._value = definition.value.create_encoder(schema)
        self._key = definition.key.create_encoder(schema) if definition.key is not None else None
        self._metadata = resolve_metadata_columns(definition, schema)
        self._zone = session_time_zone() if any(c.needs_time_zone for c in self._metadata.values()) else ""
        context = TaskContext.get()
        task = context.partitionId() if context is not None else 0
        _check_parallelism(definition, task)
        self._partitioner = open_partitioner(definition, task)

    def write(self, batch: pa.RecordBatch, producer: AnyProducer) -> None:
        """Queue a batch.

        Raises:
            EncodeError: a value cannot be represented in the format, or a row's topic, timestamp or row kind is
                invalid.
            DeliveryError: a record was rejected.
            PartitionerError: the class in 'sink.partitioner' returned an invalid partition.
        """
        batch, keys, values = self._encode_payloads(batch)
        timestamp_column = self._metadata_column(batch, "timestamp")
        headers, topics = self._metadata_column(batch, "headers"), self._metadata_column(batch, "topic")
        if topics is not None:
            topics = check_row_topics(self._definition, topics)
            for topic in pc.unique(topics).to_pylist():
                producer.partition_count(topic)  # fails at once if the topic is missing, rather than after many retries
        partitions = None
        if self._partitioner is not None:
            topic_or_topics = topics if topics is not None else producer.topic
            assert topic_or_topics is not None
            partitions = choose_partitions(
                self._partitioner, producer.partition_count, batch, keys, values, topic_or_topics
            )
        timestamps = None
        if timestamp_column is not None:
            timestamps = to_epoch_millis(timestamp_column, self._metadata["timestamp"].name)
            if not isinstance(producer, DirectProducer):
                check_librdkafka_timestamps(timestamps, self._metadata["timestamp"].name)
        if headers is None:
            headers = self._metadata_column(batch, "header-list")
        producer.produce(values, keys, timestamps, headers, topics, partitions)

    def _encode_payloads(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.BinaryArray | None, pa.BinaryArray]:
        """Return the rows that become records, and the records' keys and values."""
        definition = self._definition
        kinds = self._metadata_column(batch, ROW_KIND)
        try:
            is_deleted = np.asarray(is_retraction(kinds)) if kinds is not None else None
            if is_deleted is not None and not is_deleted.any():
                is_deleted = None
            _check_not_null(definition, batch, pa.array(~is_deleted) if is_deleted is not None else None)
            key = definition.key
            keys = self._key.encode(key.select(batch)) if self._key is not None and key is not None else None
            if is_deleted is not None and keys is not None and definition.is_upsert:
                kept = ~is_replaced(kinds, keys)
                if not kept.all():
                    batch, keys, is_deleted = batch.filter(kept), keys.filter(kept), is_deleted[kept]
            rows = definition.value.select(batch)
            if is_deleted is None:
                values = self._value.encode(rows)
            elif definition.is_upsert:
                values = encode_with_tombstones(self._value, rows, is_deleted)
            else:  # the format encodes the row kind
                values = self._value.encode(rows.append_column(ROW_KIND_COLUMN, kinds))
        except EncodeError as e:
            raise e.with_prefix(f"Table '{definition.name}': ") from e
        return batch, keys, values

    def _metadata_column(self, batch: pa.RecordBatch, key: str) -> pa.Array | None:
        column = self._metadata.get(key)
        return cast_column(column, batch.column(column.name), self._zone) if column is not None else None


def _check_parallelism(definition: Definition, task: int) -> None:
    """Check the number of tasks. Only INSERT INTO in spark.sql() repartitions the rows; df.write does not."""
    tasks = definition.options.get(opt.SINK_PARALLELISM)
    if tasks is not None and task >= tasks:
        raise InvalidOptionError(
            f"Table '{definition.name}': there are more write tasks than '{opt.SINK_PARALLELISM.key}' = '{tasks}'. The "
            f"option applies to INSERT INTO in spark.sql(). Before df.write, call df.repartition({tasks}).",
            table=definition.name,
            option=opt.SINK_PARALLELISM.key,
        )


def _check_not_null(definition: Definition, batch: pa.RecordBatch, has_value: pa.BooleanArray | None) -> None:
    """Check the NOT NULL columns.

    Args:
        has_value: whether each row has a value; None if all rows do. The others (tombstones) only have a key.
    """
    keys = definition.key.columns if definition.key is not None else ()
    for column in definition.table.physical_columns:
        if column.nullable or not batch.column(column.name).null_count:
            continue
        nulls = pc.is_null(batch.column(column.name))
        if pc.any(nulls if has_value is None or column.name in keys else pc.and_(nulls, has_value)).as_py():
            raise EncodeError(f"column '{column.name}' is declared NOT NULL, but a row has NULL.", field=column.name)


def table_producer(definition: Definition) -> AbstractContextManager[AnyProducer]:
    """Return a producer for a task."""
    setting, config = definition.options[opt.SINK_CLIENT], definition.client_config
    return open_producer(setting, config, single_topic(definition), definition.name)


def table_transaction(
    definition: Definition, config: Mapping[str, str], transactional_id: str
) -> AbstractContextManager[AnyProducer]:
    """Return a producer in a transaction; see ``open_producer``.

    Args:
        config: the table's client configuration with ``transaction.timeout.ms``.
    """
    setting, topic = definition.options[opt.SINK_CLIENT], single_topic(definition)
    return open_producer(setting, config, topic, definition.name, transactional_id)


def can_use_direct(definition: Definition) -> bool:
    """Return whether the direct client writes the table, unless the brokers do not support it."""
    return choose_writer(definition.options[opt.SINK_CLIENT], definition.client_config).client == opt.DIRECT
