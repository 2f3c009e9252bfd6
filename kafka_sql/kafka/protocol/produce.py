"""Send record batches to the leader of their partitions (Produce)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import ApiKey, Reader
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.layouts import APIS
from kafka_sql.kafka.protocol.messages import Request, read_response
from kafka_sql.kafka.topic_partition import TopicPartition

OLDEST_VERSION: Final = APIS[ApiKey.PRODUCE].oldest
OLDEST_VERSION_WITH_ZSTD: Final = 7  # KIP-110
LATEST_VERSION: Final = APIS[ApiKey.PRODUCE].latest
_MAX_RECORD_ERRORS: Final = 3  # in a message


class ProduceResult(NamedTuple):
    """The part of the response about one partition."""

    code: int  # the error code
    offset: int  # the offset of the batch's first record; -1 if it is unknown
    message: str = ""  # the broker's explanation of the error (KIP-467); may be empty


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
    return {
        (topic["name"], result["index"]): ProduceResult(result["error_code"], result["base_offset"], _message(result))
        for topic in read_response(response, ApiKey.PRODUCE)["responses"]
        for result in topic["partition_responses"]
    }


def _message(result: Mapping[str, Any]) -> str:
    summary, errors = result.get("error_message"), result.get("record_errors", [])
    parts = [summary] if summary else []
    for error in errors[:_MAX_RECORD_ERRORS]:
        parts.append(f"record {error['batch_index']} of the batch: {error['batch_index_error_message']}")
    return "; ".join(parts + ["..."] * (len(errors) > _MAX_RECORD_ERRORS))
