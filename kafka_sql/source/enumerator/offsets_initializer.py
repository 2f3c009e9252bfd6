"""Call a user-defined startup position: ``scan.startup.offsets-initializer`` = ``module:callable``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kafka_sql.definition import Definition
from kafka_sql.errors import OffsetError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.types import Offsets, TopicPartition
from kafka_sql.options import connector as opt
from kafka_sql.options.callables import import_callable
from kafka_sql.options.offsets import COMMITTED


@dataclass(frozen=True)
class OffsetsRetriever:
    """Offset lookups for an initializer. Methods are named as those of Flink's PartitionOffsetsRetriever."""

    _cluster: Cluster
    _group: str | None

    def beginning_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the first available offset of each partition."""
        return self._cluster.earliest(partitions)

    def end_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offset after the last record; with read_committed, the last stable offset."""
        return self._cluster.latest(partitions)

    def committed_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offsets committed by 'properties.group.id'. Partitions without one are missing."""
        return self._cluster.committed(self._group, partitions)

    def offsets_for_times(self, timestamps: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the first offset whose timestamp is at or after the given one, in milliseconds since 1970-01-01 UTC.

        Partitions without such a record are missing.
        """
        return self._cluster.offsets_for_times(timestamps)


def call_offsets_initializer(definition: Definition, cluster: Cluster, partitions: list[TopicPartition]) -> Offsets:
    """Return the initializer's start offsets; -1, -2 and -3 stand for the latest, earliest and committed offset.

    The initializer is called on the driver as ``callable(partitions, client)`` with a list of (topic, partition) and
    an OffsetsRetriever, and returns an offset for each partition.

    Raises:
        InvalidOptionError: the module or callable was not found.
        OffsetError: the initializer omits a partition, adds one, or returns an invalid offset.
    """
    text = definition.options[opt.STARTUP_INITIALIZER]
    client = OffsetsRetriever(cluster, definition.options.get(opt.GROUP_ID))
    initializer = import_callable(opt.STARTUP_INITIALIZER.key, text, "on the driver")
    offsets = dict(initializer(list(partitions), client))
    prefix = f"Table '{definition.name}': the initializer '{text}' (option '{opt.STARTUP_INITIALIZER.key}') returned"
    invalid = [p for p in partitions if not isinstance(offsets.get(p), int) or offsets[p] < COMMITTED]
    if invalid:
        topic, partition = invalid[0]
        raise OffsetError(
            f"{prefix} an invalid offset for {topic}[{partition}]: {offsets.get(invalid[0])!r}.",
            topic=topic,
            partition=partition,
        )
    unexpected = [p for p in offsets if p not in partitions]
    if unexpected:
        raise OffsetError(f"{prefix} an offset for {unexpected[0]!r}, which is not a partition of the table.")
    return offsets
