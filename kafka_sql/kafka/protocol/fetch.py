"""Request the record batches of a partition (Fetch).

Layout: Fetch versions 4 to 12 of Apache Kafka's message definitions. Older versions do not report aborted transactions;
newer ones name topics by their ids.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import ApiKey, MalformedResponse, Reader
from kafka_sql.kafka.protocol.connection import Request

_CONSUMER: Final = -1  # the id of a client that is not a replica
_NO_SESSION: Final = (0, -1)  # session id and epoch (KIP-227)
_UNKNOWN: Final = -1  # leader epoch, or first offset of a replica's log
_FIRST_VERSION_WITH_LOG_START_OFFSET: Final = 5
_FIRST_VERSION_WITH_SESSION: Final = 7
_FIRST_VERSION_WITH_LEADER_EPOCH: Final = 9
_FIRST_VERSION_WITH_RACK: Final = 11
_FIRST_VERSION_WITH_LAST_FETCHED_EPOCH: Final = 12


class FetchResult(NamedTuple):
    """The part of the response about one partition.

    Attributes:
        code: the error code.
        high_watermark: the offset after the last record that consumers may read.
        last_stable_offset: the same for isolation level ``read_committed``; -1 if the broker does not report it.
        aborted: producer id and first offset of each aborted transaction that overlaps the records.
        preferred_replica: the broker to fetch from instead; -1 for this one (KIP-392).
        records: record batches. The last one may be incomplete; the first one may begin before the requested offset.
        throttle_ms: for how long the client is throttled. If it is, the response has no records.
    """

    code: int
    high_watermark: int
    last_stable_offset: int
    aborted: list[tuple[int, int]]
    preferred_replica: int
    records: memoryview
    throttle_ms: int


def fetch(
    topic: str,
    partition: int,
    offset: int,
    max_bytes: int,
    *,
    wait_ms: int,
    committed: bool,
    min_bytes: int = 1,
    rack: str = "",
) -> Request:
    """Request records from an offset on. Goes to the partition's leader, or to its preferred replica.

    Args:
        max_bytes: approximate size of the response. The first batch is complete whatever its size.
        wait_ms: milliseconds to wait for ``min_bytes``.
        committed: whether to read with isolation level ``read_committed``.
        min_bytes: bytes of records to wait for.
        rack: the client's rack, for which the leader may return a preferred replica; empty to read from the leader.
    """

    def encode(version: int, flexible: bool) -> bytes:
        location = codec.pack("i", partition)
        if version >= _FIRST_VERSION_WITH_LEADER_EPOCH:
            location += codec.pack("i", _UNKNOWN)
        location += codec.pack("q", offset)
        if version >= _FIRST_VERSION_WITH_LAST_FETCHED_EPOCH:
            location += codec.pack("i", _UNKNOWN)
        if version >= _FIRST_VERSION_WITH_LOG_START_OFFSET:
            location += codec.pack("q", _UNKNOWN)
        location += codec.pack("i", max_bytes) + codec.tags(flexible)
        partitions = codec.string(topic, flexible) + codec.array([location], flexible) + codec.tags(flexible)
        body = codec.pack("iiiib", _CONSUMER, wait_ms, min_bytes, max_bytes, int(committed))
        if version >= _FIRST_VERSION_WITH_SESSION:
            body += codec.pack("ii", *_NO_SESSION)
        body += codec.array([partitions], flexible)
        if version >= _FIRST_VERSION_WITH_SESSION:
            body += codec.array([], flexible)  # partitions to remove from the session
        if version >= _FIRST_VERSION_WITH_RACK:
            body += codec.string(rack, flexible)
        return body + codec.tags(flexible)

    return Request(ApiKey.FETCH, 4, 12, encode)


def read_fetch(response: Reader, partition: int) -> FetchResult:
    """Read the response to ``fetch``."""
    throttle_ms, code = response.throttle_time(), int(ErrorCode.NONE)
    if response.version >= _FIRST_VERSION_WITH_SESSION:
        code = response.number("h")
        response.number("i")  # session id

    def pair() -> tuple[int, int]:
        producer_and_offset = response.number("q"), response.number("q")
        response.tags()
        return producer_and_offset

    def result() -> FetchResult:
        number, code = response.number("i"), response.number("h")
        high_watermark, stable = response.number("q"), response.number("q")
        if response.version >= _FIRST_VERSION_WITH_LOG_START_OFFSET:
            response.number("q")  # the first offset of the log
        aborted = response.array(pair)
        replica = response.number("i") if response.version >= _FIRST_VERSION_WITH_RACK else -1
        records = response.view()
        response.tags()
        if number != partition:
            raise MalformedResponse("the response is about another partition")
        return FetchResult(code, high_watermark, stable, aborted, replica, records, throttle_ms)

    def topic() -> list[FetchResult]:
        response.string()
        results = response.array(result)
        response.tags()
        return results

    results = [result for topic in response.array(topic) for result in topic]
    if not results and (code != ErrorCode.NONE or throttle_ms > 0):  # a throttled client gets no records
        return FetchResult(code, -1, -1, [], -1, memoryview(b""), throttle_ms)
    if len(results) != 1:
        raise MalformedResponse(f"the response is about {len(results)} partitions instead of 1")
    return results[0]
