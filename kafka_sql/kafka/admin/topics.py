"""Topics made as a table says, and those that exist compared with it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType, TopicMetadata

from kafka_sql.errors import AuthorizationError, BrokerError, InvalidOptionError, TopicMismatchError
from kafka_sql.kafka.admin.cluster import Cluster

_SEEN_SECONDS: Final = 0.05  # between looks at whether all brokers know a new topic: Kafka tells of no such moment


@dataclass(frozen=True)
class TopicSettings:
    """What a topic is to be like.

    Attributes:
        partitions: None for the broker's default, and for any that a topic has already.
        replication: the same.
        config: the topic's own configuration, in Kafka's names. Of an existing topic nothing else is looked at.
    """

    partitions: int | None
    replication: int | None
    config: Mapping[str, str]


def ensure_topics(
    cluster: Cluster, topics: tuple[str, ...], wanted: TopicSettings, table: str, new: Mapping[str, str]
) -> list[str]:
    """Make the topics that are missing, and compare the others.

    Args:
        table: its name, for errors.
        new: configuration that only a topic made here has, where ``wanted`` says nothing of it.

    Returns:
        the names of those that were made.

    Raises:
        TopicMismatchError: an existing one is otherwise.
        InvalidOptionError: the cluster does not take the settings.
        AuthorizationError: the user may not create topics.
        BrokerError: no answer, or another failure.
    """
    known = cluster.topics()
    made = [topic for topic in topics if topic not in known and _create(cluster, topic, wanted, table, new)]
    _await_topics(cluster, made)
    for topic in topics:
        if topic not in made:
            _compare(cluster, topic, (known.get(topic) or cluster.topics()[topic]), wanted, table)
    return made


def _create(cluster: Cluster, topic: str, wanted: TopicSettings, table: str, new: Mapping[str, str]) -> bool:
    """Make a topic; False where another was faster."""
    request = NewTopic(
        topic,
        num_partitions=-1 if wanted.partitions is None else wanted.partitions,
        replication_factor=-1 if wanted.replication is None else wanted.replication,
        config={**new, **wanted.config},
    )
    where = f"Table '{table}': topic '{topic}' cannot be created ('sink.topic.create' = 'true')"
    admin = cluster.admin()

    def question(api: AdminClient, seconds: float) -> bool:
        try:
            api.create_topics([request], request_timeout=seconds)[topic].result()
        except KafkaException as e:
            error: KafkaError = e.args[0]
            why = admin.shown(str(error.str()))
            if error.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            if error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
                raise AuthorizationError(
                    f"{where}: {why} Grant the user CREATE on the topic or on the cluster, or create the topic."
                ) from e
            option = _OPTIONS.get(error.code())
            if option is not None:
                raise InvalidOptionError(f"{where}: {why} Look at option '{option}'.") from e
            raise
        return True

    try:
        return admin.ask(question)
    except AuthorizationError:
        raise
    except BrokerError as e:
        raise type(e)(f"{where}: {e.args[0]}") from e


_OPTIONS: Final = {
    KafkaError.INVALID_PARTITIONS: "sink.topic.partitions",
    KafkaError.INVALID_REPLICATION_FACTOR: "sink.topic.replication-factor",
    KafkaError.INVALID_CONFIG: "sink.topic.config.*",
    KafkaError.POLICY_VIOLATION: "sink.topic.*",
    KafkaError.TOPIC_EXCEPTION: "topic",
}


def _await_topics(cluster: Cluster, topics: list[str]) -> None:
    """Return when the cluster tells of the topics and their leaders; after its patience, what comes next says why."""
    deadline = time.monotonic() + cluster.admin().wait
    while topics and time.monotonic() < deadline:
        known = cluster.topics()
        if all(t in known and all(p.leader >= 0 for p in known[t].partitions.values()) for t in topics):
            return
        time.sleep(_SEEN_SECONDS)


def _compare(cluster: Cluster, topic: str, found: TopicMetadata, wanted: TopicSettings, table: str) -> None:
    def differs(option: str, has: object, said: object) -> TopicMismatchError:
        name = option.removeprefix("sink.topic.").removeprefix("config.")
        return TopicMismatchError(
            f"Table '{table}': topic '{topic}' exists and has {name} {has}, but option '{option}' = '{said}'. Change "
            "the option or the topic, or leave the option out."
        )

    partitions = found.partitions
    if wanted.partitions not in (None, len(partitions)):
        raise differs("sink.topic.partitions", len(partitions), wanted.partitions)
    replicas = {len(p.replicas) for p in partitions.values()}
    if wanted.replication is not None and replicas != {wanted.replication}:
        raise differs("sink.topic.replication-factor", ", ".join(map(str, sorted(replicas))), wanted.replication)
    if not wanted.config:
        return
    resource = ConfigResource(ResourceType.TOPIC, topic)
    config = cluster.admin().ask(
        lambda api, seconds: api.describe_configs([resource], request_timeout=seconds)[resource].result()
    )
    for key, value in wanted.config.items():
        if key not in config:
            raise InvalidOptionError(f"Table '{table}': option 'sink.topic.config.{key}' is no setting of a topic.")
        if config[key].value != value:
            raise differs(f"sink.topic.config.{key}", f"'{config[key].value}'", value)
