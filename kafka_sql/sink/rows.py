"""A task's rows into a topic: encode, produce, wait for the acknowledgement."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.definition import Definition
from kafka_sql.errors import EncodeError
from kafka_sql.kafka.producer import open_producer
from kafka_sql.options import connector as opt


def write_rows(definition: Definition, batches: Iterator[pa.RecordBatch]) -> int:
    """Write batches whose columns are found by name; returns how many rows the brokers have acknowledged.

    Raises:
        EncodeError: a value has no form in the table's format.
        DeliveryError: a record was not acknowledged.
    """
    topic = definition.options[opt.TOPIC][0]
    names = [c.name for c in definition.table.physical]
    times = next((c.name for c in definition.table.persisted if c.metadata == "timestamp"), None)
    encoder = None
    with open_producer(definition.client, topic) as producer:
        for batch in batches:
            _check_nulls(definition, batch)
            value = batch.select(names)
            encoder = encoder or definition.value_format.encoder(value.schema, definition.value_options)
            moments = _milliseconds(batch.column(times), times) if times in batch.schema.names else None
            producer.produce(encoder.encode(value), timestamps=moments)
        producer.flush()
        return producer.sent


def _check_nulls(definition: Definition, batch: pa.RecordBatch) -> None:
    for column in definition.table.physical:
        if not column.nullable and batch.column(column.name).null_count:
            raise EncodeError(
                f"Table '{definition.name}': column '{column.name}' is declared NOT NULL, and a row holds NULL for it."
            )


def _milliseconds(column: pa.Array, name: str | None) -> npt.NDArray[np.int64]:
    """Record timestamps: int64 milliseconds, 0 (the time of sending) for null.

    Raises:
        EncodeError: a time that Kafka cannot carry; its client also reads 0 as "now".
    """
    micros = column.cast(pa.int64())
    smallest = pc.min(micros).as_py()
    if smallest is not None and smallest < 1000:
        raise EncodeError(
            f"Column '{name}' (METADATA FROM 'timestamp') holds a time before 1970-01-01 00:00:00.001 UTC, which a "
            f"Kafka record "
            "cannot have. Write NULL for the time of sending."
        )
    millis = pc.divide(micros, 1000).fill_null(0)
    return np.asarray(millis)
