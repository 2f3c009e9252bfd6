"""Define the configuration and the outcome of a scenario, and print the table of outcomes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from kafka_sql.options.connector import DIRECT

CODECS: Final = ("lz4", "zstd", "snappy", "gzip")


@dataclass(frozen=True)
class ScenarioConfig:
    """Size of a scenario run.

    Attributes:
        repeat: number of faults.
        rows: total number of rows.
        seed: seed of random choices.
        folder: folder for its files.
        client: 'scan.client' and 'sink.client'.
        codec: 'compression.type' of the producers of both topics.
        long: whether it may take minutes, for example to start Spark or to wait for timeouts.
        log: prints a line of progress.
    """

    repeat: int
    rows: int
    seed: int
    folder: Path
    client: str = DIRECT
    codec: str = CODECS[0]
    long: bool = True
    log: Callable[[str], None] = field(default=lambda _: None)

    @property
    def rows_per_fault(self) -> int:
        """Number of rows per fault."""
        return max(1, self.rows // self.repeat)

    def rng(self) -> random.Random:
        """Return a random number generator, which is the same in each run with the same seed."""
        return random.Random(self.seed)


@dataclass
class Outcome:
    """Result of a scenario, as readers saw it.

    Attributes:
        repetitions: number of faults.
        rows: number of expected rows.
        lost: number of missing rows.
        duplicates: number of duplicate rows.
        disorder: number of keys whose rows were out of order.
        stall: longest time in seconds without a new row after the first one, while rows were expected.
        notes: additional remarks.
    """

    repetitions: int = 0
    rows: int = 0
    lost: int = 0
    duplicates: int = 0
    disorder: int = 0
    stall: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def is_correct(self) -> bool:
        """Whether there were faults, and no rows were lost, duplicated or out of order."""
        return not (self.lost or self.duplicates or self.disorder) and self.repetitions > 0

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            self.repetitions + other.repetitions,
            self.rows + other.rows,
            self.lost + other.lost,
            self.duplicates + other.duplicates,
            self.disorder + other.disorder,
            max(self.stall, other.stall),
            self.notes + other.notes,
        )


class Line(NamedTuple):
    """A line of the table.

    Attributes:
        name: number and title of the scenario.
        client, codec: as in ``ScenarioConfig``.
        outcome: None if the scenario failed.
        verdict: "correct", "WRONG" or "FAILED", and remarks.
    """

    name: str
    client: str
    codec: str
    outcome: Outcome | None
    verdict: str


_NUMBERS = ("repetitions", "rows", "lost", "duplicated", "out of order", "longest stall")
_HEADER = ("scenario", "client", "codec", *_NUMBERS, "verdict")


def table(lines: Sequence[Line]) -> str:
    """Return a Markdown table."""
    rows: list[tuple[str, ...]] = [_HEADER]
    for name, client, codec, outcome, verdict in lines:
        numbers = ("",) * len(_NUMBERS)
        if outcome is not None:
            counts = (outcome.repetitions, outcome.rows, outcome.lost, outcome.duplicates, outcome.disorder)
            numbers = (*(f"{count:,}" for count in counts), f"{outcome.stall:.1f} s" if outcome.stall else "")
        rows.append((name, client, codec, *numbers, verdict))
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADER))]
    formatted = []
    for row in rows:
        formatted.append("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
    return "\n".join([formatted[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *formatted[1:]])
