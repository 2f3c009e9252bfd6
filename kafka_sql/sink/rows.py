"""A task's rows into their topics: encode, produce, wait for the acknowledgement."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.errors import EncodeError
from kafka_sql.kafka.producer import Producer, open_producer
from kafka_sql.sink.metadata import check_topics, converted, milliseconds, single_topic, written_columns
from kafka_sql.zone import session_zone


def write_rows(definition: Definition, batches: Iterator[pa.RecordBatch]) -> int:
    """Write batches whose columns are found by name; returns how many rows the brokers have acknowledged.

    Raises:
        EncodeError: a value has no form in the table's format.
        DeliveryError: a record was not acknowledged.
    """
    with open_producer(definition.client, single_topic(definition)) as producer:
        return write_with(producer, definition, batches)


def write_with(producer: Producer, definition: Definition, batches: Iterator[pa.RecordBatch]) -> int:
    """The same by an open producer, which may be inside a transaction."""
    rows: RowWriter | None = None
    for batch in batches:
        rows = rows or RowWriter(definition, batch.schema)
        rows.write(batch, producer)
    producer.flush()
    return producer.sent


class RowWriter:
    """Makes records of rows: value, key, timestamp, headers, topic."""

    def __init__(self, definition: Definition, schema: pa.Schema) -> None:
        """
        Args:
            schema: of the batches; metadata columns may be absent from it.

        Raises:
            SchemaError: a column cannot be written.
        """
        self._definition = definition
        self._value = definition.value.encoder(schema)
        self._key = definition.key.encoder(schema) if definition.key is not None else None
        self._metadata = written_columns(definition, schema)
        self._zone = session_zone() if any(c.zoned for c in self._metadata.values()) else ""

    def write(self, batch: pa.RecordBatch, producer: Producer) -> None:
        """Queue a batch.

        Raises:
            EncodeError: a value has no form in the format, or a row's topic or timestamp is none.
            DeliveryError: a record was refused.
        """
        _check_nulls(self._definition, batch)
        value, key = self._definition.value, self._definition.key
        times, topics = self._column(batch, "timestamp"), self._column(batch, "topic")
        headers = self._column(batch, "headers")
        producer.produce(
            self._value.encode(value.batch(batch)),
            self._key.encode(key.batch(batch)) if self._key is not None and key is not None else None,
            milliseconds(times, self._metadata["timestamp"].name) if times is not None else None,
            headers if headers is not None else self._column(batch, "header-list"),
            check_topics(self._definition, topics) if topics is not None else None,
        )

    def _column(self, batch: pa.RecordBatch, key: str) -> pa.Array | None:
        column = self._metadata.get(key)
        return converted(column, batch.column(column.name), self._zone) if column is not None else None


def _check_nulls(definition: Definition, batch: pa.RecordBatch) -> None:
    for column in definition.table.physical:
        if not column.nullable and batch.column(column.name).null_count:
            raise EncodeError(
                f"Table '{definition.name}': column '{column.name}' is declared NOT NULL, and a row holds NULL for it."
            )
