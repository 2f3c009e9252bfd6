"""Produce: send record batches to the leader of their partitions.

Layout: Produce version 7 of Apache Kafka's message definitions, which brokers from 2.1 to 4.x support.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import ApiKey, Reader
from kafka_sql.kafka.protocol.connection import Request

VERSION: Final = 7
_ACKS_ALL: Final = -1


class ProduceResult(NamedTuple):
    """The part of the response about one partition.

    Attributes:
        code: the error code.
        offset: the offset of the batch's first record; -1 if it is unknown.
    """

    code: int
    offset: int


def produce(
    transactional_id: str | None, topic: str, batches: Iterable[tuple[int, int]], timeout_ms: int
) -> tuple[Request, list[bytes]]:
    """Send record batches, to be acknowledged by all in-sync replicas.

    Args:
        batches: partition and size in bytes of each.
        timeout_ms: milliseconds that the leader waits for the other replicas.

    Returns:
        the request up to the first batch, and the bytes that precede each batch.
    """
    sizes = list(batches)
    start = codec.string(transactional_id) + codec.pack("hii", _ACKS_ALL, timeout_ms, 1) + codec.string(topic)
    heads = [codec.pack("ii", partition, size) for partition, size in sizes]
    return Request(ApiKey.PRODUCE, VERSION, start + codec.pack("i", len(sizes))), heads


def read_produce(response: Reader) -> dict[int, ProduceResult]:
    """Read the response to ``produce``: the result of each partition."""

    def result() -> tuple[int, ProduceResult]:
        partition, written = response.number("i"), ProduceResult(response.number("h"), response.number("q"))
        for _ in range(2):  # log append time, log start offset
            response.number("q")
        return partition, written

    def topic() -> list[tuple[int, ProduceResult]]:
        response.string()
        return response.array(result)

    return {partition: written for results in response.array(topic) for partition, written in results}
