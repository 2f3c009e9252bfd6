"""The evaluation of chaos runs detects lost, duplicate and misordered rows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chaos.expected_rows import evaluate
from tests.chaos.outcome import Line, Outcome, table
from tests.chaos.registry import SCENARIOS
from tests.kills.oracle import ObservedRows, is_correct


def verdict_of(*numbers: int) -> dict[str, Any]:
    """Return the verdict about numbers read in this order; 0 to 3 were written, with two keys."""
    rows = ObservedRows()
    for a in numbers:
        rows.add(b'{"a": %d, "k": %d}' % (a, a % 2))
    return rows.verdict(4)


def test_wrong_numbers_are_detected() -> None:
    assert is_correct(verdict_of(0, 1, 2, 3))
    assert is_correct(verdict_of(1, 0, 3, 2))  # different keys
    wrong = {
        "missing": verdict_of(0, 1, 2),
        "duplicates": verdict_of(0, 1, 2, 3, 3),
        "unexpected": verdict_of(0, 1, 2, 3, 4),
    }
    for error, verdict in {**wrong, "disorder": verdict_of(2, 0, 1, 3)}.items():
        assert verdict[error]
        assert not is_correct(verdict)


def may_move(*partitions: int) -> bool:
    """Return whether it is correct that consecutive numbers of a key came from these partitions."""
    rows = ObservedRows()
    for a, partition in sorted(enumerate(partitions), key=lambda pair: pair[1]):
        rows.add(b'{"a": %d, "k": 0}' % a, partition)
    return is_correct(rows.verdict(len(partitions)))


def test_a_key_may_move_once_when_partitions_are_added() -> None:
    assert may_move(0, 0, 0)
    assert may_move(0, 0, 5)
    assert may_move(5, 5, 0)  # whichever partition is read first
    assert not may_move(0, 5, 0)
    assert not may_move(5, 0, 5, 0)


WINDOWS = [{"w": 0, "k": k, "n": 2, "s": s} for k, s in ((0, 3), (1, 5), (2, 7))]
SUMS = [{"k": k, "n": n, "s": s} for k, n, s in ((0, 1, 0), (1, 2, 5), (2, 2, 7), (0, 2, 3))]
NUMBERS = [{"a": a, "k": a % 3} for a in range(6)]


@pytest.mark.parametrize(("query", "rows"), [("copy", NUMBERS), ("aggregate", SUMS), ("window", WINDOWS)])
def test_lost_and_duplicate_rows(query: str, rows: list[dict[str, int]]) -> None:
    def errors(*answer: dict[str, int]) -> tuple[int, int]:
        outcome = evaluate(query, answer, 6)
        return outcome.lost, outcome.duplicates

    assert errors(*rows) == (0, 0)
    assert errors(*rows[:-1])[0] > 0
    assert errors(*rows, rows[-1]) == (0, 1)


def test_an_aggregate_that_counts_a_row_twice() -> None:
    with pytest.raises(AssertionError, match="instead of"):
        evaluate("aggregate", [*SUMS[1:3], {"k": 0, "n": 2, "s": 4}], 6)
    assert evaluate("aggregate", [*SUMS, {"k": 0, "n": 3, "s": 3}], 6).duplicates == 1
    assert evaluate("aggregate", [SUMS[3], SUMS[0], *SUMS[1:]], 6).disorder == 1


def test_outcome_table() -> None:
    outcome = Outcome(20, 100_000, stall=3.25)
    assert outcome.is_correct
    assert not any(
        o.is_correct for o in (Outcome(), Outcome(1, lost=1), Outcome(1, duplicates=1), Outcome(1, disorder=1))
    )
    lines = table(
        [
            Line("4 brokers", "direct", "lz4", outcome + Outcome(1, 5, duplicates=2), "WRONG"),
            Line("5 network", "direct", "lz4", None, "FAILED"),
        ]
    ).splitlines()
    assert lines[2].split("|")[1:-1] == [
        cell.ljust(width)
        for cell, width in zip(
            (" 4 brokers ", " direct ", " lz4 ", " 21 ", " 100,005 ", " 0 ", " 2 ", " 0 ", " 3.2 s ", " WRONG "),
            map(len, lines[0].split("|")[1:-1]),
            strict=True,
        )
    ]
    assert lines[3].startswith("| 5 network | direct | lz4   |  ")


def test_scenario_numbers_are_unique() -> None:
    numbers = [scenario.number for scenario in SCENARIOS]
    assert numbers == sorted(set(numbers))
