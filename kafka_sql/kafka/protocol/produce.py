"""Send record batches to the leader of their partitions (Produce).

Layout: Produce versions 3 to 11 of Apache Kafka's message definitions. Version 12 adds partitions to transactions
implicitly (KIP-890); this package sends AddPartitionsToTxn.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final, NamedTuple

from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import ApiKey, Reader
from kafka_sql.kafka.protocol.connection import Connection, Request
from kafka_sql.kafka.topic_partition import TopicPartition

OLDEST_VERSION: Final = 3
OLDEST_VERSION_WITH_ZSTD: Final = 7  # KIP-110
LATEST_VERSION: Final = 11
_FIRST_VERSION_WITH_LOG_START_OFFSET: Final = 5
_FIRST_VERSION_WITH_ERROR_MESSAGE: Final = 8
_MAX_RECORD_ERRORS: Final = 3  # in a message


class ProduceResult(NamedTuple):
    """The part of the response about one partition.

    Attributes:
        code: the error code.
        offset: the offset of the batch's first record; -1 if it is unknown.
        message: the broker's explanation of the error (KIP-467); may be empty.
    """

    code: int
    offset: int
    message: str = ""


def produce(
    connection: Connection,
    transactional_id: str | None,
    batches: Sequence[tuple[str, int, int]],
    acks: int,
    timeout_ms: int,
    oldest_version: int = OLDEST_VERSION,
) -> tuple[Request, list[bytes]]:
    """Return a request that sends record batches, without their contents.

    Args:
        connection: the connection on which the request will be sent.
        batches: topic, partition and size in bytes of each, grouped by topic, at most one per partition.
        acks: -1 to be acknowledged by all in-sync replicas, 1 by the leader.
        timeout_ms: milliseconds that the leader waits for the other replicas.

    Returns:
        the request up to the content of the first batch, and for each batch the bytes that follow it.

    Raises:
        UnsupportedVersionError: the broker supports no version from ``oldest_version`` on.
    """
    version = connection.choose_version(ApiKey.PRODUCE, oldest_version, LATEST_VERSION)
    flexible = codec.is_flexible(ApiKey.PRODUCE, version)
    topics = [(topic, list(group)) for topic, group in itertools.groupby(batches, lambda batch: batch[0])]
    prefixes, end = list[bytes](), codec.tags(flexible)  # the bytes before each batch; the end of each structure
    for topic, group in topics:
        start = codec.string(topic, flexible) + codec.array_length(len(group), flexible)
        if prefixes:
            start = end + start  # end of the previous topic
        for _, partition, size in group:
            prefixes.append(start + codec.pack("i", partition) + codec.data_length(size, flexible))
            start = b""
    head = codec.string(transactional_id, flexible) + codec.pack("hi", acks, timeout_ms)
    body = head + codec.array_length(len(topics), flexible) + prefixes[0]
    # the ends of the last partition, its topic and the request
    tails = [end + prefix for prefix in prefixes[1:]] + [end * 3]
    return Request(ApiKey.PRODUCE, version, version, lambda *_: body), tails


def read_produce(response: Reader) -> dict[TopicPartition, ProduceResult]:
    """Read the response to ``produce``: the result of each partition."""

    def record_error() -> str:
        index, text = response.number("i"), response.string()
        response.tags()
        return f"record {index} of the batch: {text}"

    def message() -> str:
        errors, summary = response.array(record_error), response.string()
        listed = errors[:_MAX_RECORD_ERRORS] + ["..."] * (len(errors) > _MAX_RECORD_ERRORS)
        return "; ".join(([summary] if summary else []) + listed)

    def result() -> tuple[int, ProduceResult]:
        partition, code, offset = response.number("i"), response.number("h"), response.number("q")
        response.number("q")  # log append time
        if response.version >= _FIRST_VERSION_WITH_LOG_START_OFFSET:
            response.number("q")
        text = message() if response.version >= _FIRST_VERSION_WITH_ERROR_MESSAGE else ""
        response.tags()
        return partition, ProduceResult(code, offset, text)

    def topic() -> list[tuple[TopicPartition, ProduceResult]]:
        name = str(response.string())
        results = response.array(result)
        response.tags()
        return [((name, partition), partition_result) for partition, partition_result in results]

    results = dict(itertools.chain.from_iterable(response.array(topic)))
    response.throttle_time()
    return results
