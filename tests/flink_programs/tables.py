"""Declare the tables of a program as Kafka tables, and write their rows as records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tests.flink_programs.programs import Change, ProgramTable, Row
from tests.topics import Topics

INSERT_ONLY: Final = "json"
UPSERT: Final = "upsert-kafka"
RETRACT: Final = "debezium-json"
_MODES: Final = {"+I": "I", "-U": "UB", "+U": "UA", "-D": "D"}


def connector(table: ProgramTable, *, needs_key: bool = False) -> str:
    """Return how a table is stored: INSERT_ONLY, UPSERT or RETRACT.

    Args:
        needs_key: whether a statement uses the primary key of an insert-only source: a temporal join.
    """
    if table.is_source:
        kinds = {kind for kind, _ in (*table.before, *table.after)}
        mode = table.options.get("changelog-mode", ",".join(_MODES[kind] for kind in kinds))
        if "U" in mode or "D" in mode:
            return UPSERT if "UA" in mode and "UB" not in mode and table.key else RETRACT
        return UPSERT if table.key and needs_key else INSERT_ONLY
    kinds = {change[:2] for change in table.changes or table.rows or []}
    if "-U" in kinds or not table.key:
        return (
            RETRACT if kinds - {"+I"} or "UB" in table.options.get("sink-changelog-mode-enforced", "") else INSERT_ONLY
        )
    return UPSERT


def declare(
    table: ProgramTable, stored: str, topic: str, topics: Topics, options: Mapping[str, str] | None = None
) -> str:
    """Return the CREATE TABLE statement of a table with further options."""
    added = dict(options or {})
    if stored == UPSERT:
        with_clause = topics.with_upsert_options(topic, **added)
    else:
        with_clause = topics.with_options(topic, format=stored, **added)
    columns = table.schema_without_key() if stored == INSERT_ONLY else table.schema
    return f"CREATE TABLE `{table.name}` (\n  {', '.join(columns)}\n) {with_clause}"


def write(topics: Topics, topic: str, stored: str, key: Sequence[str], changes: Sequence[Change]) -> None:
    """Write changes as records."""
    if stored == UPSERT:
        for kind, row in changes:
            value = None if kind == "-D" else _encode(row)
            topics.produce(topic, value, key=_encode({name: row[name] for name in key}))
    elif stored == RETRACT:
        topics.produce(topic, *map(_encode, _debezium(changes)))
    else:
        topics.produce(topic, *(_encode(row) for _, row in changes))


def _debezium(changes: Sequence[Change]) -> Iterator[Row]:
    """Yield an envelope per change; the halves of an update that follow each other are one."""
    old: Row | None = None
    for kind, row in changes:
        if old is not None and kind != "+U":
            yield {"before": old, "after": None, "op": "d"}
            old = None
        if kind == "-U":
            old = row
        elif kind == "-D":
            yield {"before": row, "after": None, "op": "d"}
        else:
            yield {"before": old, "after": row, "op": "c" if old is None else "u"}
            old = None
    if old is not None:
        yield {"before": old, "after": None, "op": "d"}


def _encode(row: Row) -> bytes:
    return json.dumps(row, default=_unknown).encode()


def _unknown(value: Any) -> str:
    raise TypeError(f"{value!r} has no JSON")
