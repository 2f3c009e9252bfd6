"""Random histories of inserts, updates and deletes, as records of a change data capture and of an upsert topic."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from decimal import Decimal
from typing import Any, TypeAlias

from tests.topics import Topics

Row: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[int, int]
Change: TypeAlias = tuple[Key, Row | None, Row | None]  # the row's key, the old row, the new row

PARTITIONS = 3
KEYS = 8
COLUMNS = "h INT, k INT, g INT, v DECIMAL(10, 2)"


def make_history(number: int, count: int) -> list[Change]:
    """Return random changes of a table of a few rows."""
    rng = random.Random(number)
    rows: dict[Key, Row] = {}
    changes: list[Change] = []
    for _ in range(count):
        key = number, rng.randrange(KEYS)
        old = rows.pop(key, None)
        new = None
        if old is None or rng.random() < 0.7:
            value = None if rng.random() < 0.1 else rng.randrange(-999, 9999) / 100
            new = {"h": number, "k": key[1], "g": rng.randrange(3), "v": value}
            rows[key] = new
        changes.append((key, old, new))
    return changes


def final_content(changes: list[Change]) -> dict[Key, Row]:
    content = {key: new for key, _, new in changes}
    return {key: row for key, row in content.items() if row is not None}


def to_debezium(change: Change) -> bytes:
    _, old, new = change
    op = "c" if old is None else "d" if new is None else "u"
    return json.dumps({"before": old, "after": new, "op": op}).encode()


def interleave(histories: list[list[Change]], part: slice) -> list[Change]:
    """Return the next change of each history, round by round."""
    return [change for changes in zip(*(history[part] for history in histories), strict=True) for change in changes]


def write(topics: Topics, cdc: str, upserts: str, changes: list[Change], partitions: int = PARTITIONS) -> None:
    for partition in range(partitions):
        own = [change for change in changes if sum(change[0]) % partitions == partition]
        topics.produce(cdc, *map(to_debezium, own), partition=partition)
    topics.produce_all(
        upserts,
        [
            (json.dumps({"h": h, "k": k}).encode(), None if new is None else json.dumps(new).encode())
            for (h, k), _, new in changes
        ],
    )


def decimal(row: Row) -> Decimal | None:
    return None if row["v"] is None else Decimal(str(row["v"])).quantize(Decimal("0.01"))


def expected_values(content: dict[Key, Row], min_rows: int) -> set[tuple[Any, ...]]:
    """Return the rows of ``SELECT h, g, count(*), sum(v), min(v), max(v), count(DISTINCT k % 3) ... GROUP BY h, g``.

    Args:
        min_rows: groups with fewer rows are not in the result.
    """
    groups: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for row in content.values():
        groups[row["h"], row["g"]].append(row)
    result = set()
    for (h, g), rows in groups.items():
        if len(rows) >= min_rows:
            values = [value for value in map(decimal, rows) if value is not None]
            low, high, total = (f(values) if values else None for f in (min, max, lambda v: sum(v, Decimal())))
            result.add((h, g, len(rows), total, low, high, len({row["k"] % 3 for row in rows})))
    return result
