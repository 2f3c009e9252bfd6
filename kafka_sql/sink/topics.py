"""Check a sink's topics on the driver before the first row is written; create them if 'sink.topic.create' is true."""

from __future__ import annotations

import logging
import time
from typing import Final

from kafka_sql.definition import Definition
from kafka_sql.errors import TopicNotFoundError
from kafka_sql.kafka.admin.cluster import Cluster, cached_cluster
from kafka_sql.kafka.admin.topics import TopicSettings, ensure_topics
from kafka_sql.options import connector as opt

_LOG = logging.getLogger("kafka_sql.sink")
# topic configuration of new 'upsert-kafka' topics only
_UPSERT_CONFIG: Final = {"cleanup.policy": "compact"}

_RECHECK_SECONDS: Final = 1.0  # a metadata request per small micro-batch is for all topics of the cluster

_ensured: set[tuple[str, ...]] = set()  # checked by this process: a stream checks before each batch
_found: dict[tuple[str, ...], float] = {}  # tables whose topics exist -> when this process has seen them


def ensure_topics_exist(definition: Definition, is_stream: bool = False) -> None:
    """Check that the table's topics exist with the declared settings. Create missing ones if the options say so.

    Args:
        is_stream: whether a stream checks its topics before each micro-batch. Those that existed within the last second
            are not looked up again; the task that writes to a deleted topic fails.

    Raises:
        TopicNotFoundError: a topic does not exist, and 'sink.topic.create' is false.
        TopicMismatchError: an existing topic differs from the declared settings.
        BrokerError: the cluster does not respond, or rejects a request.
    """
    topics = opt.topics(definition.options) or ()
    creates_topics = definition.options[opt.TOPIC_CREATE]
    settings = repr(topic_settings(definition))
    checked = (definition.name, definition.client_config["bootstrap.servers"], *topics, settings)
    if is_stream and time.monotonic() - _found.get(checked, -_RECHECK_SECONDS) < _RECHECK_SECONDS:
        return
    with cached_cluster(definition.client_config) as cluster:
        if creates_topics:
            key = (definition.client_config["bootstrap.servers"], *topics, settings)
            if key not in _ensured:
                _create_missing_topics(cluster, definition, topics)
                _ensured.add(key)
        try:
            cluster.partitions(topics)
        except TopicNotFoundError as e:
            if creates_topics:  # deleted since they were checked
                _create_missing_topics(cluster, definition, topics)
                return
            e.table = definition.name
            raise e.with_message(f"{e.message} Create it, or set '{opt.TOPIC_CREATE.key}' to 'true'.") from None
    _found[checked] = time.monotonic()


def _create_missing_topics(cluster: Cluster, definition: Definition, topics: tuple[str, ...]) -> None:
    new_topic_config = _UPSERT_CONFIG if definition.is_upsert else {}
    for topic in ensure_topics(cluster, topics, topic_settings(definition), definition.name, new_topic_config):
        log_fields = {"table": definition.name, "topic": topic}
        _LOG.info("Table '%s': topic '%s' was created", definition.name, topic, extra=log_fields)


def topic_settings(definition: Definition) -> TopicSettings:
    """Return the topic settings that the table declares."""
    options, prefix = definition.options, opt.TOPIC_CONFIG_PREFIX
    config = {k.removeprefix(prefix): v for k, v in definition.table.options.items() if k.startswith(prefix)}
    return TopicSettings(options.get(opt.TOPIC_PARTITIONS), options.get(opt.TOPIC_REPLICATION), config)
