"""Request the first or the end offset of a partition (ListOffsets).

Layout: ListOffsets versions 2 to 6 of Apache Kafka's message definitions. All brokers with transactions support 2.
"""

from __future__ import annotations

from typing import Final

from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import ApiKey, MalformedResponse, Reader
from kafka_sql.kafka.protocol.connection import Request

_CONSUMER: Final = -1  # the id of a client that is not a replica
_LATEST: Final = -1  # in place of a timestamp
_EARLIEST: Final = -2
_UNKNOWN_LEADER_EPOCH: Final = -1
_FIRST_VERSION_WITH_LEADER_EPOCH: Final = 4


def list_latest_offset(topic: str, partition: int, *, committed: bool) -> Request:
    """Request the offset after the last record. Goes to the partition's leader.

    Args:
        committed: whether to return the last stable offset instead (isolation level ``read_committed``).
    """
    return _list_offset(topic, partition, _LATEST, int(committed))


def list_earliest_offset(topic: str, partition: int) -> Request:
    """Request the first offset of the log. Goes to the partition's leader."""
    return _list_offset(topic, partition, _EARLIEST, 0)


def _list_offset(topic: str, partition: int, timestamp: int, isolation_level: int) -> Request:
    def encode(version: int, flexible: bool) -> bytes:
        location = codec.pack("i", partition)
        if version >= _FIRST_VERSION_WITH_LEADER_EPOCH:
            location += codec.pack("i", _UNKNOWN_LEADER_EPOCH)
        location += codec.pack("q", timestamp) + codec.tags(flexible)
        partitions = codec.string(topic, flexible) + codec.array([location], flexible) + codec.tags(flexible)
        body = codec.pack("ib", _CONSUMER, isolation_level)
        return body + codec.array([partitions], flexible) + codec.tags(flexible)

    return Request(ApiKey.LIST_OFFSETS, 2, 6, encode)


def read_list_offsets(response: Reader, partition: int) -> tuple[int, int]:
    """Read the response to a request for one offset: the error code and the offset."""
    response.throttle_time()

    def result() -> tuple[int, int]:
        number, code = response.number("i"), response.number("h")
        response.number("q")  # timestamp
        offset = response.number("q")
        if response.version >= _FIRST_VERSION_WITH_LEADER_EPOCH:
            response.number("i")  # leader epoch
        response.tags()
        if number != partition:
            raise MalformedResponse("the response is about another partition")
        return code, offset

    def topic() -> list[tuple[int, int]]:
        response.string()
        results = response.array(result)
        response.tags()
        return results

    results = [result for topic in response.array(topic) for result in topic]
    if len(results) != 1:
        raise MalformedResponse(f"the response is about {len(results)} partitions instead of 1")
    return results[0]
