"""Dead letters: records that cannot be read, byte for byte in a topic of their own, with headers that say why.

The headers' names follow those of Kafka Connect's dead letter queues (KIP-298).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.errors import DecodeError
from kafka_sql.kafka.librdkafka.cached_producer import cached_producer
from kafka_sql.kafka.record_metadata import LIST
from kafka_sql.kafka.records import Records
from kafka_sql.kafka.types import Split

HEADER_PREFIX: Final = "__kafka_sql.errors."


def write_dead_letters(
    definition: Definition, target: str, records: Records, errors: Sequence[DecodeError], split: Split
) -> None:
    """Write records into a topic; returns when the brokers have them, so that none is lost if the task ends here.

    Args:
        target: the topic.
        records: with keys, timestamps and headers.
        errors: as many.

    Raises:
        BrokerError: they could not be written.
    """
    assert records.timestamps is not None
    assert records.headers is not None
    headers = [
        [*own, *_said(error, split, int(offset), int(time))]
        for own, error, offset, time in zip(
            records.headers.to_pylist(), errors, records.offsets, records.timestamps, strict=True
        )
    ]
    # -1 is a record without a timestamp, which gets the time of writing
    times = np.maximum(records.timestamps, 0)
    with cached_producer(definition.client, target, definition.name) as producer:
        producer.produce(records.values, records.keys, times, pa.array(headers, LIST))
        producer.flush()


def _said(error: DecodeError, split: Split, offset: int, time: int) -> list[dict[str, object]]:
    said = {
        "topic": split.topic,
        "partition": str(split.partition),
        "offset": str(offset),
        "timestamp": str(time),
        "exception.class.name": type(error).__name__,
        "exception.message": str(error),
        "field": error.field,
    }
    return [{"key": HEADER_PREFIX + k, "value": v.encode()} for k, v in said.items() if v is not None]
