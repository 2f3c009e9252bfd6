"""List a table's partitions, and discover new ones while a stream runs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from kafka_sql.definition import Definition
from kafka_sql.errors import TopicNotFoundError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.types import TopicPartition
from kafka_sql.options import connector as opt
from kafka_sql.options.java_pattern import compile_java_pattern

_LOG = logging.getLogger("kafka_sql.source")

# Kafka's own topics, which patterns do not match (Topic.isInternal, which Flink's topic listing excludes)
INTERNAL_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state")


def list_partitions(definition: Definition, cluster: Cluster) -> list[TopicPartition]:
    """Return the table's current partitions, sorted.

    Raises:
        TopicNotFoundError: a topic or partition that the options name does not exist, and 'scan.missing-topics' is
            'fail'. A pattern that matches no topic is not an error, as in Flink.
    """
    options, existing_topics = definition.options, cluster.topics()
    selected = options.get(opt.SCAN_PARTITIONS)
    ignores_missing = options[opt.MISSING_TOPICS] == opt.IGNORE
    topics = opt.topics(options)
    if topics is None:
        pattern = compile_java_pattern(options.get(opt.TOPIC_PATTERN) or "")
        topics = tuple(t for t in existing_topics if pattern.fullmatch(t) and t not in INTERNAL_TOPICS)
        if not topics:
            _LOG.warning(
                "table '%s': no topic matches the pattern '%s'",
                definition.name,
                pattern.pattern,
                extra={"table": definition.name},
            )
    if ignores_missing:
        topics = tuple(t for t in topics if t in existing_topics)
    try:
        existing_partitions = cluster.partitions(topics, existing_topics)
    except TopicNotFoundError as e:
        e.table = definition.name
        advice = f"Create it, or set '{opt.MISSING_TOPICS.key}' to '{opt.IGNORE}'."
        raise e.with_message(f"{e.message} {advice}") from None
    if selected is None:
        return existing_partitions
    missing = sorted(set(selected) - set(existing_partitions))
    if missing and not ignores_missing:
        names = ", ".join(f"{topic}[{partition}]" for topic, partition in missing)
        raise TopicNotFoundError(
            f"Table '{definition.name}': partitions of option '{opt.SCAN_PARTITIONS.key}' do not exist on the Kafka "
            f"brokers: {names}. Create them, or correct the option.",
            table=definition.name,
        )
    return sorted(set(selected) & set(existing_partitions))


class Discovery:
    """The partitions of a stream, listed at its start and then at 'scan.topic-partition-discovery.interval'.

    A bounded stream keeps its initial partitions, as in Flink.
    """

    def __init__(self, definition: Definition, clock: Callable[[], float] = time.monotonic) -> None:
        """Set up discovery. Does not connect to the cluster.

        Args:
            clock: returns monotonic seconds.
        """
        self._definition, self._clock = definition, clock
        is_bounded = definition.options[opt.BOUNDED_MODE] != opt.UNBOUNDED
        is_fixed = is_bounded or definition.options.get(opt.SCAN_PARTITIONS) is not None
        self._interval = 0 if is_fixed else definition.options[opt.DISCOVERY_INTERVAL] / 1000
        self._partitions: list[TopicPartition] | None = None
        self._next_discovery = 0.0

    def partitions(self, cluster: Cluster) -> list[TopicPartition]:
        """Return the table's partitions as of the last discovery.

        Raises:
            TopicNotFoundError: as ``list_partitions``.
        """
        now = self._clock()
        if self._partitions is None or (self._interval > 0 and now >= self._next_discovery):
            self._partitions = list_partitions(self._definition, cluster)
            self._next_discovery = now + self._interval
        return self._partitions
