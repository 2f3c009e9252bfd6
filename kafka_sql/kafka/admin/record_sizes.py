"""Estimate the size of the next records of partitions by reading a sample: Kafka has no request for it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

import confluent_kafka
from confluent_kafka import Consumer, KafkaException

from kafka_sql.errors import FetchError
from kafka_sql.kafka.librdkafka.client import open_client
from kafka_sql.kafka.topic_partition import TopicPartition

SAMPLE_RECORDS: Final = 100  # per partition
_SECONDS: Final = 5.0  # for all partitions
# bounds what the sample fetches
_SETTINGS: Final = {
    "max.partition.fetch.bytes": "262144",
    "queued.max.messages.kbytes": "16384",
    "enable.auto.commit": "false",
    "enable.partition.eof": "true",
    "auto.offset.reset": "error",
}


def bytes_per_offset(config: Mapping[str, str], starts: Mapping[TopicPartition, int]) -> dict[TopicPartition, float]:
    """Return the average bytes of key and value per offset, from ``starts`` on.

    A partition that returned no record in time is absent.

    Raises:
        BrokerError: the client rejects the configuration or the partitions.
    """
    consumer, errors = open_client(Consumer, {"group.id": "kafka_sql", **config, **_SETTINGS})
    try:
        try:
            consumer.assign([confluent_kafka.TopicPartition(t, p, offset) for (t, p), offset in starts.items()])
            return _sample(consumer, starts)
        finally:
            consumer.close()
    except KafkaException as e:
        raise FetchError(f"The size of records cannot be estimated: {errors.mask(e.args[0].str())}.") from None


def _sample(consumer: Consumer, starts: Mapping[TopicPartition, int]) -> dict[TopicPartition, float]:
    sizes: dict[TopicPartition, int] = dict.fromkeys(starts, 0)
    counts: dict[TopicPartition, int] = dict.fromkeys(starts, 0)
    last_offsets: dict[TopicPartition, int] = {}
    incomplete = set(starts)
    deadline = time.monotonic() + _SECONDS
    while incomplete and (remaining := deadline - time.monotonic()) > 0:
        message = consumer.poll(remaining)
        if message is None:
            break
        partition = (str(message.topic()), int(message.partition() or 0))
        if message.error() is not None:  # the partition's end, or an error that the reader will report
            incomplete.discard(partition)
        elif partition in incomplete:
            sizes[partition] += len(message.value() or b"") + len(message.key() or b"")
            counts[partition] += 1
            last_offsets[partition] = int(message.offset() or 0)
            if counts[partition] == SAMPLE_RECORDS:
                incomplete.discard(partition)
                consumer.pause([confluent_kafka.TopicPartition(*partition)])
    return {p: sizes[p] / (last + 1 - starts[p]) for p, last in last_offsets.items()}
