"""Read the codecs of the record batches in a topic."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import closing
from typing import Final

from confluent_kafka import Consumer, TopicPartition

from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.direct.compression import CODECS
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.fetch import fetch, read_fetch

_MAX_BYTES: Final = 1 << 20  # of a partition
# base offset, length, leader epoch, magic, checksum, attributes: https://kafka.apache.org/documentation/#recordbatch
_HEADER: Final = struct.Struct(">qiibIh")
_LENGTH_END: Final = 12
_CODEC_MASK: Final = 0b111
_CONTROL: Final = 0b100000


def topic_codecs(bootstrap: str, topic: str) -> set[str | None]:
    """Return the codecs of the first batches of all partitions; None for batches that are not compressed."""
    with closing(Consumer({"bootstrap.servers": bootstrap, "group.id": "codecs", "log_level": 0})) as consumer:
        metadata = consumer.list_topics(topic, timeout=60)
        codecs: set[str | None] = set()
        for partition, description in metadata.topics[topic].partitions.items():
            leader = metadata.brokers[description.leader]
            start, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=60)
            if start < end:
                codecs.update(batch_codecs(_fetch((leader.host, leader.port), topic, partition, start)))
    return codecs


def batch_codecs(records: bytes | memoryview) -> Iterator[str | None]:
    """Yield the codec of each batch, without control batches. The last batch may be incomplete."""
    at = 0
    while at + _HEADER.size <= len(records):
        _, length, _, _, _, attributes = _HEADER.unpack_from(records, at)
        if not attributes & _CONTROL:
            yield CODECS[attributes & _CODEC_MASK]
        at += _LENGTH_END + length


def _fetch(address: tuple[str, int], topic: str, partition: int, offset: int) -> memoryview:
    request = fetch(topic, partition, offset, _MAX_BYTES, wait_ms=1000, committed=False)
    with closing(Connection(address, to_librdkafka({"bootstrap.servers": f"{address[0]}:{address[1]}"}))) as connection:
        return read_fetch(connection.ask(request), partition).records
