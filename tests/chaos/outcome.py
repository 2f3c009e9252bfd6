"""What a scenario was asked for, what came of it, and the table of all."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class ScenarioConfig:
    """How much of a scenario is to be done.

    Attributes:
        repeat: how many faults.
        rows: in all.
        folder: for its files.
        long: whether it may take minutes: start Spark, wait for timeouts.
    """

    repeat: int
    rows: int
    seed: int
    folder: Path
    long: bool = True
    log: Callable[[str], None] = field(default=lambda _: None)

    @property
    def rows_per_fault(self) -> int:
        """Rows for each fault."""
        return max(1, self.rows // self.repeat)

    def rng(self) -> random.Random:
        """The same at each run of a seed."""
        return random.Random(self.seed)


@dataclass
class Outcome:
    """What readers saw.

    Attributes:
        repetitions: faults that there were.
        disorder: keys whose rows were not in order.
        stall: the longest time, in seconds, in which there were rows to read and none came.
        notes: what else is worth a word.
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
        """Nothing lost, nothing doubled, all in order, and something done."""
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


_HEADS = ("scenario", "repetitions", "rows", "lost", "doubled", "out of order", "longest stall", "verdict")


def table(lines: Sequence[tuple[str, Outcome | None, str]]) -> str:
    """As Markdown.

    Args:
        lines: name, what came of it, and the verdict.
    """
    rows: list[tuple[str, ...]] = [_HEADS]
    for name, found, verdict in lines:
        numbers = ("",) * 6
        if found is not None:
            counts = (found.repetitions, found.rows, found.lost, found.duplicates, found.disorder)
            numbers = (*(f"{count:,}" for count in counts), f"{found.stall:.1f} s" if found.stall else "")
        rows.append((name, *numbers, verdict))
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADS))]
    texts = []
    for row in rows:
        texts.append("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
    return "\n".join([texts[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *texts[1:]])
