"""Which task reads what: splits, cut into ranges or packed together by ``scan.parallelism``.

A size is a number of offsets. It is known without reading, and so it is what skew is measured by.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

from kafka_sql.kafka.types import Split

Task = tuple[Split, ...]


def plan_tasks(splits: Sequence[Split], parallelism: int | None, can_cut: bool = True) -> list[Task]:
    """The splits of each task.

    Args:
        splits: at most one a partition; none of them is empty. One that waits for its end is not cut.
        parallelism: how many tasks; None for one a split. There are fewer where there are fewer offsets.
        cuttable: whether one partition may be read by several tasks.
    """
    if parallelism is None or parallelism == len(splits) or not splits:
        return [(split,) for split in splits]
    if parallelism < len(splits):
        return _pack(splits, parallelism)
    cut = [split for split in splits if can_cut and not split.end_may_not_exist]
    whole = [split for split in splits if split not in cut]
    return [(split,) for split in (*(_cut(cut, parallelism - len(whole)) if cut else ()), *whole)]


def offset_count(split: Split) -> int:
    """How many offsets."""
    return split.stop - split.start


def _pack(splits: Sequence[Split], count: int) -> list[Task]:
    """The largest first, each to the task that has the least."""
    loads = [(0, i) for i in range(count)]
    packs: list[list[Split]] = [[] for _ in range(count)]
    for split in sorted(splits, key=offset_count, reverse=True):
        load, i = heapq.heappop(loads)
        packs[i].append(split)
        heapq.heappush(loads, (load + offset_count(split), i))
    return [tuple(sorted(pack, key=lambda s: (s.topic, s.partition))) for pack in packs]


def _cut(splits: Sequence[Split], count: int) -> list[Split]:
    """One more piece for the split whose pieces are the largest, until there are enough."""
    pieces: list[tuple[float, int, int]] = [(-offset_count(split), i, 1) for i, split in enumerate(splits)]
    heapq.heapify(pieces)
    for _ in range(min(count, sum(map(offset_count, splits))) - len(splits)):
        _, i, n = pieces[0]
        heapq.heapreplace(pieces, (-(offset_count(splits[i]) / (n + 1)), i, n + 1))
    counts = {i: n for _, i, n in pieces}
    return [piece for i, split in enumerate(splits) for piece in _ranges(split, counts[i])]


def _ranges(split: Split, count: int) -> list[Split]:
    """So many ranges of one split, of sizes that differ by one at most."""
    bounds = [split.start + offset_count(split) * i // count for i in range(count + 1)]
    return [replace(split, start=bounds[i], stop=bounds[i + 1]) for i in range(count)]
