"""Plan the splits of a batch read, and assign splits to tasks: cut them into ranges, or pack several into a task, as
``scan.parallelism`` says.

The size of a split is its number of offsets, which is known without reading. It may overestimate the number of records.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kafka_sql.definition import Definition
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.split import Split
from kafka_sql.kafka.topic_partition import Offsets, TopicPartition
from kafka_sql.options import connector as opt
from kafka_sql.source.data_loss import clamp_to_log_start
from kafka_sql.source.dynamic.clusters import Clusters, table_cluster
from kafka_sql.source.enumerator.partitions import list_partitions
from kafka_sql.source.enumerator.starting_offsets import (
    clamp_to_log_end,
    effective_startup_mode,
    resolve_start_offsets,
)
from kafka_sql.source.enumerator.stopping_offsets import resolve_stop_offsets

Task = tuple[Split, ...]


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


def plan_tasks(splits: Sequence[Split], parallelism: int | None, can_cut: bool = True) -> list[Task]:
    """Return the splits of each task.

    Args:
        splits: at most one per partition, none empty. A split whose end may not exist yet is not cut.
        parallelism: the number of tasks; None for one per split. Fewer tasks are planned if there are fewer offsets.
        can_cut: whether several tasks may read one partition.
    """
    if parallelism is None or parallelism == len(splits) or not splits:
        return [(split,) for split in splits]
    if parallelism < len(splits):
        return _pack(splits, parallelism)
    to_cut = [split for split in splits if can_cut and not split.end_may_not_exist]
    uncut = [split for split in splits if split not in to_cut]
    return [(split,) for split in (*(_cut(to_cut, parallelism - len(uncut)) if to_cut else ()), *uncut)]


def offset_count(split: Split) -> int:
    """Return the number of offsets of a split."""
    return split.stop - split.start


def _pack(splits: Sequence[Split], count: int) -> list[Task]:
    """Assign the splits to tasks, largest first, each to the task with the fewest offsets."""
    loads = [(0, i) for i in range(count)]
    packs: list[list[Split]] = [[] for _ in range(count)]
    for split in sorted(splits, key=offset_count, reverse=True):
        load, i = heapq.heappop(loads)
        packs[i].append(split)
        heapq.heappush(loads, (load + offset_count(split), i))
    return [tuple(sorted(pack, key=lambda s: (s.topic, s.partition))) for pack in packs]


def _cut(splits: Sequence[Split], count: int) -> list[Split]:
    """Cut the splits into ``count`` ranges: add a range to the split with the largest ranges until there are enough."""
    ranges: list[tuple[float, int, int]] = [(-offset_count(split), i, 1) for i, split in enumerate(splits)]
    heapq.heapify(ranges)
    for _ in range(min(count, sum(map(offset_count, splits))) - len(splits)):
        _, i, n = ranges[0]
        heapq.heapreplace(ranges, (-(offset_count(splits[i]) / (n + 1)), i, n + 1))
    counts = {i: n for _, i, n in ranges}
    return [part for i, split in enumerate(splits) for part in _cut_evenly(split, counts[i])]


def _cut_evenly(split: Split, count: int) -> list[Split]:
    """Cut a split into ranges whose sizes differ by at most one."""
    bounds = [split.start + offset_count(split) * i // count for i in range(count + 1)]
    return [replace(split, start=bounds[i], stop=bounds[i + 1]) for i in range(count)]
