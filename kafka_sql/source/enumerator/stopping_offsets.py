"""Where a query ends: ``scan.bounded.mode``, by Flink's rules."""

from __future__ import annotations

from kafka_sql.definition import Definition
from kafka_sql.errors import OffsetError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.types import Offsets, TopicPartition
from kafka_sql.options import connector as opt
from kafka_sql.options.offsets import fill_in_topic, parse_specific_offsets
from kafka_sql.source.enumerator.partitions import list_partitions
from kafka_sql.source.enumerator.starting_offsets import (
    current_millis,
    offsets_for_time,
    require_group,
    resolve_sentinels,
)


def resolve_stop_offsets(definition: Definition, cluster: Cluster, positions: list[TopicPartition]) -> Offsets | None:
    """The offset of each partition that is the first not to be read; it may not exist yet. None: there is no end.

    Raises:
        MissingOptionError: the group's offsets are asked for, and no group is named.
        OffsetError: the group has committed no offset for a partition.
    """
    match definition.options[opt.BOUNDED_MODE]:
        case opt.UNBOUNDED:
            return None
        case opt.LATEST:
            return cluster.latest(positions)
        case opt.TIMESTAMP:
            return offsets_for_time(
                cluster, positions, definition.options[opt.BOUNDED_TIMESTAMP].resolve(current_millis())
            )
        case opt.SPECIFIC:
            return _specific(definition, cluster, positions)
        case _:
            return _group_offsets(definition, cluster, positions)


def end_exists(definition: Definition) -> bool:
    """Whether a bounded table ends at offsets that exist already, so that what is there now is all there will be.

    Raises:
        BrokerError: the cluster, a topic or a position cannot be had.
    """
    if definition.options[opt.BOUNDED_MODE] in (opt.LATEST, opt.TIMESTAMP):
        return True
    cluster = Cluster(definition.client)
    positions = list_partitions(definition, cluster)
    ends = cluster.latest(positions)
    return all(stop <= ends[p] for p, stop in (resolve_stop_offsets(definition, cluster, positions) or {}).items())


def _specific(definition: Definition, cluster: Cluster, positions: list[TopicPartition]) -> Offsets:
    topics = opt.topics(definition.options) or ()
    named = fill_in_topic(
        parse_specific_offsets(definition.options[opt.BOUNDED_OFFSETS], opt.BOUNDED_OFFSETS.key), topics
    )
    # what is not named is not read: it ends before its first record
    return resolve_sentinels(definition, cluster, {p: named.get(p, 0) for p in positions})


def _group_offsets(definition: Definition, cluster: Cluster, positions: list[TopicPartition]) -> Offsets:
    group = require_group(
        definition,
        "'scan.bounded.mode' is 'group-offsets'",
        "end at 'latest-offset', a 'timestamp' or 'specific-offsets'",
    )
    committed = cluster.committed(group, positions)
    missing = ", ".join(f"{t}[{p}]" for t, p in positions if (t, p) not in committed)
    if missing:
        raise OffsetError(
            f"Table '{definition.name}': partition {missing} should stop at committed offset. But there is no "
            f"committed offset of this partition for group {group}. Let the group commit, or set 'scan.bounded.mode' "
            "to 'latest-offset', 'timestamp' or 'specific-offsets'."
        )
    return committed
