"""A startup position of the user's own: ``scan.startup.offsets-initializer`` = ``module:callable``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kafka_sql.definition import Definition
from kafka_sql.errors import OffsetError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.types import Offsets, TopicPartition
from kafka_sql.options import connector as opt
from kafka_sql.options.callables import import_callable


@dataclass(frozen=True)
class OffsetsRetriever:
    """What an initializer may ask of the cluster; named as the methods of Flink's PartitionOffsetsRetriever."""

    _cluster: Cluster
    _group: str | None

    def beginning_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset that each partition still holds."""
        return self._cluster.earliest(partitions)

    def end_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset behind the last record; under read_committed, the last stable one."""
        return self._cluster.latest(partitions)

    def committed_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """What 'properties.group.id' has committed; a partition without it is absent."""
        return self._cluster.committed(self._group, partitions)

    def offsets_for_times(self, timestamps: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """The first offset whose record is not older than the milliseconds since 1970-01-01 UTC; without one absent."""
        return self._cluster.at_times(timestamps)


def call_offsets_initializer(definition: Definition, cluster: Cluster, positions: list[TopicPartition]) -> Offsets:
    """What the initializer says of these partitions; -1, -2 and -3 are the latest, earliest and committed offset.

    It is called as ``callable(partitions, client)`` with a list of (topic, partition) and an OffsetsRetriever, on the
    driver, and gives an offset for each.

    Raises:
        InvalidOptionError: there is no such module or callable.
        OffsetError: it leaves a partition out, names a foreign one, or gives no offset.
    """
    text = definition.options[opt.STARTUP_INITIALIZER]
    client = OffsetsRetriever(cluster, definition.options.get(opt.GROUP_ID))
    found = dict(import_callable(opt.STARTUP_INITIALIZER.key, text, "on the driver")(list(positions), client))
    where = f"Table '{definition.name}': the initializer '{text}' (option '{opt.STARTUP_INITIALIZER.key}')"
    wrong = [p for p in positions if not isinstance(found.get(p), int) or found[p] < -3]
    if wrong:
        topic, partition = wrong[0]
        raise OffsetError(f"{where} gives {found.get(wrong[0])!r} as the offset of {topic}[{partition}].")
    foreign = [p for p in found if p not in positions]
    if foreign:
        raise OffsetError(f"{where} gives an offset of {foreign[0]!r}, which it was not asked for.")
    return found
