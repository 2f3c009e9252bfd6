"""Request the brokers of a cluster, and the leaders of topics' partitions (Metadata).

Layout: Metadata versions 4 to 12 of Apache Kafka's message definitions. Older ones may create missing topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.addresses import Address
from kafka_sql.kafka.protocol.codec import ApiKey, MalformedResponse, Reader
from kafka_sql.kafka.protocol.connection import Request
from kafka_sql.kafka.protocol.errors import RetriableError

_AUTO_TOPIC_CREATION: Final = False
_AUTHORIZED_OPERATIONS: Final = False  # not requested
_NO_TOPIC_ID: Final = bytes(16)
_FIRST_VERSION_WITH_OFFLINE_REPLICAS: Final = 5
_FIRST_VERSION_WITH_LEADER_EPOCH: Final = 7
_FIRST_VERSION_WITH_OPERATIONS: Final = 8
_VERSIONS_WITH_CLUSTER_OPERATIONS: Final = range(8, 11)
_FIRST_VERSION_WITH_TOPIC_ID: Final = 10


class TopicMetadata(NamedTuple):
    """A topic as one broker knows it.

    Attributes:
        code: the error code.
        leaders: the leader of each partition; None if it has no leader.
    """

    code: int
    leaders: list[Address | None]

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
    """The response.

    Attributes:
        brokers: the addresses of all brokers, by node id.
        topics: the requested topics by name.
    """

    brokers: dict[int, Address]
    topics: dict[str, TopicMetadata]

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

    def encode(version: int, flexible: bool) -> bytes:
        topic_id = _NO_TOPIC_ID if version >= _FIRST_VERSION_WITH_TOPIC_ID else b""
        names = (topic_id + codec.string(name, flexible) + codec.tags(flexible) for name in topics)
        options = [_AUTO_TOPIC_CREATION]
        if version >= _FIRST_VERSION_WITH_OPERATIONS:
            options.append(_AUTHORIZED_OPERATIONS)  # of the topics
        if version in _VERSIONS_WITH_CLUSTER_OPERATIONS:
            options.append(_AUTHORIZED_OPERATIONS)  # of the cluster
        return codec.array(names, flexible) + codec.pack(f"{len(options)}?", *options) + codec.tags(flexible)

    return Request(ApiKey.METADATA, 4, 12, encode)


def read_metadata(response: Reader) -> Metadata:
    """Read the response to ``metadata``."""
    nodes: dict[int, Address] = {}

    def broker() -> None:
        node = response.number("i")
        nodes[node] = (str(response.string()), response.number("i"))
        response.string()  # rack
        response.tags()

    def partition() -> tuple[int, int]:
        response.number("h")  # error code: the leader is -1 then
        number, leader = response.number("i"), response.number("i")
        if response.version >= _FIRST_VERSION_WITH_LEADER_EPOCH:
            response.number("i")
        for _ in range(
            3 if response.version >= _FIRST_VERSION_WITH_OFFLINE_REPLICAS else 2
        ):  # replicas, in-sync replicas
            response.array(lambda: response.number("i"))
        response.tags()
        return number, leader

    def topic() -> tuple[str, TopicMetadata]:
        code, name = response.number("h"), str(response.string())
        if response.version >= _FIRST_VERSION_WITH_TOPIC_ID:
            response.number("16s")
        response.number("?")  # internal
        leaders = dict(response.array(partition))
        if sorted(leaders) != list(range(len(leaders))):
            raise MalformedResponse(f"the response leaves out partitions of topic {name!r}")
        if response.version >= _FIRST_VERSION_WITH_OPERATIONS:
            response.number("i")
        response.tags()
        return name, TopicMetadata(code, [nodes.get(leaders[number]) for number in range(len(leaders))])

    response.throttle_time()
    response.array(broker)
    response.string()  # cluster id
    response.number("i")  # controller
    topics = dict(response.array(topic))
    return Metadata(nodes, topics)
