"""Request the record batches of a partition (Fetch), and its first or end offset (ListOffsets)."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol.codec import ApiKey, MalformedResponse, Reader
from kafka_sql.kafka.protocol.messages import Request, make_request, read_response

_LATEST: Final = -1  # in place of a timestamp
_EARLIEST: Final = -2


class FetchResult(NamedTuple):
    """The part of the response about one partition."""

    code: int  # the error code
    high_watermark: int  # the offset after the last record that consumers may read
    last_stable_offset: int  # the same for isolation level ``read_committed``; -1 if the broker does not report it
    aborted: list[tuple[int, int]]  # producer id and first offset of each aborted transaction that overlaps the records
    preferred_replica: int  # the broker to fetch from instead; -1 for this one (KIP-392)
    # record batches. The last one may be incomplete; the first one may begin before the requested offset.
    records: memoryview
    throttle_ms: int  # for how long the client is throttled. If it is, the response has no records.


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
    location = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": max_bytes}
    return make_request(
        ApiKey.FETCH,
        max_wait_ms=wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=int(committed),
        topics=[{"topic": topic, "partitions": [location]}],
        forgotten_topics_data=[],
        rack_id=rack,
    )


def read_fetch(response: Reader, partition: int) -> FetchResult:
    """Read the response to ``fetch``."""
    body = read_response(response, ApiKey.FETCH)
    throttle_ms, code = body["throttle_time_ms"], body.get("error_code", ErrorCode.NONE)
    if not body["responses"] and (code != ErrorCode.NONE or throttle_ms > 0):  # a throttled client gets no records
        return FetchResult(code, -1, -1, [], -1, memoryview(b""), throttle_ms)
    result = _only_partition(body["responses"], partition)
    return FetchResult(
        result["error_code"],
        result["high_watermark"],
        result["last_stable_offset"],
        [(aborted["producer_id"], aborted["first_offset"]) for aborted in result["aborted_transactions"]],
        result.get("preferred_read_replica", -1),
        result["records"],
        throttle_ms,
    )


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
    location = {"partition_index": partition, "timestamp": timestamp}
    topics = [{"name": topic, "partitions": [location]}]
    return make_request(ApiKey.LIST_OFFSETS, isolation_level=isolation_level, topics=topics)


def read_list_offsets(response: Reader, partition: int) -> tuple[int, int]:
    """Read the response to a request for one offset: the error code and the offset."""
    result = _only_partition(read_response(response, ApiKey.LIST_OFFSETS)["topics"], partition)
    return result["error_code"], result["offset"]


def _only_partition(topics: list[dict[str, Any]], partition: int) -> dict[str, Any]:
    """Return the part of a response about the only partition that was requested."""
    results: list[dict[str, Any]] = [result for topic in topics for result in topic["partitions"]]
    if len(results) != 1:
        raise MalformedResponse(f"the response is about {len(results)} partitions instead of 1")
    if results[0]["partition_index"] != partition:
        raise MalformedResponse("the response is about another partition")
    return results[0]
