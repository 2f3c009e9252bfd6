"""Create topics with the settings of a table, and check existing ones against them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType, TopicMetadata

from kafka_sql.errors import AuthorizationError, BrokerError, InvalidOptionError, TopicMismatchError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.protocol.codec import ApiKey


@dataclass(frozen=True)
class TopicSettings:
    """The settings that a table requires of its topics."""

    partitions: int | None  # None for the broker's default; an existing topic may then have any number
    replication: int | None  # the replication factor; None as for partitions
    config: Mapping[str, str]  # topic settings in Kafka's names. Other settings of an existing topic are not checked.


def ensure_topics(
    cluster: Cluster, topics: tuple[str, ...], settings: TopicSettings, table: str, defaults: Mapping[str, str]
) -> list[str]:
    """Create missing topics, and check the settings of existing ones.

    Args:
        defaults: topic settings for new topics, unless ``settings`` has them.

    Returns:
        the names of the created topics.

    Raises:
        TopicMismatchError: an existing topic has other settings.
        InvalidOptionError: the cluster rejects the settings.
        AuthorizationError: the user may not create topics.
        BrokerError: no response, or another error.
    """
    existing = cluster.topics()
    missing = [topic for topic in topics if topic not in existing]
    created = [topic for topic in missing if _create(cluster, topic, settings, table, defaults)]
    if missing:  # if they do not appear in time, the next request reports the cause
        existing = cluster.await_topics(missing, cluster.admin().limit().seconds, with_leaders=True)
    for topic in topics:
        if topic not in created and topic in existing:
            _check_settings(cluster, topic, existing[topic], settings, table)
    return created


def _create(cluster: Cluster, topic: str, settings: TopicSettings, table: str, defaults: Mapping[str, str]) -> bool:
    """Create a topic; return False if it already exists."""
    new_topic = NewTopic(
        topic,
        num_partitions=-1 if settings.partitions is None else settings.partitions,
        replication_factor=-1 if settings.replication is None else settings.replication,
        config={**defaults, **settings.config},
    )
    where = f"Table '{table}': topic '{topic}' cannot be created ('sink.topic.create' = 'true')"
    admin = cluster.admin()

    def request(api: AdminClient, seconds: float) -> bool:
        try:
            api.create_topics([new_topic], request_timeout=seconds)[topic].result()
        except KafkaException as e:
            error: KafkaError = e.args[0]
            reason = admin.errors.mask(str(error.str()))
            if error.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            if error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
                raise AuthorizationError(
                    f"{where}: {reason} Grant the user CREATE on the topic or on the cluster, or create the topic.",
                    topic=topic,
                    table=table,
                ) from e
            option = _OPTIONS.get(error.code())
            if option is not None:
                raise InvalidOptionError(f"{where}: {reason} Check option '{option}'.", option=option) from e
            raise
        return True

    try:
        return admin.call(ApiKey.CREATE_TOPICS, request)
    except AuthorizationError:
        raise
    except BrokerError as e:
        raise e.with_prefix(f"{where}: ") from e


_OPTIONS: Final = {
    KafkaError.INVALID_PARTITIONS: "sink.topic.partitions",
    KafkaError.INVALID_REPLICATION_FACTOR: "sink.topic.replication-factor",
    KafkaError.INVALID_CONFIG: "sink.topic.config.*",
    KafkaError.POLICY_VIOLATION: "sink.topic.*",
    KafkaError.TOPIC_EXCEPTION: "topic",
}


def _check_settings(cluster: Cluster, topic: str, metadata: TopicMetadata, settings: TopicSettings, table: str) -> None:
    def mismatch(option: str, actual: object, expected: object) -> TopicMismatchError:
        name = option.removeprefix("sink.topic.").removeprefix("config.")
        return TopicMismatchError(
            f"Table '{table}': topic '{topic}' exists and has {name} {actual}, but option '{option}' = '{expected}'. "
            "Change the option or the topic, or remove the option.",
            table=table,
            topic=topic,
        )

    partitions = metadata.partitions
    if settings.partitions not in (None, len(partitions)):
        raise mismatch("sink.topic.partitions", len(partitions), settings.partitions)
    replicas = {len(p.replicas) for p in partitions.values()}
    if settings.replication is not None and replicas != {settings.replication}:
        raise mismatch("sink.topic.replication-factor", ", ".join(map(str, sorted(replicas))), settings.replication)
    if not settings.config:
        return
    resource = ConfigResource(ResourceType.TOPIC, topic)
    config = cluster.admin().call(
        ApiKey.DESCRIBE_CONFIGS,
        lambda api, seconds: api.describe_configs([resource], request_timeout=seconds)[resource].result(),
    )
    for key, value in settings.config.items():
        if key not in config:
            raise InvalidOptionError(
                f"Table '{table}': unknown topic setting in option 'sink.topic.config.{key}'.",
                option=f"sink.topic.config.{key}",
                table=table,
            )
        if config[key].value != value:
            raise mismatch(f"sink.topic.config.{key}", f"'{config[key].value}'", value)
