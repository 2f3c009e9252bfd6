"""Several peers do the same thing, in alternation, and their results are compared."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Answer = dict[str, Any]  # "seconds", and "rows" where there are results
Run = Callable[[], Answer]


class DisagreementError(Exception):
    """Two peers had other results."""


@dataclass
class Result:
    """What one peer took.

    Attributes:
        unit: of the values; where it is "s", ``records`` a run give the throughput.
        memory: MiB at the peak, by kind of process.
    """

    group: str
    contest: str
    peer: str
    values: list[float]
    records: int = 0
    unit: str = "s"
    memory: Mapping[str, int] = field(default_factory=dict)

    @property
    def median(self) -> float:
        """Of all measured runs."""
        return statistics.median(self.values)


def compete(
    group: str, contest: str, peers: Mapping[str, Run], records: int, runs: int, warm_ups: int = 1
) -> Iterator[Result]:
    """Let each run once after the other, ``runs`` times.

    Args:
        warm_ups: runs of each before, which do not count.

    Raises:
        DisagreementError: they have other rows.
    """
    taken: dict[str, list[float]] = {peer: [] for peer in peers}
    for turn in range(warm_ups + runs):
        found = {}
        for peer, run in peers.items():
            answer = run()
            found[peer] = answer.get("rows")
            if turn >= warm_ups:
                taken[peer].append(answer["seconds"])
        if len({str(rows) for rows in found.values()}) > 1:
            raise DisagreementError(f"{group}, {contest}: the peers have other results: {found}")
    for peer, seconds in taken.items():
        yield Result(group, contest, peer, seconds, records)
