"""Limit how much of a backlog one micro-batch reads, and allocate the limit to partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_sql.kafka.topic_partition import TopicPartition
from kafka_sql.options import Options
from kafka_sql.options import connector as opt


@dataclass(frozen=True)
class Limits:
    """The limits of a micro-batch; None for no limit.

    Attributes:
        max_offsets: the maximum number of offsets.
        min_offsets: the number of offsets to wait for, at most ``max_delay``.
        max_delay: seconds after the last batch.
        max_bytes: the approximate maximum number of bytes.
    """

    max_offsets: int | None
    min_offsets: int | None
    max_delay: float
    max_bytes: int | None

    def __bool__(self) -> bool:
        return (self.max_offsets, self.min_offsets, self.max_bytes) != (None, None, None)


def limits_from_options(options: Options) -> Limits:
    """Return the limits that a table's options set."""
    return Limits(
        options.get(opt.MAX_OFFSETS),
        options.get(opt.MIN_OFFSETS),
        options[opt.MAX_TRIGGER_DELAY] / 1000,
        options.get(opt.MAX_BYTES),
    )


def compute_backlogs(
    starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Return the number of offsets to read of each partition. Partitions without any are omitted."""
    return {p: end - starts[p] for p, end in ends.items() if end > starts[p]}


def allocate(backlogs: Mapping[TopicPartition, int], limit: int, turn: int = 0) -> dict[TopicPartition, int]:
    """Allocate a limit to partitions in proportion to their backlogs, at least one offset each.

    The sum is the limit, or the total backlog if that is smaller. If the limit is smaller than the number of
    partitions, they take turns.

    Args:
        backlogs: the number of offsets of each partition, none 0.
        turn: selects the first partition if there are not enough offsets for all.
    """
    if sum(backlogs.values()) <= limit:
        return dict(backlogs)
    partitions = sorted(backlogs)
    if limit <= len(partitions):
        first = turn % len(partitions)
        return dict.fromkeys((partitions[first:] + partitions[:first])[:limit], 1)
    total = sum(backlogs.values())
    allocated = {p: max(1, backlogs[p] * limit // total) for p in partitions}
    remaining = limit - sum(allocated.values())
    rounded_down = [p for p in partitions if backlogs[p] * limit >= total]
    by_remainder = sorted(rounded_down, key=lambda p: backlogs[p] * limit % total, reverse=True)
    for partition in by_remainder[: max(remaining, 0)]:
        allocated[partition] += 1
    for _ in range(-remaining):  # the minimum of one each is taken from the largest allocations
        allocated[max(partitions, key=allocated.__getitem__)] -= 1
    return allocated


def offsets_for_bytes(
    backlogs: Mapping[TopicPartition, int], sizes: Mapping[TopicPartition, float], max_bytes: int
) -> int:
    """Return how many offsets of a backlog have about ``max_bytes``; at least one, so that large records are read.

    Args:
        sizes: average bytes per offset, by partition.
    """
    offsets, total = sum(backlogs.values()), sum(n * sizes[p] for p, n in backlogs.items())
    return offsets if total <= max_bytes else max(1, int(offsets * max_bytes / total))
