"""Settings of the brokers that a client should know of."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource

from kafka_sql.kafka.admin.client import admin_config
from kafka_sql.kafka.decision_log import _client
from kafka_sql.kafka.librdkafka.client import patience

_LOG = logging.getLogger("kafka_sql.kafka")


def broker_setting(config: Mapping[str, str], name: str) -> str | None:
    """A setting of one of the brokers; None where it may not be seen, as on managed clusters."""
    admin = _client(AdminClient, admin_config(config), {})
    try:
        nodes = admin.list_topics(timeout=patience(config)).brokers
        resource = ConfigResource(ConfigResource.Type.BROKER, str(min(nodes)))
        found = admin.describe_configs([resource], request_timeout=patience(config))[resource].result()
    except (KafkaException, ValueError) as e:
        _LOG.debug("broker setting '%s' is not known: %s", name, e)
        return None
    return str(found[name].value) if name in found else None
