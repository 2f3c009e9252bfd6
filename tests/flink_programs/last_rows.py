"""A last row per source, far in the future, with which all windows end: Flink's sources end instead."""

from __future__ import annotations

import re
from typing import Any, Final

from tests.flink_programs.programs import ProgramTable, Row, Type

_TEXT: Final = "2999-01-01 00:00:00"
_SECONDS: Final = 32472144000
_KEY: Final = "~last~"
_NUMBER: Final = -99
_NUMBERS: Final = frozenset(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE"))
_WATERMARK: Final = re.compile(r"WATERMARK\s+FOR\s+`?(\w+)`?\s+AS\b", re.IGNORECASE)
_MARKS: Final = re.compile(rf"2999-01-01|{_SECONDS}|{_KEY}")


def last_row(table: ProgramTable) -> Row | None:
    """Return the row, or None for a source without watermark. Filters such as IS NOT NULL must not drop it."""
    watermark = next((m for c in table.schema if (m := _WATERMARK.match(c))), None)
    if watermark is None:
        return None
    times = {watermark[1]}
    for component in table.schema:
        if component.lstrip("`").startswith(watermark[1]):
            times |= set(re.findall(r"\w+", component))
    names, types = table.type["names"], table.type["children"]
    return {name: _value(name, type, table, times) for name, type in zip(names, types, strict=True)}


def is_of_last_row(row: str) -> bool:
    """Return whether a row of the result is a result of the last row."""
    return _MARKS.search(row) is not None


def _value(name: str, type: Type, table: ProgramTable, times: set[str]) -> Any:
    root = type["root"]
    if name in times:
        if root.startswith("TIMESTAMP") or root == "VARCHAR":
            return _TEXT + ("Z" if root.endswith("LOCAL_TIME_ZONE") else "")
        if root == "BIGINT":
            values = [row[name] for _, row in (*table.before, *table.after) if row.get(name) is not None]
            return _SECONDS * (1000 if max(values, default=0) > 10**11 else 1)
    if root in ("VARCHAR", "CHAR"):
        return _KEY
    if root in _NUMBERS:
        return _NUMBER
    return None if type["nullable"] else False if root == "BOOLEAN" else 0
