"""Fetch: the record batches of a partition.

Layout: Fetch version 4 of Apache Kafka's message definitions, the oldest that brokers from 4.0 on support. Older
versions do not report aborted transactions.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import ApiKey, MalformedResponse, Reader
from kafka_sql.kafka.protocol.connection import Request

_CONSUMER: Final = -1  # the id of a client that is not a replica


class FetchResult(NamedTuple):
    """The part of the response about one partition.

    Attributes:
        code: the error code.
        last_stable_offset: -1 if the broker does not report it.
        aborted: producer id and first offset of each aborted transaction that overlaps the records.
        records: record batches. The last one may be incomplete; the first one may begin before the requested offset.
    """

    code: int
    last_stable_offset: int
    aborted: list[tuple[int, int]]
    records: memoryview


def fetch(topic: str, partition: int, offset: int, max_bytes: int, *, wait_ms: int, committed: bool) -> Request:
    """Request records from an offset on. Goes to the partition's leader.

    Args:
        max_bytes: approximate size of the response. The first batch is complete whatever its size.
        wait_ms: milliseconds to wait for the first record.
        committed: whether to read with isolation level ``read_committed``.
    """
    head = codec.pack("iiiibi", _CONSUMER, wait_ms, int(wait_ms > 0), max_bytes, int(committed), 1)
    body = head + codec.string(topic) + codec.pack("iiqi", 1, partition, offset, max_bytes)
    return Request(ApiKey.FETCH, 4, 4, lambda version, flexible: body)


def read_fetch(response: Reader, partition: int) -> FetchResult:
    """Read the response to ``fetch``."""
    response.throttle_time()

    def result() -> FetchResult:
        number, code = response.number("i"), response.number("h")
        response.number("q")  # high watermark
        stable = response.number("q")
        aborted = response.array(lambda: (response.number("q"), response.number("q")))
        if number != partition:
            raise MalformedResponse("the response is about another partition")
        return FetchResult(code, stable, aborted, response.view())

    def topic() -> list[FetchResult]:
        response.string()
        return response.array(result)

    results = [result for topic in response.array(topic) for result in topic]
    if len(results) != 1:
        raise MalformedResponse(f"the response is about {len(results)} partitions instead of 1")
    return results[0]
