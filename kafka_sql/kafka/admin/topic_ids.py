"""What tells a topic from one that is made later under its name (KIP-516)."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Final

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from kafka_sql.kafka.admin.client import NO_ANSWER
from kafka_sql.kafka.admin.cluster import Cluster

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

    def question(api: AdminClient, seconds: float) -> dict[str, str]:
        found = {}
        for topic, answer in api.describe_topics(named, request_timeout=seconds).items():
            try:
                found[topic] = str(answer.result().topic_id)
            except KafkaException as e:
                if e.args[0].code() in NO_ANSWER:
                    raise
                _LOG.debug("the id of topic '%s' cannot be had: %s", topic, e)  # it was deleted meanwhile
        return found

    return {topic: said for topic, said in admin.ask(question).items() if said != _NONE}
