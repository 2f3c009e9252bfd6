"""A sink's topics: made where 'sink.topic.create' says so, on the driver, before the first row is written."""

from __future__ import annotations

import logging
from typing import Final

from kafka_sql.definition import Definition
from kafka_sql.kafka.admin.cached_cluster import kept_cluster
from kafka_sql.kafka.admin.topics import TopicSettings, ensure_topics
from kafka_sql.options import connector as opt

_LOG = logging.getLogger("kafka_sql.sink")
# what only a topic of current values has; a log keeps all its records
_UPSERT_CONFIG: Final = {"cleanup.policy": "compact"}

_ensured: set[tuple[str, ...]] = set()  # by this process: a stream asks before every batch


def check_topics_exist(definition: Definition) -> None:
    """Check that the table's topics exist, are as it says, and make them where it says so.

    Raises:
        TopicNotFoundError: one does not exist, and is not to be made.
        TopicMismatchError: one is otherwise than the table says.
        BrokerError: the cluster does not answer, or refuses.
    """
    topics = opt.topics(definition.options) or ()
    with kept_cluster(definition.client) as cluster:
        if definition.options[opt.TOPIC_CREATE]:
            settings = topic_settings(definition)
            key = (definition.client["bootstrap.servers"], *topics, repr(settings))
            if key not in _ensured:
                new = _UPSERT_CONFIG if definition.is_upsert else {}
                for topic in ensure_topics(cluster, topics, settings, definition.name, new):
                    facts = {"table": definition.name, "topic": topic}
                    _LOG.info("Table '%s': topic '%s' was created", definition.name, topic, extra=facts)
                _ensured.add(key)
        cluster.partitions(topics)


def topic_settings(definition: Definition) -> TopicSettings:
    """What the table says of its topics."""
    options, prefix = definition.options, opt.TOPIC_CONFIG_PREFIX
    config = {k.removeprefix(prefix): v for k, v in definition.table.options.items() if k.startswith(prefix)}
    return TopicSettings(options.get(opt.TOPIC_PARTITIONS), options.get(opt.TOPIC_REPLICATION), config)
