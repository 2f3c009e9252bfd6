"""How much of a backlog one micro-batch takes: limits of offsets, shared out over the partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_sql.kafka.types import TopicPartition
from kafka_sql.options import Options
from kafka_sql.options import connector as opt


@dataclass(frozen=True)
class Limits:
    """What a micro-batch may take; None for no limit.

    Attributes:
        max_offsets: at most so many offsets.
        min_offsets: no batch with fewer offsets, unless the delay has passed.
        max_delay: seconds after which a batch comes even so.
        max_bytes: about so many bytes.
    """

    max_offsets: int | None
    min_offsets: int | None
    max_delay: float
    max_bytes: int | None

    def __bool__(self) -> bool:
        return (self.max_offsets, self.min_offsets, self.max_bytes) != (None, None, None)


def limits_from_options(options: Options) -> Limits:
    """The limits that a table's options say."""
    return Limits(
        options.get(opt.MAX_OFFSETS),
        options.get(opt.MIN_OFFSETS),
        options[opt.MAX_TRIGGER_DELAY] / 1000,
        options.get(opt.MAX_BYTES),
    )


def compute_backlogs(
    starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """How many offsets each partition is behind; those that are not behind are absent."""
    return {p: end - starts[p] for p, end in ends.items() if end > starts[p]}


def allocate(backlogs: Mapping[TopicPartition, int], limit: int, turn: int = 0) -> dict[TopicPartition, int]:
    """How many offsets each partition may take: in proportion to its backlog, and one at least.

    The sum is the limit, or the whole backlog where that is less. Where the limit is smaller than the number of
    partitions, they take turns.

    Args:
        backlogs: offsets of each partition, none of them 0.
        turn: which partition is the first where there is not one offset for each.
    """
    if sum(backlogs.values()) <= limit:
        return dict(backlogs)
    places = sorted(backlogs)
    if limit <= len(places):
        first = turn % len(places)
        return dict.fromkeys((places[first:] + places[:first])[:limit], 1)
    total = sum(backlogs.values())
    shares = {p: max(1, backlogs[p] * limit // total) for p in places}
    left = limit - sum(shares.values())
    rounded = [p for p in places if backlogs[p] * limit >= total]
    for place in sorted(rounded, key=lambda p: backlogs[p] * limit % total, reverse=True)[: max(left, 0)]:
        shares[place] += 1
    for _ in range(-left):  # the ones that everybody has come from those who have the most
        shares[max(places, key=shares.__getitem__)] -= 1
    return shares


def offsets_for_bytes(
    backlogs: Mapping[TopicPartition, int], sizes: Mapping[TopicPartition, float], max_bytes: int
) -> int:
    """How many offsets of a backlog are about so many bytes; one at least, so that a large record does not stop it all.

    Args:
        sizes: bytes of an offset, on average, by partition.
    """
    offsets, total = sum(backlogs.values()), sum(n * sizes[p] for p, n in backlogs.items())
    return offsets if total <= max_bytes else max(1, int(offsets * max_bytes / total))
