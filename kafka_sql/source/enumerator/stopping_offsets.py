"""Resolve where a query ends: ``scan.bounded.mode``, by Flink's rules."""

from __future__ import annotations

from kafka_sql.definition import Definition
from kafka_sql.errors import OffsetError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.topic_partition import Offsets, TopicPartition
from kafka_sql.options import connector as opt
from kafka_sql.options.positions import fill_in_topic, parse_specific_offsets
from kafka_sql.source.dynamic.clusters import open_cluster
from kafka_sql.source.enumerator.partitions import list_partitions
from kafka_sql.source.enumerator.starting_offsets import (
    current_millis,
    offsets_for_time,
    require_group,
    resolve_sentinels,
)


def resolve_stop_offsets(definition: Definition, cluster: Cluster, partitions: list[TopicPartition]) -> Offsets | None:
    """Return each partition's stop offset (exclusive), which may not exist yet. None: the read is unbounded.

    Raises:
        MissingOptionError: the bounded mode is 'group-offsets', and 'properties.group.id' is not set.
        OffsetError: the group has no committed offset for a partition.
    """
    match definition.options[opt.BOUNDED_MODE]:
        case opt.UNBOUNDED:
            return None
        case opt.LATEST:
            return cluster.latest(partitions)
        case opt.TIMESTAMP:
            timestamp = definition.options[opt.BOUNDED_TIMESTAMP].resolve(current_millis())
            return offsets_for_time(cluster, partitions, timestamp)
        case opt.SPECIFIC:
            return _specific_offsets(definition, cluster, partitions)
        case _:
            return _group_offsets(definition, cluster, partitions)


def end_exists(definition: Definition) -> bool:
    """Return whether a bounded table's stop offsets exist already, so that a read needs no records written later.

    Raises:
        BrokerError: the cluster, a topic or an offset is unavailable.
    """
    if definition.options[opt.BOUNDED_MODE] in (opt.LATEST, opt.TIMESTAMP):
        return True
    cluster = open_cluster(definition, Cluster)
    partitions = list_partitions(definition, cluster)
    ends = cluster.latest(partitions)
    return all(stop <= ends[p] for p, stop in (resolve_stop_offsets(definition, cluster, partitions) or {}).items())


def _specific_offsets(definition: Definition, cluster: Cluster, partitions: list[TopicPartition]) -> Offsets:
    topics = opt.topics(definition.options) or ()
    parsed = parse_specific_offsets(definition.options[opt.BOUNDED_OFFSETS], opt.BOUNDED_OFFSETS.key)
    specified = fill_in_topic(parsed, topics)
    # a partition that the option does not list ends at 0, so it is not read
    return resolve_sentinels(definition, cluster, {p: specified.get(p, 0) for p in partitions})


def _group_offsets(definition: Definition, cluster: Cluster, partitions: list[TopicPartition]) -> Offsets:
    group = require_group(
        definition,
        "'scan.bounded.mode' is 'group-offsets'",
        "set 'scan.bounded.mode' to 'latest-offset', 'timestamp' or 'specific-offsets'",
    )
    committed = cluster.committed(group, partitions)
    missing = [partition for partition in partitions if partition not in committed]
    if missing:
        names = ", ".join(f"{t}[{p}]" for t, p in missing)
        raise OffsetError(
            f"Table '{definition.name}': partition {names} should stop at committed offset. But there is no "
            f"committed offset of this partition for group {group}. Commit offsets for the group, or set "
            "'scan.bounded.mode' to 'latest-offset', 'timestamp' or 'specific-offsets'.",
            topic=missing[0][0],
            partition=missing[0][1],
            table=definition.name,
        )
    return committed
