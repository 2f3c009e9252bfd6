"""Which partitions a table has, and when a stream looks for new ones."""

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


def list_partitions(definition: Definition, cluster: Cluster) -> list[TopicPartition]:
    """The partitions that the table has as of now, sorted.

    Raises:
        TopicNotFoundError: a topic or partition that the table names does not exist, and 'scan.missing-topics' is
            'fail'. A pattern that no topic matches is no error, as in Flink.
    """
    options, existing = definition.options, cluster.topics()
    chosen = options.get(opt.SCAN_PARTITIONS)
    ignore = options[opt.MISSING_TOPICS] == opt.IGNORE
    topics = opt.topics(options)
    if topics is None:
        pattern = compile_java_pattern(options.get(opt.TOPIC_PATTERN) or "")
        topics = tuple(t for t in existing if pattern.fullmatch(t) and t not in INTERNAL_TOPICS)
        if not topics:
            _LOG.warning(
                "table '%s': no topic matches the pattern '%s'",
                definition.name,
                pattern.pattern,
                extra={"table": definition.name},
            )
    found = cluster.partitions(tuple(t for t in topics if t in existing) if ignore else topics, existing)
    if chosen is None:
        return found
    missing = sorted(set(chosen) - set(found))
    if missing and not ignore:
        places = ", ".join(f"{topic}[{partition}]" for topic, partition in missing)
        raise TopicNotFoundError(
            f"Table '{definition.name}': option '{opt.SCAN_PARTITIONS.key}' names {places}, which does not exist on "
            "Kafka brokers."
        )
    return sorted(set(chosen) & set(found))


# Kafka's own topics, which no pattern means (Java's Topic.isInternal, which Flink's list of topics leaves out)
INTERNAL_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state")


class Discovery:
    """The partitions of a stream: looked up when it starts, and then once an interval.

    A bounded stream keeps those of its start, as in Flink.
    """

    def __init__(self, definition: Definition, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is asked yet.

        Args:
            clock: seconds, from any point on.
        """
        self._definition, self._clock = definition, clock
        bounded = definition.options[opt.BOUNDED_MODE] != opt.UNBOUNDED
        fixed = bounded or definition.options.get(opt.SCAN_PARTITIONS) is not None
        self._interval = 0 if fixed else definition.options[opt.DISCOVERY_INTERVAL] / 1000
        self._found: list[TopicPartition] | None = None
        self._next = 0.0

    def partitions(self, cluster: Cluster) -> list[TopicPartition]:
        """The partitions of the table, as of the last look.

        Raises:
            TopicNotFoundError: as ``partitions``.
        """
        now = self._clock()
        if self._found is None or (self._interval > 0 and now >= self._next):
            self._found, self._next = list_partitions(self._definition, cluster), now + self._interval
        return self._found

    def invalidate(self) -> None:
        """Look at the next question, because what was found is no more."""
        self._found = None
