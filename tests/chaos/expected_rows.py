"""What a query over numbers has to answer, compared with the rows that a reader of committed records saw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from tests.chaos.outcome import Outcome
from tests.kills.spark import KEYS

CLOSING: Final = 10**7  # ahead of all numbers: rows that end the windows before them

Rows = Sequence[dict[str, Any]]


def evaluate(question: str, rows: Rows, sent: int) -> Outcome:
    """The verdict on the rows of a topic, each partition's in its order.

    Args:
        sent: the numbers from 0 on that were sent.
    """
    return {"copy": _copy, "aggregate": _aggregate, "window": _window}[question](rows, sent)


def _copy(rows: Rows, sent: int) -> Outcome:
    distinct = {row["a"] for row in rows}
    assert distinct <= set(range(sent)), "rows that nobody has sent"
    return Outcome(0, sent, sent - len(distinct), len(rows) - len(distinct), _disorder(rows, "a"))


def _aggregate(rows: Rows, sent: int) -> Outcome:
    """The count of a key grows with each of its rows: one that comes twice is doubled, in the sum or in the topic."""
    last = {row["k"]: (row["n"], row["s"]) for row in rows}
    wanted = {k: _sums(range(k, sent, KEYS)) for k in range(min(KEYS, sent))}
    lost = sum(n - last.get(k, (0, 0))[0] for k, (n, _) in wanted.items())
    twice = Counter((row["k"], row["n"]) for row in rows)
    doubled = sum(count - 1 for count in twice.values()) + max(0, -lost)
    assert lost or last == wanted, f"{last} instead of {wanted}"
    return Outcome(0, sent, max(0, lost), doubled, _disorder(rows, "n"))


def _window(rows: Rows, sent: int) -> Outcome:
    """Each window and key once, with all of its rows."""
    once = {(row["w"], row["k"]): row for row in rows}
    lost = sent - sum(row["n"] for row in once.values())
    assert lost or sum(row["s"] for row in once.values()) == sum(range(sent)), "the sums are wrong"
    return Outcome(0, sent, max(0, lost), len(rows) - len(once) + max(0, -lost), 0)


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
