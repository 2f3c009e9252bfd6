"""Request the brokers of a cluster, and the leaders of topics' partitions (Metadata)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol.addresses import Address
from kafka_sql.kafka.protocol.codec import ApiKey, MalformedResponse, Reader
from kafka_sql.kafka.protocol.errors import RetriableError
from kafka_sql.kafka.protocol.messages import Request, make_request, read_response

_NO_TOPIC_ID: Final = bytes(16)


class TopicMetadata(NamedTuple):
    """A topic as one broker knows it."""

    code: int  # the error code
    leaders: list[Address | None]  # the leader of each partition; None if it has no leader

    def leader(self, partition: int) -> Address | None:
        """Return the leader of a partition; None if the partition does not exist or has no leader."""
        return self.leaders[partition] if partition < len(self.leaders) else None

    def require_leader(self, partition: int) -> Address:
        """Return the leader of a partition.

        Raises:
            RetriableError: it has no leader at the moment, or the broker does not know the partition yet.
        """
        leader = self.leader(partition)
        if leader is None:
            raise RetriableError(self.code or ErrorCode.LEADER_NOT_AVAILABLE)
        return leader


class Metadata(NamedTuple):
    """The response."""

    brokers: dict[int, Address]  # the addresses of all brokers, by node id
    topics: dict[str, TopicMetadata]  # the requested topics by name

    def topic(self, name: str) -> TopicMetadata:
        """Return a requested topic.

        Raises:
            MalformedResponse: the response does not contain it.
        """
        if name not in self.topics:
            raise MalformedResponse(f"the response lacks topic {name!r}")
        return self.topics[name]


def metadata(topics: Sequence[str]) -> Request:
    """Request the brokers and the given topics; without topics, the brokers only. Missing topics are not created."""
    return make_request(ApiKey.METADATA, topics=[{"topic_id": _NO_TOPIC_ID, "name": name} for name in topics])


def read_metadata(response: Reader) -> Metadata:
    """Read the response to ``metadata``."""
    body = read_response(response, ApiKey.METADATA)
    nodes: dict[int, Address] = {broker["node_id"]: (broker["host"], broker["port"]) for broker in body["brokers"]}
    topics = dict[str, TopicMetadata]()
    for topic in body["topics"]:
        name = topic["name"]
        leaders = {partition["partition_index"]: partition["leader_id"] for partition in topic["partitions"]}
        if sorted(leaders) != list(range(len(leaders))):
            raise MalformedResponse(f"the response leaves out partitions of topic {name!r}")
        # without a leader, its id is -1
        topics[name] = TopicMetadata(topic["error_code"], [nodes.get(leaders[i]) for i in range(len(leaders))])
    return Metadata(nodes, topics)
