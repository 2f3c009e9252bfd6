"""Limit how much of a backlog one micro-batch reads, and allocate the limit to partitions.

Spark's admission control (ReadLimit) is supported by PySpark since 4.2. 4.1 reads all available data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_sql.definition import Definition
from kafka_sql.errors import UnsupportedOptionError
from kafka_sql.kafka.topic_partition import TopicPartition
from kafka_sql.options import Options
from kafka_sql.options import connector as opt

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit

try:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow as SupportsTriggerAvailableNow

    AVAILABLE = True
except ImportError:
    AVAILABLE = False

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Empty: PySpark 4.1 ends a Trigger.AvailableNow query after one batch."""


@dataclass(frozen=True)
class Limits:
    """The limits of a micro-batch; None for no limit."""

    max_offsets: int | None
    min_offsets: int | None  # the number of offsets to wait for, at most ``max_delay``
    max_delay: float  # seconds after the last batch
    max_bytes: int | None  # the approximate maximum number of bytes


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


def check_admission_options(definition: Definition) -> None:
    """Reject admission control options if this PySpark does not support them.

    Raises:
        UnsupportedOptionError: names the option.
    """
    if AVAILABLE:
        return
    for option in (opt.MAX_OFFSETS, opt.MIN_OFFSETS, opt.MAX_BYTES, opt.MAX_TRIGGER_DELAY):
        if definition.options.is_set(option):
            raise UnsupportedOptionError(
                f"Table '{definition.name}': option '{option.key}' requires PySpark 4.2 or later. Remove the option, "
                "or upgrade PySpark.",
                table=definition.name,
                option=option.key,
            )


def default_limit(limits: Limits) -> ReadLimit:
    """Return the limit that Spark passes to ``latestOffset`` for limited triggers.

    Spark accepts one limit, so that this is the first one set. ``latestOffset`` applies them all.
    """
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxRows, ReadMinRows

    if limits.max_offsets is not None:
        return ReadMaxRows(limits.max_offsets)
    if limits.max_bytes is not None:
        return ReadMaxBytes(limits.max_bytes)
    return ReadMinRows(limits.min_offsets) if limits.min_offsets is not None else ReadAllAvailable()


def is_limited(limit: ReadLimit) -> bool:
    """Return whether limits apply to a trigger. They do not apply to Trigger.Once."""
    from pyspark.sql.streaming.datasource import ReadAllAvailable

    return not isinstance(limit, ReadAllAvailable)
