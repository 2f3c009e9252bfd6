"""Whether a record that a transaction wrote was committed: seen from a reader's side."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from confluent_kafka import Consumer, KafkaError, TopicPartition

from kafka_sql.kafka.decision_log import _client

_SECONDS: Final = 30.0


def witnessed(config: Mapping[str, str], place: tuple[str, int, int]) -> bool | None:
    """True where the record is committed, False where it was aborted, None where that cannot be told: it is gone.

    Args:
        place: topic, partition and offset of the record.
    """
    if not _returned(config, place, "read_uncommitted"):
        return None  # deleted or compacted away, so not seeing it says nothing
    return _returned(config, place, "read_committed")


def _returned(config: Mapping[str, str], place: tuple[str, int, int], level: str) -> bool | None:
    """Whether a reader of the level is given the record; None where it is told nothing in time."""
    consumer = _client(
        Consumer,
        config,
        {
            "group.id": "kafka_sql",
            "isolation.level": level,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
        },
    )
    at = TopicPartition(*place)
    try:
        consumer.assign([at])
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is None:
                continue
            if message.error() is None:
                return bool(message.offset() == at.offset)
            if message.error().code() != KafkaError._PARTITION_EOF:
                return None
            if consumer.position([TopicPartition(at.topic, at.partition)])[0].offset > at.offset:
                return False
        return None
    finally:
        consumer.close()
