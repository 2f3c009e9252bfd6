"""Read and commit the offsets of a consumer group without joining it, and request what the user may do with it.

Layouts: OffsetFetch, OffsetCommit and DescribeGroups in the message definitions of Apache Kafka. Operations: KIP-430.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeVar

from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import ApiKey, MalformedResponse, Reader
from kafka_sql.kafka.protocol.connection import Request
from kafka_sql.kafka.topic_partition import TopicPartition

T = TypeVar("T")

_NO_GENERATION, _NO_MEMBER = -1, ""  # of a client that has not joined the group
_NO_LEADER_EPOCH: Final = -1
_DEFAULT_RETENTION: Final = -1
_FIRST_FETCH_WITH_LEADER_EPOCH: Final = 5
_FIRST_FETCH_WITH_REQUIRE_STABLE: Final = 7
_FIRST_VERSION_WITH_THROTTLE_TIME: Final = 3  # of both
_LAST_COMMIT_WITH_RETENTION: Final = 4
_FIRST_COMMIT_WITH_LEADER_EPOCH: Final = 6
_FIRST_COMMIT_WITH_INSTANCE_ID: Final = 7
_FIRST_DESCRIBE_WITH_INSTANCE_ID: Final = 4


def offset_fetch(group: str, partitions: Collection[TopicPartition]) -> Request:
    """Request the committed offsets of partitions. Goes to the group's coordinator."""

    def encode(version: int, flexible: bool) -> bytes:
        topics = _topics(partitions, lambda partition: codec.pack("i", partition[1]), flexible)
        require_stable = codec.pack("?", False) if version >= _FIRST_FETCH_WITH_REQUIRE_STABLE else b""
        return codec.string(group, flexible) + topics + require_stable + codec.tags(flexible)

    return Request(ApiKey.OFFSET_FETCH, 2, 7, encode)


def read_offset_fetch(response: Reader) -> tuple[int, dict[TopicPartition, tuple[int, int]]]:
    """Read the response to ``offset_fetch``: an error code, and for each partition an error code and the offset.

    The offset is -1 if none is committed.
    """

    def partition(topic: str) -> tuple[TopicPartition, tuple[int, int]]:
        number, offset = response.number("i"), response.number("q")
        if response.version >= _FIRST_FETCH_WITH_LEADER_EPOCH:
            response.number("i")
        response.string()  # metadata
        code = response.number("h")
        response.tags()
        return (topic, number), (code, offset)

    if response.version >= _FIRST_VERSION_WITH_THROTTLE_TIME:
        response.throttle_time()
    results = _read_topics(response, partition)
    return response.number("h"), results


def offset_commit(group: str, offsets: Mapping[TopicPartition, int]) -> Request:
    """Commit offsets. Goes to the group's coordinator."""

    def encode(version: int, flexible: bool) -> bytes:
        def partition(key: TopicPartition) -> bytes:
            epoch = codec.pack("i", _NO_LEADER_EPOCH) if version >= _FIRST_COMMIT_WITH_LEADER_EPOCH else b""
            metadata = codec.string("", flexible) + codec.tags(flexible)
            return codec.pack("iq", key[1], offsets[key]) + epoch + metadata

        member = codec.pack("i", _NO_GENERATION) + codec.string(_NO_MEMBER, flexible)
        if version >= _FIRST_COMMIT_WITH_INSTANCE_ID:
            member += codec.string(None, flexible)
        retention = codec.pack("q", _DEFAULT_RETENTION) if version <= _LAST_COMMIT_WITH_RETENTION else b""
        topics = _topics(offsets, partition, flexible)
        return codec.string(group, flexible) + member + retention + topics + codec.tags(flexible)

    return Request(ApiKey.OFFSET_COMMIT, 2, 8, encode)


def read_offset_commit(response: Reader) -> dict[TopicPartition, int]:
    """Read the response to ``offset_commit``: the error code of each partition."""

    def partition(topic: str) -> tuple[TopicPartition, int]:
        number, code = response.number("i"), response.number("h")
        response.tags()
        return (topic, number), code

    if response.version >= _FIRST_VERSION_WITH_THROTTLE_TIME:
        response.throttle_time()
    return _read_topics(response, partition)


def describe_group(group: str) -> Request:
    """Request what the user may do with a group. Goes to its coordinator."""

    def encode(_: int, flexible: bool) -> bytes:
        include_operations = codec.pack("?", True)
        return codec.array([codec.string(group, flexible)], flexible) + include_operations + codec.tags(flexible)

    return Request(ApiKey.DESCRIBE_GROUPS, 3, 5, encode)


def read_describe_group(response: Reader) -> tuple[int, int]:
    """Read the response to ``describe_group``: an error code, and a bit for the number of each allowed operation."""

    def member() -> None:
        response.string()  # member id
        if response.version >= _FIRST_DESCRIBE_WITH_INSTANCE_ID:
            response.string()
        for _ in range(2):  # client id, host
            response.string()
        for _ in range(2):  # metadata, assignment
            response.data()
        response.tags()

    def group() -> tuple[int, int]:
        code = response.number("h")
        for _ in range(4):  # group id, state, protocol type, protocol
            response.string()
        response.array(member)
        operations = response.number("i")
        response.tags()
        return code, operations

    response.throttle_time()
    groups = response.array(group)
    if len(groups) != 1:
        raise MalformedResponse(f"the response is about {len(groups)} groups instead of 1")
    return groups[0]


def _topics(partitions: Collection[TopicPartition], encode: Callable[[TopicPartition], bytes], flexible: bool) -> bytes:
    by_topic: dict[str, list[TopicPartition]] = {}
    for partition in partitions:
        by_topic.setdefault(partition[0], []).append(partition)
    return codec.array(
        (
            codec.string(topic, flexible) + codec.array(map(encode, group), flexible) + codec.tags(flexible)
            for topic, group in by_topic.items()
        ),
        flexible,
    )


def _read_topics(response: Reader, partition: Callable[[str], tuple[TopicPartition, T]]) -> dict[TopicPartition, T]:
    def topic() -> list[tuple[TopicPartition, T]]:
        name = str(response.string())
        results = response.array(lambda: partition(name))
        response.tags()
        return results

    return dict(result for results in response.array(topic) for result in results)
