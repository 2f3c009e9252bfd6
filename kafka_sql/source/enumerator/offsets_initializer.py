"""Call the user-defined offsets initializer of ``scan.startup.offsets-initializer`` = ``module:callable``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kafka_sql.definition import Definition
from kafka_sql.errors import OffsetError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.topic_partition import Offsets, TopicPartition
from kafka_sql.options import connector as opt
from kafka_sql.options.callables import import_callable
from kafka_sql.options.positions import COMMITTED


@dataclass(frozen=True)
class OffsetsRetriever:
    """Looks up offsets for an initializer. The methods are those of Flink's PartitionOffsetsRetriever."""

    _cluster: Cluster
    _group: str | None

    def beginning_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the first available offset of each partition."""
        return self._cluster.earliest(partitions)

    def end_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offset after the last record; with read_committed, the last stable offset."""
        return self._cluster.latest(partitions)

    def committed_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offsets committed for 'properties.group.id'. Partitions without a committed offset are omitted."""
        return self._cluster.committed(self._group, partitions)

    def offsets_for_times(self, timestamps: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the offset of the first record in each partition with the requested timestamp or a later one.

        Partitions without such a record are omitted.

        Args:
            timestamps: milliseconds since 1970-01-01 UTC, by partition.
        """
        return self._cluster.offsets_for_times(timestamps)


def call_offsets_initializer(definition: Definition, cluster: Cluster, partitions: list[TopicPartition]) -> Offsets:
    """Return the start offsets from the initializer; -1, -2 and -3 mean the latest, earliest and committed offset.

    It is called on the driver as ``initializer(partitions, retriever)`` with a list of (topic, partition) and an
    OffsetsRetriever, and returns an offset for each partition.

    Raises:
        InvalidOptionError: the module or callable was not found.
        OffsetError: the initializer omits a partition, adds one, or returns an invalid offset.
    """
    name = definition.options[opt.STARTUP_INITIALIZER]
    retriever = OffsetsRetriever(cluster, definition.options.get(opt.GROUP_ID))
    initializer = import_callable(opt.STARTUP_INITIALIZER.key, name, "on the driver")
    offsets = dict(initializer(list(partitions), retriever))
    prefix = f"Table '{definition.name}': the initializer '{name}' (option '{opt.STARTUP_INITIALIZER.key}') returned"
    invalid = [p for p in partitions if not isinstance(offsets.get(p), int) or offsets[p] < COMMITTED]
    if invalid:
        topic, partition = invalid[0]
        raise OffsetError(
            f"{prefix} an invalid offset for {topic}[{partition}]: {offsets.get(invalid[0])!r}. Return an "
            "integer for each partition: an offset, or -1 (latest), -2 (earliest) or -3 (committed).",
            topic=topic,
            partition=partition,
            table=definition.name,
        )
    unexpected = [p for p in offsets if p not in partitions]
    if unexpected:
        raise OffsetError(
            f"{prefix} an offset for {unexpected[0]!r}, which is not a partition of the table. Return offsets only for "
            "the partitions in the first argument.",
            table=definition.name,
        )
    return offsets
