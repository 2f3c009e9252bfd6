"""Models of Flink's stateful operators in Python, and random histories of changes for them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

Row = dict[str, Any]
Change = tuple[str, Row]  # a row kind and a row


def normalize(changes: Sequence[Change], last: dict[Any, Row], key: Callable[[Row], Any]) -> list[Change]:
    """Return the changes with old rows; ``last`` is the state."""
    output: list[Change] = []
    for kind, row in changes:
        old = last.get(key(row))
        if kind == "-D":
            if old is not None:
                output.append(("-D", last.pop(key(row))))
        elif old is None:
            output.append(("+I", row))
            last[key(row)] = row
        elif old != row:
            output += [("-U", old), ("+U", row)]
            last[key(row)] = row
    return output


def materialize(changes: Sequence[Change], rows: dict[Any, list[Row]], key: Callable[[Row], Any]) -> dict[Any, Change]:
    """Return what changed per key; ``rows`` is the state."""
    before = {key(row): rows.get(key(row), [])[-1:] for _, row in changes}
    for kind, row in changes:
        rows_of_key = rows.setdefault(key(row), [])
        if kind in ("+I", "+U"):
            rows_of_key.append(row)
        elif row in rows_of_key:
            rows_of_key.remove(row)
    output = {}
    for changed_key, old in before.items():
        new = rows[changed_key][-1:]
        if old != new:
            output[changed_key] = ("-D", old[0]) if not new else ("+U" if old else "+I", new[0])
    return output


def aggregate(rows: Sequence[Row]) -> tuple[Any, ...] | None:
    """Return the results of a group for the functions in ``AGGREGATES``; None if it has no rows."""
    if not rows:
        return None
    return tuple(
        function([row[column] for row in rows if row[column] is not None]) for _, column, function in AGGREGATES
    )


def _average(values: list[Decimal]) -> Decimal | None:
    if not values:
        return None
    return (sum(values, Decimal()) / len(values)).quantize(Decimal("0.000001"), ROUND_HALF_UP)


# SQL, the column, the function over its values that are not NULL
AGGREGATES: list[tuple[str, str, Callable[[list[Any]], Any]]] = [
    ("count(n)", "n", len),
    ("sum(n)", "n", lambda values: sum(values) if values else None),
    ("avg(n)", "n", lambda values: sum(values) / len(values) if values else None),
    ("min(n)", "n", lambda values: min(values, default=None)),
    ("max(n)", "n", lambda values: max(values, default=None)),
    ("count(DISTINCT n)", "n", lambda values: len(set(values))),
    ("sum(DISTINCT n)", "n", lambda values: sum(set(values)) if values else None),
    ("min(s)", "s", lambda values: min(values, default=None)),
    ("max(s)", "s", lambda values: max(values, default=None)),
    ("count(DISTINCT s)", "s", lambda values: len(set(values))),
    ("sum(m)", "m", lambda values: sum(values, Decimal()) if values else None),
    ("avg(m)", "m", _average),
    ("max(d)", "d", lambda values: max(values, default=None)),
    ("sum(d)", "d", lambda values: sum(values) if values else None),
]


def upsert_history(rng: random.Random, history: int, length: int, keys: int) -> Iterator[Change]:
    """Yield upserts and deletes of a few keys, some of which change nothing."""
    for _ in range(length):
        row = random_row(rng, history, rng.randrange(keys))
        yield ("-D" if rng.random() < 0.25 else "+U", row)


def retract_history(rng: random.Random, history: int, length: int) -> Iterator[Change]:
    """Yield the changes of a table: it grows, then shrinks; the rows with extreme values are often deleted."""
    rows: list[Row] = []
    for i in range(length):
        shrinks = rng.random() < (0.2 if i < length / 2 else 0.6)
        if not rows or (not shrinks and rng.random() < 0.7):
            rows.append(random_row(rng, history, rng.randrange(3)))
            yield "+I", rows[-1]
        elif shrinks:
            rows.sort(key=lambda row: row["n"] or 0)
            row = rows.pop(rng.choice([0, -1, rng.randrange(len(rows))]))
            yield "-D", row
        else:
            at = rng.randrange(len(rows))
            yield "-U", rows[at]
            rows[at] = random_row(rng, history, rng.randrange(3))
            yield "+U", rows[at]


def random_row(rng: random.Random, history: int, id_: int) -> Row:
    """Return a row with values of which some are equal, and some NULL."""
    n = rng.choice([None, *range(100)])
    return {
        "h": history,
        "k": id_,
        "n": n,
        "s": rng.choice([None, *(letter * count for letter in "aäz" for count in (0, 1, 9, 40))]),
        "m": None if n is None else Decimal(n % 7) / 4,
        "d": rng.choice([None, 0.5, -1.25, 3.0]),
        "a": rng.choice([None, [], ["x"], ["x", None]]),
    }


def is_multiset_equal(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Return whether both have the same rows, in any order. NaN is equal to NaN, and a decimal's scale is ignored."""
    return Counter(map(_comparable, left)) == Counter(map(_comparable, right))


def _comparable(row: Sequence[Any]) -> str:
    return repr([value.normalize() if isinstance(value, Decimal) else value for value in row])
