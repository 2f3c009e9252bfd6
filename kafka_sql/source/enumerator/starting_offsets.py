"""Resolve where a query without a checkpoint starts: ``scan.startup.mode``, by Flink's rules (OffsetsInitializer), or
the user-defined function of ``scan.startup.offsets-initializer`` = ``module:callable``.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kafka_sql.definition import Definition
from kafka_sql.errors import MissingOptionError, OffsetError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.topic_partition import Offsets, TopicPartition
from kafka_sql.options import connector as opt
from kafka_sql.options import positions as sentinels
from kafka_sql.options.allow_lists import import_callable
from kafka_sql.options.positions import fill_in_topic, parse_specific_offsets
from kafka_sql.source.dynamic.clusters import Clusters, cluster_of
from kafka_sql.source.table_log import warn

_EARLIEST = ("earliest", "smallest", "beginning")  # values of Java and of librdkafka
_LATEST = ("latest", "largest", "end")


def resolve_start_offsets(definition: Definition, cluster: Cluster, partitions: list[TopicPartition]) -> Offsets:
    """Return the start offset of each partition.

    Raises:
        MissingOptionError: the startup mode is 'group-offsets', and 'properties.group.id' is not set.
        OffsetError: the group has no offset for a partition, and no reset strategy is set.
        InvalidOptionError: the initializer could not be imported.
    """
    if definition.options.get(opt.STARTUP_INITIALIZER) is not None:
        return resolve_sentinels(definition, cluster, call_offsets_initializer(definition, cluster, partitions))
    match effective_startup_mode(definition):
        case opt.EARLIEST:
            return cluster.earliest(partitions)
        case opt.LATEST:
            return cluster.latest(partitions)
        case opt.TIMESTAMP:
            timestamp = definition.options[opt.STARTUP_TIMESTAMP].resolve(current_millis())
            return offsets_for_time(cluster, partitions, timestamp)
        case opt.SPECIFIC:
            return _specific_offsets(definition, cluster, partitions)
        case _:
            return _group_offsets(definition, cluster, partitions)


def clamp_to_log_end(definition: Definition, cluster: Cluster, starts: Offsets, stops: Offsets | None) -> Offsets:
    """Return the start offsets, with those after the end of the log reset as 'properties.auto.offset.reset' says.

    The default strategy is 'earliest', as in Flink's source. A range that ends before it starts is left unchanged: it
    is empty.

    Raises:
        OffsetError: the strategy is 'none'.
    """
    to_check = [p for p, offset in starts.items() if offset > 0 and (stops is None or offset < stops.get(p, offset))]
    ends = cluster.high_watermarks(to_check)
    out_of_range = {p: starts[p] for p in to_check if starts[p] > ends[p]}
    if not out_of_range:
        return starts
    details = ", ".join(
        f"{topic}[{partition}]@{offset} (the log ends at {ends[topic, partition]})"
        for (topic, partition), offset in sorted(out_of_range.items())
    )
    warn(definition.name, "start offsets are out of range: %s", details)
    return {**starts, **apply_offset_reset(definition, cluster, list(out_of_range), "earliest")}


def resolve_new_starts(
    definition: Definition, cluster: Cluster, known: Collection[TopicPartition], partitions: Collection[TopicPartition]
) -> Offsets:
    """Return the start offsets of partitions that a running stream discovers: the earliest ones, as in Flink.

    Those of a new cluster of a 'dynamic-kafka' table start where the startup mode says.

    Args:
        known: the partitions that the stream has read before.
    """
    clusters = {cluster_of(topic) for topic, _ in known}
    is_dynamic = isinstance(cluster, Clusters)
    of_new_clusters = [p for p in partitions if is_dynamic and cluster_of(p[0]) not in clusters]
    if not of_new_clusters:
        return cluster.earliest(partitions)
    starts = resolve_start_offsets(definition, cluster, of_new_clusters)
    starts = clamp_to_log_end(definition, cluster, starts, None)
    return {**starts, **cluster.earliest([p for p in partitions if p not in starts])}


def effective_startup_mode(definition: Definition) -> str:
    """Return the startup mode. Upsert tables are always read from the earliest offset."""
    return opt.EARLIEST if definition.is_upsert else definition.options[opt.STARTUP_MODE]


def current_millis() -> int:
    """Return the current time in milliseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1_000_000


def offsets_for_time(cluster: Cluster, partitions: list[TopicPartition], millis: int) -> Offsets:
    """Return each partition's first offset whose timestamp is ``millis`` or later; the end if no record has one."""
    ends = cluster.latest(partitions)  # first, so that records written in between are not skipped
    return {**ends, **cluster.offsets_for_times(dict.fromkeys(partitions, millis))}


def resolve_sentinels(definition: Definition, cluster: Cluster, offsets: Offsets) -> Offsets:
    """Replace sentinel offsets (-1 latest, -2 earliest, -3 committed) with actual ones."""
    latest, earliest, committed = (
        [p for p, offset in offsets.items() if offset == sentinel]
        for sentinel in (sentinels.LATEST, sentinels.EARLIEST, sentinels.COMMITTED)
    )
    return {
        **offsets,
        **cluster.latest(latest),
        **cluster.earliest(earliest),
        **(_group_offsets(definition, cluster, committed) if committed else {}),
    }


def _specific_offsets(definition: Definition, cluster: Cluster, partitions: list[TopicPartition]) -> Offsets:
    topics = opt.topics(definition.options) or ()
    parsed = parse_specific_offsets(definition.options[opt.STARTUP_OFFSETS], opt.STARTUP_OFFSETS.key)
    specified = fill_in_topic(parsed, topics)
    starts = resolve_sentinels(definition, cluster, {p: specified[p] for p in partitions if p in specified})
    unspecified = [p for p in partitions if p not in specified]
    committed = cluster.committed(definition.options.get(opt.GROUP_ID), unspecified)
    uncommitted = [p for p in unspecified if p not in committed]
    return {**starts, **committed, **apply_offset_reset(definition, cluster, uncommitted, "earliest")}


def require_group(definition: Definition, condition: str, alternative: str) -> str:
    """Return the table's consumer group.

    Args:
        condition: when a group is required, for the error.
        alternative: what to set instead, for the error.

    Raises:
        MissingOptionError: 'properties.group.id' is not set.
    """
    group = definition.options.get(opt.GROUP_ID)
    if group is None:
        raise MissingOptionError(
            f"Table '{definition.name}': option 'properties.group.id' is required when {condition}. "
            f"Set it, or {alternative}.",
            table=definition.name,
            option="properties.group.id",
        )
    return str(group)


def _group_offsets(definition: Definition, cluster: Cluster, partitions: list[TopicPartition]) -> Offsets:
    group = require_group(
        definition,
        "'scan.startup.mode' is 'group-offsets' (its default)",
        "set 'scan.startup.mode' to 'earliest-offset' or 'latest-offset'",
    )
    committed = cluster.committed(group, partitions)
    return {
        **committed,
        **apply_offset_reset(definition, cluster, [p for p in partitions if p not in committed], "none"),
    }


def apply_offset_reset(
    definition: Definition, cluster: Cluster, partitions: list[TopicPartition], default: str
) -> Offsets:
    """Return the start offsets of partitions without a valid one, by 'properties.auto.offset.reset' or ``default``.

    Raises:
        OffsetError: the strategy is 'none'.
    """
    if not partitions:
        return {}
    strategy = definition.client_config.get("auto.offset.reset", default)
    if strategy in _EARLIEST:
        return cluster.earliest(partitions)
    if strategy in _LATEST:
        return cluster.latest(partitions)
    (topic, partition), *_ = ordered = sorted(partitions)
    names = ", ".join(f"{t}[{p}]" for t, p in ordered)
    group = definition.options.get(opt.GROUP_ID)
    reason = f"group '{group}' has no valid committed offset" if group is not None else "there is no valid start offset"
    raise OffsetError(
        f"Table '{definition.name}': {reason} for {names}, and no offset reset strategy is set. Set "
        "'properties.auto.offset.reset' to 'earliest' or 'latest', 'scan.startup.mode' to 'earliest-offset', "
        "'latest-offset' or 'timestamp', or 'properties.group.id' to a group with committed offsets.",
        topic=topic,
        partition=partition,
        table=definition.name,
    )


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
    invalid = [p for p in partitions if not isinstance(offsets.get(p), int) or offsets[p] < sentinels.COMMITTED]
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
