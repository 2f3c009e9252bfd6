"""Where a read starts and ends, and the splits between. Runs on the driver, each time a read is planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kafka_sql.definition import Definition
from kafka_sql.kafka.admin.cached_cluster import cached_cluster
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.types import Offsets, Split, TopicPartition
from kafka_sql.options import connector as opt
from kafka_sql.source.enumerator.data_loss import clamp_to_log_start
from kafka_sql.source.enumerator.partitions import list_partitions
from kafka_sql.source.enumerator.starting_offsets import clamp_to_log_end, effective_startup_mode, resolve_start_offsets
from kafka_sql.source.enumerator.stopping_offsets import resolve_stop_offsets


def plan_batch(definition: Definition) -> list[Split]:
    """The splits of a batch read: from the startup position to the bound, or to the end as of now.

    Raises:
        BrokerError: the cluster, a topic or a position cannot be had.
    """
    with cached_cluster(definition.client) as cluster:
        positions = list_partitions(definition, cluster)
        starts, stops = resolve_batch_range(definition, cluster, positions)
        bounded = definition.options[opt.BOUNDED_MODE] != opt.UNBOUNDED
        ends = cluster.latest(positions) if bounded else stops
    return [
        replace(split, end_may_not_exist=split.stop > ends[split.topic, split.partition])
        for split in make_splits(starts, stops)
    ]


def resolve_batch_range(
    definition: Definition, cluster: Cluster, positions: list[TopicPartition]
) -> tuple[Offsets, Offsets]:
    """The start and the end of a batch read in each partition; an end may be one that does not exist yet.

    Raises:
        BrokerError: a position cannot be had, or records of the range are gone.
    """
    bound = resolve_stop_offsets(definition, cluster, positions)
    stops = cluster.latest(positions) if bound is None else bound
    nothing = effective_startup_mode(definition) == opt.LATEST and bound is None
    starts = stops if nothing else resolve_start_offsets(definition, cluster, positions)
    return clamp_to_log_start(definition, cluster, clamp_to_log_end(definition, cluster, starts, stops), stops), stops


def make_splits(starts: Mapping[TopicPartition, int], stops: Mapping[TopicPartition, int]) -> list[Split]:
    """One split a partition that has something to read."""
    return [
        Split(topic, partition, starts[topic, partition], stop)
        for (topic, partition), stop in sorted(stops.items())
        if starts[topic, partition] < stop
    ]
