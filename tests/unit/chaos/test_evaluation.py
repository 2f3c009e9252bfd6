"""Those who judge a run see each thing that may be wrong with it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chaos.expected_rows import evaluate
from tests.chaos.outcome import Outcome, table
from tests.chaos.registry import SCENARIOS
from tests.kills.oracle import ObservedRows, is_correct


def seen(*numbers: int) -> dict[str, Any]:
    """What is said of numbers that were read so, of which 0 to 3 were written, under two keys."""
    found = ObservedRows()
    for a in numbers:
        found.add(b'{"a": %d, "k": %d}' % (a, a % 2))
    return found.verdict(4)


def test_a_reader_of_numbers() -> None:
    assert is_correct(seen(0, 1, 2, 3))
    assert is_correct(seen(1, 0, 3, 2))  # of different keys
    wrong = {"missing": seen(0, 1, 2), "twice": seen(0, 1, 2, 3, 3), "unexpected": seen(0, 1, 2, 3, 4)}
    for what, verdict in {**wrong, "disorder": seen(2, 0, 1, 3)}.items():
        assert verdict[what]
        assert not is_correct(verdict)


def moved(*places: int) -> bool:
    """Whether it is right that the numbers of a key from 0 on came from these partitions."""
    found = ObservedRows()
    for a, partition in sorted(enumerate(places), key=lambda place: place[1]):
        found.add(b'{"a": %d, "k": 0}' % a, partition)
    return is_correct(found.verdict(len(places)))


def test_a_key_moves_where_partitions_are_added() -> None:
    assert moved(0, 0, 0)
    assert moved(0, 0, 5)
    assert moved(5, 5, 0)  # whichever partition is read first
    assert not moved(0, 5, 0)
    assert not moved(5, 0, 5, 0)


WINDOWS = [{"w": 0, "k": k, "n": 2, "s": s} for k, s in ((0, 3), (1, 5), (2, 7))]
SUMS = [{"k": k, "n": n, "s": s} for k, n, s in ((0, 1, 0), (1, 2, 5), (2, 2, 7), (0, 2, 3))]
NUMBERS = [{"a": a, "k": a % 3} for a in range(6)]


@pytest.mark.parametrize(("question", "rows"), [("copy", NUMBERS), ("aggregate", SUMS), ("window", WINDOWS)])
def test_answers(question: str, rows: list[dict[str, int]]) -> None:
    def wrong(*given: dict[str, int]) -> tuple[int, int]:
        found = evaluate(question, given, 6)
        return found.lost, found.duplicates

    assert wrong(*rows) == (0, 0)
    assert wrong(*rows[:-1])[0] > 0
    assert wrong(*rows, rows[-1]) == (0, 1)


def test_an_aggregate_that_counts_a_row_twice() -> None:
    with pytest.raises(AssertionError, match="instead of"):
        evaluate("aggregate", [*SUMS[1:3], {"k": 0, "n": 2, "s": 4}], 6)
    assert evaluate("aggregate", [*SUMS, {"k": 0, "n": 3, "s": 3}], 6).duplicates == 1
    assert evaluate("aggregate", [SUMS[3], SUMS[0], *SUMS[1:]], 6).disorder == 1


def test_the_table() -> None:
    found = Outcome(20, 100_000, stall=3.25)
    assert found.is_correct
    assert not any(
        o.is_correct for o in (Outcome(), Outcome(1, lost=1), Outcome(1, duplicates=1), Outcome(1, disorder=1))
    )
    lines = table(
        [("4 brokers", found + Outcome(1, 5, duplicates=2), "WRONG"), ("5 network", None, "FAILED")]
    ).splitlines()
    assert lines[2].split("|")[1:-1] == [
        cell.ljust(width)
        for cell, width in zip(
            (" 4 brokers ", " 21 ", " 100,005 ", " 0 ", " 2 ", " 0 ", " 3.2 s ", " WRONG "),
            map(len, lines[0].split("|")[1:-1]),
            strict=True,
        )
    ]
    assert lines[3].startswith("| 5 network |  ")


def test_each_scenario_has_a_number_of_its_own() -> None:
    numbers = [one.number for one in SCENARIOS]
    assert numbers == sorted(set(numbers))
