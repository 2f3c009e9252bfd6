"""What tells a topic from one that is made later under its name (KIP-516)."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Final

from confluent_kafka import KafkaException, TopicCollection

from kafka_sql.kafka.cluster import Cluster

_LOG = logging.getLogger("kafka_sql.kafka")
_NONE: Final = "AAAAAAAAAAAAAAAAAAAAAA"  # of a broker before 2.8


def topic_ids(cluster: Cluster, topics: Collection[str]) -> dict[str, str]:
    """The ids of topics, as Kafka writes them; absent where nobody says.

    Raises:
        BrokerError: the brokers do not answer.
    """
    if not topics:
        return {}
    admin, named = cluster.admin(), TopicCollection(list(topics))
    asked = admin.ask(lambda api: api.describe_topics(named, request_timeout=admin.wait))
    found = {}
    for topic, answer in asked.items():
        try:
            found[topic] = str(answer.result().topic_id)
        except KafkaException as e:  # it was deleted meanwhile
            _LOG.debug("the id of topic '%s' cannot be had: %s", topic, e)
    return {topic: said for topic, said in found.items() if said != _NONE}
