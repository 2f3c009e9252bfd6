"""Where a read starts and ends, and the splits between. Runs on the driver, each time a read is planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kafka_sql.definition import Definition
from kafka_sql.kafka.admin.cached_cluster import kept_cluster
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.types import Offsets, Split, TopicPartition
from kafka_sql.options import connector as opt
from kafka_sql.source.enumerator.data_loss import held
from kafka_sql.source.enumerator.partitions import partitions
from kafka_sql.source.enumerator.starting_offsets import start_offsets, startup_mode, within
from kafka_sql.source.enumerator.stopping_offsets import stop_offsets


def snapshot(definition: Definition) -> list[Split]:
    """The splits of a batch read: from the startup position to the bound, or to the end as of now.

    Raises:
        BrokerError: the cluster, a topic or a position cannot be had.
    """
    with kept_cluster(definition.client) as cluster:
        positions = partitions(definition, cluster)
        starts, stops = batch_range(definition, cluster, positions)
        bounded = definition.options[opt.BOUNDED_MODE] != opt.UNBOUNDED
        ends = cluster.latest(positions) if bounded else stops
    return [replace(split, waits=split.stop > ends[split.topic, split.partition]) for split in splits(starts, stops)]


def batch_range(definition: Definition, cluster: Cluster, positions: list[TopicPartition]) -> tuple[Offsets, Offsets]:
    """The start and the end of a batch read in each partition; an end may be one that does not exist yet.

    Raises:
        BrokerError: a position cannot be had, or records of the range are gone.
    """
    bound = stop_offsets(definition, cluster, positions)
    stops = cluster.latest(positions) if bound is None else bound
    nothing = startup_mode(definition) == opt.LATEST and bound is None
    starts = stops if nothing else start_offsets(definition, cluster, positions)
    return held(definition, cluster, within(definition, cluster, starts, stops), stops), stops


def splits(starts: Mapping[TopicPartition, int], stops: Mapping[TopicPartition, int]) -> list[Split]:
    """One split a partition that has something to read."""
    return [
        Split(topic, partition, starts[topic, partition], stop)
        for (topic, partition), stop in sorted(stops.items())
        if starts[topic, partition] < stop
    ]
