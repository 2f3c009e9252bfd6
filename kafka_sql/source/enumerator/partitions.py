"""List a table's partitions, and discover new ones while a stream runs."""

from __future__ import annotations

import time
from collections.abc import Callable

from kafka_sql.definition import Definition
from kafka_sql.errors import TopicNotFoundError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.topic_partition import INTERNAL_TOPICS, TopicPartition
from kafka_sql.options import connector as opt
from kafka_sql.options.java_pattern import compile_java_pattern
from kafka_sql.source.dynamic.clusters import Clusters
from kafka_sql.source.table_log import warn


def list_partitions(definition: Definition, cluster: Cluster) -> list[TopicPartition]:
    """Return the table's current partitions, sorted.

    Raises:
        TopicNotFoundError: a topic or partition that the options name does not exist, and 'scan.missing-topics' is
            'fail'. A pattern that matches no topic is not an error, as in Flink.
    """
    options, existing_topics = definition.options, cluster.topics()
    selected = options.get(opt.SCAN_PARTITIONS)
    ignores_missing = options[opt.MISSING_TOPICS] == opt.IGNORE
    topics = tuple(sorted(cluster.subscribed_topics())) if isinstance(cluster, Clusters) else opt.topics(options)
    if topics is None:
        pattern = compile_java_pattern(options.get(opt.TOPIC_PATTERN) or "")
        topics = tuple(t for t in existing_topics if pattern.fullmatch(t) and t not in INTERNAL_TOPICS)
        if not topics:
            warn(definition.name, "no topic matches the pattern '%s'", pattern.pattern)
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
            topic=missing[0][0],
            partition=missing[0][1],
            table=definition.name,
        )
    return sorted(set(selected) & set(existing_partitions))


class Discovery:
    """The partitions of a stream, listed at its start and then at 'scan.topic-partition-discovery.interval'.

    A bounded stream keeps its initial partitions, as in Flink.
    """

    def __init__(self, definition: Definition, clock: Callable[[], float] = time.monotonic) -> None:
        self._definition, self._clock = definition, clock
        is_bounded = definition.options[opt.BOUNDED_MODE] != opt.UNBOUNDED
        self._is_bounded = is_bounded
        is_fixed = is_bounded or definition.options.get(opt.SCAN_PARTITIONS) is not None
        self._interval = 0 if is_fixed else definition.options[opt.DISCOVERY_INTERVAL] / 1000
        self._partitions: list[TopicPartition] | None = None
        self._next_discovery = 0.0

    def partitions(self, cluster: Cluster, force: bool = False) -> list[TopicPartition]:
        """Return the table's partitions as of the last discovery.

        Args:
            force: whether to call the metadata service of a 'dynamic-kafka' table even before its interval has passed.

        Raises:
            TopicNotFoundError: as ``list_partitions``.
        """
        now = self._clock()
        is_due = self._partitions is None or (self._interval > 0 and now >= self._next_discovery)
        if isinstance(cluster, Clusters) and not (self._is_bounded and self._partitions is not None):
            is_due = cluster.refresh(force=force) or is_due
        if is_due or self._partitions is None:
            self._partitions = list_partitions(self._definition, cluster)
            self._next_discovery = now + self._interval
        return self._partitions
