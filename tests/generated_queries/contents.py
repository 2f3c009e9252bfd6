"""The content of a sink's topic and of a batch query, as text that can be compared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from confluent_kafka import Message

from tests.generated_queries.tables import BIGINT, BOOLEAN, INT, STRING, TIMESTAMP, Column

Content = Counter[str]  # such as (1, a), as often as the row exists


@dataclass(frozen=True)
class Expected:
    """The rows that another engine returns.

    Attributes:
        engine: its name.
        content: the rows.
        is_insert_only: whether no row was updated or deleted.
    """

    engine: str
    content: Content
    is_insert_only: bool = False


def batch_content(rows: Iterable[Sequence[Any]], columns: Sequence[Column]) -> Content:
    """Return the rows of a batch query; those of the last rows of tables are not among them."""
    return without_last_rows(Counter(render(row, columns) for row in rows))


def topic_content(messages: Iterable[Message], columns: Sequence[Column]) -> Content:
    """Return the rows that remain after the records of json, debezium-json, or upserts. It is read independently.

    A row that was retracted too often counts negatively.
    """
    content: Content = Counter()
    by_key: dict[bytes, str] = {}
    names = [column.name for column in columns]

    def text(row: dict[str, Any]) -> str:
        return render([row.get(name) for name in names], columns)

    for message in messages:
        key, value = message.key(), _decode(message.value())
        if key is not None:
            by_key.pop(key, None)
            if value is not None:
                by_key[key] = text(value)
        elif value is not None and value.keys() != {"before", "after", "op"}:
            content[text(value)] += 1
        elif value is not None:
            content.update([text(value["after"])] if value["after"] is not None else [])
            content.subtract([text(value["before"])] if value["before"] is not None else [])
    content.update(by_key.values())
    return without_last_rows(content)


def without_last_rows(content: Content) -> Content:
    """Return the rows that are not of the last rows of tables."""
    return Counter({row: number for row, number in content.items() if number and not row.startswith("(-1,")})


def difference(expected: Content, actual: Content, peer: str = "batch") -> str:
    """Return the rows that only one of them has; an empty string if they are equal."""
    parts = []
    for name, one, other in ((peer, expected, actual), ("stream", actual, expected)):
        rows = sorted(row for row in {*expected, *actual} for _ in range(one[row] - other[row]))
        if rows:
            more = f" and {len(rows) - 10} more" if len(rows) > 10 else ""
            parts.append(f"only {name}: {' '.join(rows[:10])}{more}")
    return "; ".join(parts)


def histories(expected: Content, actual: Content) -> list[int]:
    """Return the numbers of the histories whose rows differ, in keyed queries."""
    rows = {row for row in {*expected, *actual} if expected[row] != actual[row]}
    return sorted({int(row[1:].split(",")[0].rstrip(")")) for row in rows})


def render(row: Sequence[Any], columns: Sequence[Column]) -> str:
    """Return the text of a row."""
    return f"({', '.join(_text(v, c.type) for v, c in zip(row, columns, strict=True))})"


def _text(value: Any, type: str) -> str:
    if value is None:
        return "NULL"
    if type in (INT, BIGINT):
        return str(int(value))
    if type == BOOLEAN:
        return str(bool(value)).lower()
    if type == STRING:
        return repr(value)
    if type == TIMESTAMP:
        if not isinstance(value, datetime):
            value = datetime.fromisoformat(value.rstrip("Z"))
        return str(value.isoformat(" ", "milliseconds"))
    return f"{Decimal(str(value)).normalize():f}"


def _decode(value: bytes | None) -> Any:
    return None if value is None else json.loads(value, parse_float=Decimal)
