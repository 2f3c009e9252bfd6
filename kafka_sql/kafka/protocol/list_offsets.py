"""ListOffsets: the end offset of a partition.

Layout: ListOffsets version 2 of Apache Kafka's message definitions, which all brokers with transactions support.
"""

from __future__ import annotations

from typing import Final

from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import ApiKey, MalformedResponse, Reader
from kafka_sql.kafka.protocol.connection import Request

_CONSUMER: Final = -1  # the id of a client that is not a replica
_LATEST: Final = -1  # in place of a timestamp


def list_latest_offset(topic: str, partition: int, *, committed: bool) -> Request:
    """Request the offset after the last record. Goes to the partition's leader.

    Args:
        committed: whether to return the last stable offset instead (isolation level ``read_committed``).
    """
    body = codec.pack("ibi", _CONSUMER, int(committed), 1) + codec.string(topic)
    body += codec.pack("iiq", 1, partition, _LATEST)
    return Request(ApiKey.LIST_OFFSETS, 2, 2, lambda version, flexible: body)


def read_list_offsets(response: Reader, partition: int) -> tuple[int, int]:
    """Read the response to ``list_latest_offset``: the error code and the offset."""
    response.throttle_time()

    def result() -> tuple[int, int]:
        number, code = response.number("i"), response.number("h")
        response.number("q")  # timestamp
        if number != partition:
            raise MalformedResponse("the response is about another partition")
        return code, response.number("q")

    def topic() -> list[tuple[int, int]]:
        response.string()
        return response.array(result)

    results = [result for topic in response.array(topic) for result in topic]
    if len(results) != 1:
        raise MalformedResponse(f"the response is about {len(results)} partitions instead of 1")
    return results[0]
