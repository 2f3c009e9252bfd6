"""The content of a sink: what Flink's program expects, and what its topic has, as the text of Flink's rows."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, Final

from confluent_kafka import Message

from tests.flink_programs.programs import ProgramTable, Type

Content = Counter[str]  # such as [1, a], as often as the row exists
_TIMESTAMP: Final = re.compile(r"(\d+-\d\d-\d\d)[ T](\d\d:\d\d)(:\d\d)?(?:\.(\d+))?(Z?)")


def expected_content(table: ProgramTable) -> Content:
    """Return the rows that remain after the changes of a program."""
    if table.rows is not None:
        return Counter(row[2:] for row in table.rows)
    changes = table.changes or []
    if table.key and not any(change.startswith("-U") for change in changes):
        positions = [list(table.type["names"]).index(name) for name in table.key]
        rows: dict[tuple[str, ...], str] = {}
        for change in changes:
            fields = _fields(change[2:])
            key = tuple(fields[position] for position in positions)
            rows.pop(key, None)
            if change[0] == "+":
                rows[key] = change[2:]
        return Counter(rows.values())
    content: Content = Counter()
    for change in changes:
        content[change[2:]] += 1 if change[0] == "+" else -1
    return content


def actual_content(table: ProgramTable, messages: Iterable[Message]) -> Content:
    """Return the rows that remain after the records of a topic. It is read without this project's own code."""
    content: Content = Counter()
    rows: dict[bytes | None, str] = {}
    for message in messages:
        value = _decode(message.value())
        if isinstance(value, dict) and value.keys() == {"before", "after", "op"}:
            if value["before"] is not None:
                content[render(value["before"], table.type)[2:]] -= 1
            if value["after"] is not None:
                content[render(value["after"], table.type)[2:]] += 1
        elif message.key() is None:
            content[render(value, table.type)[2:]] += 1
        else:
            rows.pop(message.key(), None)
            if value is not None:
                rows[message.key()] = render(value, table.type)[2:]
    content.update(rows.values())
    return content


def _decode(value: bytes | None) -> Any:
    return None if value is None else json.loads(value, parse_float=str, parse_int=str)


def render(value: Any, type: Type) -> str:
    """Return the text of a value of JSON as Java's ``toString`` has it for Flink's class of its type."""
    root = type["root"]
    if value is None:
        return "null"
    if root == "ROW":
        fields = zip(type["names"], type["children"], strict=True)
        return "+I[" + ", ".join(render(value.get(name), field) for name, field in fields) + "]"
    if root == "ARRAY":
        return "[" + ", ".join(render(item, type["children"][0]) for item in value) + "]"
    if root in ("MAP", "MULTISET"):
        item = {"root": "INTEGER"} if root == "MULTISET" else type["children"][1]
        return "{" + ", ".join(f"{name}={render(v, item)}" for name, v in value.items()) + "}"
    if root == "BOOLEAN":
        return str(value).lower()
    if root.startswith("TIMESTAMP"):
        return _timestamp(str(value))
    if root.startswith("TIME"):
        return str(value).removesuffix(":00") if str(value).count(":") == 2 else str(value)
    if root in ("BINARY", "VARBINARY"):
        return "[" + ", ".join(str(byte - 256 if byte > 127 else byte) for byte in base64.b64decode(value)) + "]"
    if root == "DECIMAL":  # JSON has no trailing zeros, as in Flink
        return f"{Decimal(value):.{type['scale']}f}"
    if root in ("DOUBLE", "FLOAT") and re.fullmatch(r"-?\d+", str(value)):
        return f"{value}.0"
    return str(value)


def _timestamp(text: str) -> str:
    parts = _TIMESTAMP.fullmatch(text)
    if parts is None:
        return text
    date, minutes, seconds, fraction, zone = parts.groups()
    fraction = (fraction or "").rstrip("0")
    fraction = f".{fraction:0<{(len(fraction) + 2) // 3 * 3}}" if fraction else ""
    seconds = "" if seconds in (None, ":00") and not fraction and not zone else seconds or ":00"
    return f"{date}T{minutes}{seconds}{fraction}{zone}"


def _fields(row: str) -> list[str]:
    """Return the fields of a row's text, ``[1, [2, 3], a]``."""
    return list(_split(row[1:-1]))


def _split(text: str) -> Iterator[str]:
    depth = start = 0
    for i, character in enumerate(text):
        depth += (character in "[{") - (character in "]}")
        if depth == 0 and text.startswith(", ", i):
            yield text[start:i]
            start = i + 2
    yield text[start:]
