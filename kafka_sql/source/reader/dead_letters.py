"""Write undecodable records unchanged to a dead letter topic, with headers that describe the error.

Header names follow Kafka Connect's dead letter queues (KIP-298).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.errors import DecodeError
from kafka_sql.kafka.produce import open_producer
from kafka_sql.kafka.record_metadata import HEADER_LIST
from kafka_sql.kafka.records import Records
from kafka_sql.kafka.types import Split
from kafka_sql.options import connector as opt

HEADER_PREFIX: Final = "__kafka_sql.errors."


def write_dead_letters(
    definition: Definition, target: str, records: Records, errors: Sequence[DecodeError], split: Split
) -> None:
    """Write records to a topic and wait for the acknowledgments, so that none is lost if the task ends.

    Args:
        target: the dead letter topic.
        records: with keys, timestamps and headers.
        errors: one per record.

    Raises:
        BrokerError: a record could not be written.
    """
    assert records.timestamps is not None
    assert records.headers is not None
    headers = [
        [*record_headers, *_error_headers(error, split, int(offset), int(timestamp))]
        for record_headers, error, offset, timestamp in zip(
            records.headers.to_pylist(), errors, records.offsets, records.timestamps, strict=True
        )
    ]
    client = definition.options[opt.SINK_CLIENT]
    with open_producer(client, definition.client_config, target, definition.name) as producer:
        # a record without a timestamp has -1, which makes the producer set the current time
        producer.produce(records.values, records.keys, records.timestamps, pa.array(headers, HEADER_LIST))
        producer.flush()


def _error_headers(error: DecodeError, split: Split, offset: int, timestamp: int) -> list[dict[str, object]]:
    headers = {
        "topic": split.topic,
        "partition": str(split.partition),
        "offset": str(offset),
        "timestamp": str(timestamp),
        "exception.class.name": type(error).__name__,
        "exception.message": str(error),
        "field": error.field,
    }
    return [{"key": HEADER_PREFIX + k, "value": v.encode()} for k, v in headers.items() if v is not None]
