"""Run the same work with several peers alternately, compare their results, and measure the times."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

RunResult = dict[str, Any]  # "seconds", and "rows" if there are result rows
Run = Callable[[], RunResult]


class DisagreementError(Exception):
    """Two peers returned different results."""


@dataclass
class Result:
    """The measurements of one peer.

    Attributes:
        group: part of the benchmark, such as "read".
        comparison: what was measured, such as "json".
        peer: name of the peer.
        values: one value per measured run.
        records: number of records per run; 0 if no throughput is reported.
        unit: unit of the values. If it is "s" and there are ``records``, the throughput is reported.
        memory: process type -> peak memory in MiB.
    """

    group: str
    comparison: str
    peer: str
    values: list[float]
    records: int = 0
    unit: str = "s"
    memory: Mapping[str, int] = field(default_factory=dict)

    @property
    def median(self) -> float:
        """Median of all measured runs."""
        return statistics.median(self.values)


def count_noun(count: int, noun: str) -> str:
    """Return a count with its noun, such as "1 column" or "1,000 columns"."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def measure_alternately(
    group: str, comparison: str, peers: Mapping[str, Run], records: int, runs: int, warm_ups: int = 1
) -> Iterator[Result]:
    """Run each peer once per round, for ``warm_ups`` + ``runs`` rounds.

    Args:
        group, comparison: names for the results.
        peers: name of each peer -> its run.
        records: number of records per run.
        runs: number of measured rounds.
        warm_ups: number of rounds before the measured ones.

    Raises:
        DisagreementError: peers returned different rows.
    """
    times: dict[str, list[float]] = {peer: [] for peer in peers}
    for round_ in range(warm_ups + runs):
        rows_by_peer = {}
        for peer, run in peers.items():
            result = run()
            rows_by_peer[peer] = result.get("rows")
            if round_ >= warm_ups:
                times[peer].append(result["seconds"])
        if len({str(rows) for rows in rows_by_peer.values()}) > 1:
            raise DisagreementError(f"{group}, {comparison}: the peers returned different results: {rows_by_peer}")
    for peer, seconds in times.items():
        yield Result(group, comparison, peer, seconds, records)
