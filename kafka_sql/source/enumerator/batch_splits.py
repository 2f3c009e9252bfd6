"""Plan a batch read: resolve start and stop offsets and create the splits, also those of a micro-batch (driver)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kafka_sql.definition import Definition
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.split import Split
from kafka_sql.kafka.topic_partition import Offsets, TopicPartition
from kafka_sql.options import connector as opt
from kafka_sql.source.dynamic.clusters import Clusters, table_cluster
from kafka_sql.source.enumerator.log_start import clamp_to_log_start
from kafka_sql.source.enumerator.partitions import list_partitions
from kafka_sql.source.enumerator.starting_offsets import (
    clamp_to_log_end,
    effective_startup_mode,
    resolve_start_offsets,
)
from kafka_sql.source.enumerator.stopping_offsets import resolve_stop_offsets


def plan_batch(definition: Definition) -> list[Split]:
    """Return the splits of a batch read: from the startup position to the bounded end, or to the current end.

    Raises:
        BrokerError: the cluster, a topic or an offset is unavailable.
    """
    with table_cluster(definition) as cluster:
        if isinstance(cluster, Clusters):
            cluster.check_streams()
        partitions = list_partitions(definition, cluster)
        starts, stops = resolve_batch_range(definition, cluster, partitions)
        is_bounded = definition.options[opt.BOUNDED_MODE] != opt.UNBOUNDED
        ends = cluster.latest(partitions) if is_bounded else stops
        return [
            cluster.locate(replace(split, end_may_not_exist=split.stop > ends[split.topic, split.partition]))
            for split in make_splits(starts, stops)
        ]


def resolve_batch_range(
    definition: Definition, cluster: Cluster, partitions: list[TopicPartition]
) -> tuple[Offsets, Offsets]:
    """Return the start and stop offsets of a batch read. A stop offset may not exist yet.

    Raises:
        BrokerError: an offset is unavailable, or records of the range were removed.
    """
    bounded_stops = resolve_stop_offsets(definition, cluster, partitions)
    stops = cluster.latest(partitions) if bounded_stops is None else bounded_stops
    is_empty = effective_startup_mode(definition) == opt.LATEST and bounded_stops is None
    starts = stops if is_empty else resolve_start_offsets(definition, cluster, partitions)
    return clamp_to_log_start(definition, cluster, clamp_to_log_end(definition, cluster, starts, stops), stops), stops


def make_splits(starts: Mapping[TopicPartition, int], stops: Mapping[TopicPartition, int]) -> list[Split]:
    """Return one split per partition that has offsets to read."""
    return [
        Split(topic, partition, starts[topic, partition], stop)
        for (topic, partition), stop in sorted(stops.items())
        if starts[topic, partition] < stop
    ]
