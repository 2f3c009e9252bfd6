"""Describe topics, consumer groups and brokers: state, ids, settings, and what the user may do (KIP-430)."""

from __future__ import annotations

import logging
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigEntry, ConfigResource, TopicDescription

from kafka_sql.errors import AuthorizationError, BrokerError, TopicNotFoundError
from kafka_sql.kafka.admin.client import Admin
from kafka_sql.kafka.librdkafka.connection_failures import UNREACHABLE
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.suggestions import did_you_mean

_LOG = logging.getLogger("kafka_sql.kafka")
_NO_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"  # sent by brokers before 2.8


@dataclass(frozen=True)
class TopicState:
    """The current state of a topic."""

    partitions: int  # how many there are
    replication_factor: int  # the lowest of all partitions
    leaderless: tuple[int, ...]  # partitions without a leader
    under_replicated: tuple[int, ...]  # partitions with a replica that is not in sync
    # what the user may do, in Kafka's names; None if the brokers do not report it
    allowed_operations: frozenset[str] | None


def describe_topics(admin: Admin, topics: Sequence[str]) -> dict[str, TopicState]:
    """Return the state of existing topics by name.

    Raises:
        BrokerError: the brokers do not respond, or the user may not see a topic.
    """
    if not topics:
        return {}
    collection = TopicCollection(list(topics))

    def request(api: AdminClient, seconds: float) -> dict[str, TopicDescription]:
        futures = api.describe_topics(collection, include_authorized_operations=True, request_timeout=seconds)
        return {topic: future.result() for topic, future in futures.items()}

    states = {}
    for topic, description in admin.call(ApiKey.DESCRIBE_TOPIC_PARTITIONS, request).items():
        partitions = description.partitions
        states[topic] = TopicState(
            len(partitions),
            min((len(p.replicas) for p in partitions), default=0),
            tuple(p.id for p in partitions if p.leader is None or p.leader.id < 0),
            tuple(p.id for p in partitions if len(p.isr) < len(p.replicas)),
            _operation_names(description.authorized_operations),
        )
    return states


def topic_ids(admin: Admin, topics: Collection[str]) -> dict[str, str]:
    """Return the ids of topics in Kafka's notation. A recreated topic has the same name and another id (KIP-516).

    Topics that no longer exist are absent, and so are all topics of brokers before 2.8.

    Raises:
        BrokerError: the brokers do not respond.
    """
    if not topics:
        return {}
    collection = TopicCollection(list(topics))

    def request(api: AdminClient, seconds: float) -> dict[str, str]:
        ids = {}
        for topic, future in api.describe_topics(collection, request_timeout=seconds).items():
            try:
                ids[topic] = str(future.result().topic_id)
            except KafkaException as e:
                if e.args[0].code() in UNREACHABLE:
                    raise
                _LOG.debug("no id for topic '%s': %s", topic, e)  # deleted in the meantime
        return ids

    ids_by_topic = admin.call(ApiKey.DESCRIBE_TOPIC_PARTITIONS, request)
    return {topic: topic_id for topic, topic_id in ids_by_topic.items() if topic_id != _NO_ID}


def topic_not_found_error(admin: Admin, topic: str, listed: Collection[str]) -> BrokerError:
    """Return the error for a topic missing from the list of all topics, from which brokers omit unauthorized ones."""
    collection = TopicCollection([topic])  # describing a topic does not create it
    try:
        admin.call(
            ApiKey.DESCRIBE_TOPIC_PARTITIONS,
            lambda api, seconds: api.describe_topics(collection, request_timeout=seconds)[topic].result(),
        )
    except AuthorizationError as e:
        error = AuthorizationError(
            f"Topic '{topic}' does not exist on {admin.servers}, or the user of 'properties.sasl.username' (or of the "
            "certificate) is not authorized to see it. Grant the user DESCRIBE on the topic, and READ or WRITE as the "
            "table needs.",
            topic=topic,
            servers=admin.servers,
        )
        error.__cause__ = e
        return error
    except BrokerError as e:
        _LOG.debug("topic '%s' cannot be described: %s", topic, e)
    suggestion = did_you_mean(topic, [t for t in listed if not t.startswith("__")])
    return TopicNotFoundError(
        f"Topic '{topic}' does not exist on {admin.servers}.{suggestion}", topic=topic, servers=admin.servers
    )


def _operation_names(operations: object) -> frozenset[str] | None:
    return None if operations is None else frozenset(o.name for o in operations)  # type: ignore[attr-defined]


def broker_setting(config: Mapping[str, str], name: str) -> str | None:
    """Return a setting of one of the brokers; None if the user may not see it, as on managed clusters."""

    def request(api: AdminClient, seconds: float) -> Mapping[str, ConfigEntry]:
        node = random.choice(list(api.list_topics(timeout=seconds).brokers))  # each describes itself
        resource = ConfigResource(ConfigResource.Type.BROKER, str(node))
        settings: Mapping[str, ConfigEntry] = api.describe_configs([resource], request_timeout=seconds)[
            resource
        ].result()
        return settings

    try:
        settings = Admin(config).call(ApiKey.DESCRIBE_CONFIGS, request)
    except BrokerError as e:
        _LOG.debug("broker setting '%s' is unknown: %s", name, e)
        return None
    return str(settings[name].value) if name in settings else None
