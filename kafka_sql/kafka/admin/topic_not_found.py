"""Why a topic is not in the list of all topics: there is none, or the user may not see it."""

from __future__ import annotations

import logging
from collections.abc import Collection

from confluent_kafka import TopicCollection

from kafka_sql.errors import AuthorizationError, BrokerError, TopicNotFoundError, did_you_mean
from kafka_sql.kafka.admin.client import Admin

_LOG = logging.getLogger("kafka_sql.kafka")


def absence(admin: Admin, topic: str, known: Collection[str]) -> BrokerError:
    """The error for a topic that was not listed: brokers leave out what the user may not see.

    Args:
        known: the topics that were listed.
    """
    named = TopicCollection([topic])  # to describe a topic does not create it
    try:
        admin.ask(lambda api, seconds: api.describe_topics(named, request_timeout=seconds)[topic].result())
    except AuthorizationError as e:
        error = AuthorizationError(
            f"Topic '{topic}' does not exist on {admin.servers}, or the user of 'properties.sasl.username' (or of the "
            "certificate) may not see it. Grant the user DESCRIBE on the topic, and READ or WRITE for what the "
            "table is to do with it."
        )
        error.__cause__ = e
        return error
    except BrokerError as e:
        _LOG.debug("topic '%s' cannot be described: %s", topic, e)
    near = did_you_mean(topic, [t for t in known if not t.startswith("__")])
    return TopicNotFoundError(f"Topic '{topic}' does not exist on {admin.servers}.{near}")
