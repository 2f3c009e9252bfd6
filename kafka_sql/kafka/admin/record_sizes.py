"""How large the next records of partitions are: Kafka does not tell, so a few of them are looked at."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any, Final

import confluent_kafka
from confluent_kafka import Consumer, KafkaException

from kafka_sql.errors import FetchError
from kafka_sql.kafka.config.properties import API_TIMEOUT, resolved
from kafka_sql.kafka.types import TopicPartition

_LOG = logging.getLogger("kafka_sql.kafka")
RECORDS: Final = 100  # of each partition
_SECONDS: Final = 5.0  # for all of them
# no more than that is fetched
_SMALL: Final = {
    "max.partition.fetch.bytes": "262144",
    "queued.max.messages.kbytes": "16384",
    "enable.auto.commit": "false",
    "enable.partition.eof": "true",
    "auto.offset.reset": "error",
}


def bytes_per_offset(config: Mapping[str, str], starts: Mapping[TopicPartition, int]) -> dict[TopicPartition, float]:
    """Bytes of key and value for each offset from ``starts`` on, on average; a partition that gave no record in time is
    absent.

    Args:
        config: librdkafka's configuration of a table.

    Raises:
        FetchError: the client refuses the configuration or the partitions.
    """
    mine: dict[str, Any] = {k: v for k, v in config.items() if k != API_TIMEOUT}
    try:
        consumer = Consumer({**resolved({"group.id": "kafka_sql", **mine, **_SMALL}), "logger": _LOG})
        try:
            consumer.assign([confluent_kafka.TopicPartition(t, p, offset) for (t, p), offset in starts.items()])
            return _sample(consumer, starts)
        finally:
            consumer.close()
    except KafkaException as e:
        raise FetchError(f"The sizes of records cannot be had: {e.args[0].str()}.") from None


def _sample(consumer: Consumer, starts: Mapping[TopicPartition, int]) -> dict[TopicPartition, float]:
    totals: dict[TopicPartition, int] = dict.fromkeys(starts, 0)
    counts: dict[TopicPartition, int] = dict.fromkeys(starts, 0)
    lasts: dict[TopicPartition, int] = {}
    wanted = set(starts)
    deadline = time.monotonic() + _SECONDS
    while wanted and (left := deadline - time.monotonic()) > 0:
        message = consumer.poll(left)
        if message is None:
            break
        place = (str(message.topic()), int(message.partition() or 0))
        if message.error() is not None:  # its end, or what the reader will name when it comes here
            wanted.discard(place)
        elif place in wanted:
            totals[place] += len(message.value() or b"") + len(message.key() or b"")
            counts[place] += 1
            lasts[place] = int(message.offset() or 0)
            if counts[place] == RECORDS:
                wanted.discard(place)
                consumer.pause([confluent_kafka.TopicPartition(*place)])
    return {p: totals[p] / (last + 1 - starts[p]) for p, last in lasts.items()}
