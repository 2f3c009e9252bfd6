"""Compare the rows that a reader of committed records saw with the expected result of a query over numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from tests.chaos.outcome import Outcome
from tests.kills.spark import KEYS

WINDOW_CLOSING_NUMBER: Final = 10**7  # greater than all sent numbers: a row with it closes the earlier windows

Rows = Sequence[dict[str, Any]]


def evaluate(query: str, rows: Rows, sent: int) -> Outcome:
    """Evaluate the rows of a topic.

    Args:
        query: "copy", "aggregate" or "window".
        rows: the rows; those of a partition in their order.
        sent: the numbers 0 to ``sent`` - 1 were sent.
    """
    return {"copy": _copy, "aggregate": _aggregate, "window": _window}[query](rows, sent)


def _copy(rows: Rows, sent: int) -> Outcome:
    distinct = {row["a"] for row in rows}
    assert distinct <= set(range(sent)), "rows that were never sent"
    return Outcome(0, sent, sent - len(distinct), len(rows) - len(distinct), _disorder(rows, "a"))


def _aggregate(rows: Rows, sent: int) -> Outcome:
    """Check the counts and sums per key. The count grows with each row, so a duplicate appears in the sum or topic."""
    last = {row["k"]: (row["n"], row["s"]) for row in rows}
    expected = {k: _sums(range(k, sent, KEYS)) for k in range(min(KEYS, sent))}
    lost = sum(n - last.get(k, (0, 0))[0] for k, (n, _) in expected.items())
    counts = Counter((row["k"], row["n"]) for row in rows)
    duplicates = sum(count - 1 for count in counts.values()) + max(0, -lost)
    assert lost or last == expected, f"{last} instead of {expected}"
    return Outcome(0, sent, max(0, lost), duplicates, _disorder(rows, "n"))


def _window(rows: Rows, sent: int) -> Outcome:
    """Check that each window appears once per key, with all its rows."""
    windows = {(row["w"], row["k"]): row for row in rows}
    lost = sent - sum(row["n"] for row in windows.values())
    assert lost or sum(row["s"] for row in windows.values()) == sum(range(sent)), "the sums are wrong"
    return Outcome(0, sent, max(0, lost), len(rows) - len(windows) + max(0, -lost), 0)


def _sums(numbers: range) -> tuple[int, int]:
    return len(numbers), sum(numbers)


def _disorder(rows: Rows, name: str) -> int:
    last: dict[int, int] = {}
    wrong = set()
    for row in rows:
        if last.get(row["k"], -1) >= row[name]:
            wrong.add(row["k"])
        last[row["k"]] = row[name]
    return len(wrong)
