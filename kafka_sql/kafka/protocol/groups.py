"""Read and commit the offsets of a consumer group without joining it, and request what the user may do with it.

Requests: OffsetFetch, OffsetCommit and DescribeGroups. Operations: KIP-430.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from kafka_sql.kafka.protocol.codec import ApiKey, MalformedResponse, Reader
from kafka_sql.kafka.protocol.messages import Request, make_request, read_response
from kafka_sql.kafka.topic_partition import TopicPartition, group_by_topic

_NO_MEMBER: Final = ""  # of a client that has not joined the group


def offset_fetch(group: str, partitions: Collection[TopicPartition]) -> Request:
    """Request the committed offsets of partitions. Goes to the group's coordinator."""
    topics = [{"name": name, "partition_indexes": numbers} for name, numbers in group_by_topic(partitions).items()]
    return make_request(ApiKey.OFFSET_FETCH, group_id=group, topics=topics)


def read_offset_fetch(response: Reader) -> tuple[int, dict[TopicPartition, tuple[int, int]]]:
    """Read the response to ``offset_fetch``: an error code, and for each partition an error code and the offset.

    The offset is -1 if none is committed.
    """
    body = read_response(response, ApiKey.OFFSET_FETCH)
    return body["error_code"], {
        (topic["name"], result["partition_index"]): (result["error_code"], result["committed_offset"])
        for topic in body["topics"]
        for result in topic["partitions"]
    }


def offset_commit(group: str, offsets: Mapping[TopicPartition, int]) -> Request:
    """Commit offsets. Goes to the group's coordinator."""
    topics = [
        {
            "name": name,
            "partitions": [
                {"partition_index": number, "committed_offset": offsets[name, number], "committed_metadata": ""}
                for number in numbers
            ],
        }
        for name, numbers in group_by_topic(offsets).items()
    ]
    return make_request(
        ApiKey.OFFSET_COMMIT, group_id=group, member_id=_NO_MEMBER, group_instance_id=None, topics=topics
    )


def read_offset_commit(response: Reader) -> dict[TopicPartition, int]:
    """Read the response to ``offset_commit``: the error code of each partition."""
    return {
        (topic["name"], result["partition_index"]): result["error_code"]
        for topic in read_response(response, ApiKey.OFFSET_COMMIT)["topics"]
        for result in topic["partitions"]
    }


def describe_group(group: str) -> Request:
    """Request what the user may do with a group. Goes to its coordinator."""
    return make_request(ApiKey.DESCRIBE_GROUPS, groups=[group], include_authorized_operations=True)


def read_describe_group(response: Reader) -> tuple[int, int]:
    """Read the response to ``describe_group``: an error code, and a bit for the number of each allowed operation."""
    groups = read_response(response, ApiKey.DESCRIBE_GROUPS)["groups"]
    if len(groups) != 1:
        raise MalformedResponse(f"the response is about {len(groups)} groups instead of 1")
    return groups[0]["error_code"], groups[0]["authorized_operations"]
