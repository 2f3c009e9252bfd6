"""Why a topic is not in the list of all topics: there is none, or the user may not see it."""

from __future__ import annotations

from collections.abc import Collection

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from kafka_sql.errors import AuthorizationError, BrokerError, TopicNotFoundError, did_you_mean


def absence(admin: AdminClient, topic: str, known: Collection[str], servers: str, wait: float) -> BrokerError:
    """The error for a topic that was not listed: brokers leave out what the user may not see.

    Args:
        known: the topics that were listed.
        servers: for the error.
        wait: seconds for the brokers' answer, which no topic is created by.
    """
    try:
        admin.describe_topics(TopicCollection([topic]), request_timeout=wait)[topic].result()
    except KafkaException as e:
        if e.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            return AuthorizationError(
                f"Topic '{topic}' does not exist on {servers}, or the user of 'properties.sasl.username' (or of the "
                "certificate) may not see it. Grant the user DESCRIBE on the topic, and READ or WRITE for what the "
                "table is to do with it."
            )
    near = did_you_mean(topic, [t for t in known if not t.startswith("__")])
    return TopicNotFoundError(f"Topic '{topic}' does not exist on {servers}.{near}")
