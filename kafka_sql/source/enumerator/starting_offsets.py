"""Where a query without a checkpoint starts: ``scan.startup.mode``, by Flink's rules (OffsetsInitializer)."""

from __future__ import annotations

import logging
import time

from kafka_sql.definition import Definition
from kafka_sql.errors import MissingOptionError, OffsetError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.types import Offsets, TopicPartition
from kafka_sql.options import connector as opt
from kafka_sql.options import offsets as special
from kafka_sql.options.offsets import fill_in_topic, parse_specific_offsets
from kafka_sql.source.enumerator.offsets_initializer import call_offsets_initializer

_LOG = logging.getLogger("kafka_sql.source")
_EARLIEST = ("earliest", "smallest", "beginning")  # librdkafka's words, too
_LATEST = ("latest", "largest", "end")


def resolve_start_offsets(definition: Definition, cluster: Cluster, positions: list[TopicPartition]) -> Offsets:
    """The startup position of each partition.

    Raises:
        MissingOptionError: the group's offsets are asked for, and no group is named.
        OffsetError: the group has no offset for a partition, and no reset strategy says where to start then.
        InvalidOptionError: the initializer cannot be loaded.
    """
    if definition.options.get(opt.STARTUP_INITIALIZER) is not None:
        return resolve_sentinels(definition, cluster, call_offsets_initializer(definition, cluster, positions))
    match effective_startup_mode(definition):
        case opt.EARLIEST:
            return cluster.earliest(positions)
        case opt.LATEST:
            return cluster.latest(positions)
        case opt.TIMESTAMP:
            return offsets_for_time(
                cluster, positions, definition.options[opt.STARTUP_TIMESTAMP].resolve(current_millis())
            )
        case opt.SPECIFIC:
            return _specific(definition, cluster, positions)
        case _:
            return _group_offsets(definition, cluster, positions)


def clamp_to_log_end(definition: Definition, cluster: Cluster, starts: Offsets, stops: Offsets | None) -> Offsets:
    """The starts, with those that lie beyond the end of the log set back as 'properties.auto.offset.reset' says.

    To the beginning unless it is set, as Flink's source does in all modes where that may happen. A read that ends
    before it starts is left alone: it is empty.

    Raises:
        OffsetError: the strategy is 'none'.
    """
    asked = [p for p, at in starts.items() if at > 0 and (stops is None or at < stops.get(p, at))]
    ends = cluster.high_watermarks(asked)
    beyond = {p: starts[p] for p in asked if starts[p] > ends[p]}
    if not beyond:
        return starts
    places = ", ".join(f"{t}[{p}]@{at} (the log ends at {ends[t, p]})" for (t, p), at in sorted(beyond.items()))
    _LOG.warning(
        "table '%s': the log has no offset to start from: %s", definition.name, places, extra={"table": definition.name}
    )
    return {**starts, **apply_offset_reset(definition, cluster, list(beyond), "earliest")}


def effective_startup_mode(definition: Definition) -> str:
    """The startup mode: of an upsert table the earliest, as the latest row of a key is known from its first record on
    only.
    """
    return opt.EARLIEST if definition.is_upsert else definition.options[opt.STARTUP_MODE]


def current_millis() -> int:
    """Milliseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1_000_000


def offsets_for_time(cluster: Cluster, positions: list[TopicPartition], millis: int) -> Offsets:
    """The first offset of each partition whose record is not older than ``millis``; without one, the end."""
    ends = cluster.latest(positions)  # first: what comes in between is then not missed
    return {**ends, **cluster.at_times(dict.fromkeys(positions, millis))}


def resolve_sentinels(definition: Definition, cluster: Cluster, offsets: Offsets) -> Offsets:
    """The offsets with those that stand for a position (-1 latest, -2 earliest, -3 the group's) looked up."""
    of = {kind: [p for p, at in offsets.items() if at == kind] for kind in (-1, -2, -3)}
    return {
        **offsets,
        **cluster.latest(of[special.LATEST]),
        **cluster.earliest(of[special.EARLIEST]),
        **(_group_offsets(definition, cluster, of[special.COMMITTED]) if of[special.COMMITTED] else {}),
    }


def _specific(definition: Definition, cluster: Cluster, positions: list[TopicPartition]) -> Offsets:
    topics = opt.topics(definition.options) or ()
    named = fill_in_topic(
        parse_specific_offsets(definition.options[opt.STARTUP_OFFSETS], opt.STARTUP_OFFSETS.key), topics
    )
    chosen = resolve_sentinels(definition, cluster, {p: named[p] for p in positions if p in named})
    rest = [p for p in positions if p not in named]
    committed = cluster.committed(definition.options.get(opt.GROUP_ID), rest)
    left = [p for p in rest if p not in committed]
    return {**chosen, **committed, **apply_offset_reset(definition, cluster, left, "earliest")}


def require_group(definition: Definition, when: str, instead: str) -> str:
    """The group of a table.

    Raises:
        MissingOptionError: it has none; says when it is needed, and what helps instead.
    """
    group = definition.options.get(opt.GROUP_ID)
    if group is None:
        raise MissingOptionError(
            f"Table '{definition.name}': option 'properties.group.id' is required when {when}. Set it, or {instead}."
        )
    return str(group)


def _group_offsets(definition: Definition, cluster: Cluster, positions: list[TopicPartition]) -> Offsets:
    group = require_group(
        definition,
        "'scan.startup.mode' is 'group-offsets' (its default)",
        "set 'scan.startup.mode' to 'earliest-offset' or 'latest-offset'",
    )
    committed = cluster.committed(group, positions)
    return {
        **committed,
        **apply_offset_reset(definition, cluster, [p for p in positions if p not in committed], "none"),
    }


def apply_offset_reset(
    definition: Definition, cluster: Cluster, positions: list[TopicPartition], default: str
) -> Offsets:
    """Where partitions start that have no offset of their own: 'properties.auto.offset.reset', or ``default``.

    Raises:
        OffsetError: it says 'none'.
    """
    if not positions:
        return {}
    strategy = definition.client.get("auto.offset.reset", default)
    if strategy in _EARLIEST:
        return cluster.earliest(positions)
    if strategy in _LATEST:
        return cluster.latest(positions)
    places = ", ".join(f"{t}[{p}]" for t, p in sorted(positions))
    group = definition.options.get(opt.GROUP_ID)
    raise OffsetError(
        f"Table '{definition.name}': group '{group}' has committed no offset for {places} that the log holds, and no "
        "reset strategy says where to start then. One of three options helps: 'properties.auto.offset.reset' = "
        "'earliest' or 'latest'; 'scan.startup.mode' = 'earliest-offset', 'latest-offset' or 'timestamp'; "
        "'properties.group.id' of a group that has committed."
    )
