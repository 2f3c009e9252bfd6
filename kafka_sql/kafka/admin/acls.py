"""What a user may do, as the brokers tell it (KIP-430), and how a topic is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, TopicDescription

from kafka_sql.kafka.admin.cluster import Cluster

_PAUSE: Final = 0.1  # seconds
_PASSING: Final = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)


@dataclass(frozen=True)
class TopicFacts:
    """A topic as it is now.

    Attributes:
        replicas: of each partition; the fewest where they differ.
        leaderless: partitions that nobody leads.
        behind: partitions with a replica that is not in sync.
        rights: operations that are allowed, in Kafka's words; None where the brokers do not tell.
    """

    partitions: int
    replicas: int
    leaderless: tuple[int, ...]
    behind: tuple[int, ...]
    rights: frozenset[str] | None


def topic_facts(cluster: Cluster, topics: Sequence[str]) -> dict[str, TopicFacts]:
    """The facts of topics that exist.

    Raises:
        BrokerError: the brokers do not answer, or a topic may not be seen.
    """
    if not topics:
        return {}
    admin, named = cluster.admin(), TopicCollection(list(topics))

    def question(api: AdminClient, seconds: float) -> dict[str, TopicDescription]:
        asked = api.describe_topics(named, include_authorized_operations=True, request_timeout=seconds)
        return {topic: answer.result() for topic, answer in asked.items()}

    found = {}
    for topic, told in admin.ask(question).items():
        leaderless = tuple(p.id for p in told.partitions if p.leader is None or p.leader.id < 0)
        behind = tuple(p.id for p in told.partitions if len(p.isr) < len(p.replicas))
        found[topic] = TopicFacts(
            len(told.partitions),
            min((len(p.replicas) for p in told.partitions), default=0),
            leaderless,
            behind,
            _names(told.authorized_operations),
        )
    return found


def group_rights(cluster: Cluster, group: str) -> frozenset[str] | None:
    """What the user may do with a group, which need not exist; None where the brokers do not tell.

    Raises:
        AuthorizationError: not even see it.
        BrokerError: the brokers do not answer.
    """
    admin = cluster.admin()
    return _names(admin.ask(lambda api, seconds: _described(api, group, seconds)).authorized_operations)


def _described(api: AdminClient, group: str, seconds: float) -> Any:
    deadline = time.monotonic() + seconds
    while True:
        try:
            answers = api.describe_consumer_groups([group], include_authorized_operations=True, request_timeout=seconds)
            return answers[group].result()
        except KafkaException as e:
            if e.args[0].code() not in _PASSING or time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE)  # nobody tells when a coordinator is ready


def _names(operations: object) -> frozenset[str] | None:
    return None if operations is None else frozenset(one.name for one in operations)  # type: ignore[attr-defined]
