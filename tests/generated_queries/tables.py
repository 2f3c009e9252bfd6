"""Random tables, and random histories of their rows."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

INT, BIGINT, STRING, DECIMAL = "INT", "BIGINT", "STRING", "DECIMAL(18, 4)"
TIMESTAMP, BOOLEAN = "TIMESTAMP(3)", "BOOLEAN"
TYPES: Final = (INT, BIGINT, STRING, DECIMAL, TIMESTAMP, BOOLEAN)

INSERT_ONLY: Final = "insert-only"  # json, with a WATERMARK
UPSERT: Final = "upsert"  # upsert-kafka
RETRACT: Final = "retract"  # debezium-json without PRIMARY KEY
RETRACT_KEYED: Final = "retract with a key"  # debezium-json with PRIMARY KEY
KINDS: Final = (INSERT_ONLY, UPSERT, RETRACT, RETRACT_KEYED)

END: Final = -1  # the history of the last row of a table with a WATERMARK, which closes all windows
DELAY: Final = 5  # seconds that a watermark is behind
_SECONDS: Final = 60  # in which the times of a history are

Row = tuple[Any, ...]  # int, str, Decimal, bool or None; a TIMESTAMP is a string such as 2024-01-01 00:00:05.500


@dataclass(frozen=True)
class Column:
    """A column of a table or a query."""

    name: str
    type: str
    is_nullable: bool = True


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        columns: the first one is ``h``.
        key: names of the columns of the PRIMARY KEY; empty if there is none.
        time: the column of the WATERMARK, which is ``DELAY`` seconds behind.
        is_late: whether rows are behind the watermark.
    """

    name: str
    kind: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    time: str | None = None
    is_late: bool = False

    def schema(self) -> str:
        """Return the columns and constraints of CREATE TABLE, in the SQL of Spark and Flink."""
        parts = [f"{column.name} {column.type}" for column in self.columns]
        if self.time is not None:
            parts.append(f"WATERMARK FOR {self.time} AS {self.time} - INTERVAL '{DELAY}' SECOND")
        if self.key:
            parts.append(f"PRIMARY KEY ({', '.join(self.key)}) NOT ENFORCED")
        return f"({', '.join(parts)})"

    def key_of(self, row: Row) -> Row:
        """Return the values of the PRIMARY KEY."""
        return tuple(value for column, value in zip(self.columns, row, strict=True) if column.name in self.key)


@dataclass(frozen=True)
class Change:
    """A change of a table: of a row from ``before`` to ``after``; None if there is none.

    The delete of an unknown row, which only upsert tables have, has the key in ``before`` and NULL in other columns.
    """

    table: str
    before: Row | None
    after: Row | None

    @property
    def history(self) -> int:
        """Return the number of the history."""
        row = self.before or self.after
        assert row is not None
        return int(row[0])


History = tuple[Change, ...]  # in order of time; changes of several histories are interleaved


@dataclass(frozen=True)
class World:
    """Tables, and all changes of them."""

    tables: tuple[Table, ...]
    history: History

    def changes(self, table: str) -> History:
        """Return the changes of a table."""
        return tuple(change for change in self.history if change.table == table)

    def of_histories(self, numbers: Iterable[int]) -> World:
        """Return the same tables with some of the histories, and the last rows."""
        kept = {*numbers, END}
        return World(self.tables, tuple(change for change in self.history if change.history in kept))


def content(table: Table, changes: Iterable[Change]) -> Counter[Row]:
    """Return the rows that remain after all changes of a table."""
    rows: Counter[Row] = Counter()
    by_key: dict[Row, Row] = {}
    for change in changes:
        if table.key:
            row = change.after or change.before
            assert row is not None
            by_key.pop(table.key_of(row), None)
            if change.after is not None:
                by_key[table.key_of(row)] = change.after
        else:
            rows.update([change.after] if change.after is not None else [])
            rows.subtract([change.before] if change.before is not None else [])
    return rows + Counter(by_key.values())


def to_record(table: Table, change: Change) -> tuple[bytes | None, bytes | None]:
    """Return key and value of the Kafka record: json, upsert-kafka with json, or debezium-json."""
    if table.kind == INSERT_ONLY:
        return None, _json(_fields(table, change.after))
    if table.kind == UPSERT:
        fields = _fields(table, change.after or change.before) or {}
        key = {name: fields[name] for name in table.key}
        return _json(key), None if change.after is None else _json(fields)
    op = "c" if change.before is None else "d" if change.after is None else "u"
    value = {"before": _fields(table, change.before), "after": _fields(table, change.after), "op": op}
    return None, _json(value)


def _fields(table: Table, row: Row | None) -> dict[str, Any] | None:
    return None if row is None else {c.name: value for c, value in zip(table.columns, row, strict=True)}


def _json(value: Any) -> bytes:
    return json.dumps(value, default=float).encode()


def generate_world(seed: int, histories: int = 100, length: int = 30) -> World:
    """Return two to four tables, and their changes.

    Args:
        seed: equal seeds give equal worlds.
        histories: number of histories.
        length: number of changes of all tables, per history.
    """
    rng = random.Random(f"world-{seed}")
    tables = tuple(_table(rng, name, i) for i, name in enumerate("abcd"[: rng.choice((2, 3, 3, 4))]))
    per_history = [_history(random.Random(f"history-{seed}-{h}"), tables, h, length) for h in range(histories)]
    changes = [change for changes in zip(*per_history, strict=True) for change in changes]
    return World(tables, (*changes, *(_last_row(table) for table in tables if table.time is not None)))


def _table(rng: random.Random, name: str, number: int) -> Table:
    kind = rng.choice((INSERT_ONLY, RETRACT_KEYED) if number == 0 else KINDS)
    types = [INT, *rng.sample(TYPES, rng.randint(1, 4))]
    columns = [Column("h", INT, False), Column(f"{name}_id", INT, False)]
    columns += [Column(f"{name}_{letter}", type) for letter, type in zip("klmno", types, strict=False)]
    key = ("h", f"{name}_id") if kind in (UPSERT, RETRACT_KEYED) else ()
    if kind != INSERT_ONLY:
        return Table(name, kind, tuple(columns), key)
    time = Column(f"{name}_ts", TIMESTAMP, False)
    return Table(name, kind, (*columns, time), (), time.name, rng.random() < 0.3)


def _history(rng: random.Random, tables: Sequence[Table], history: int, length: int) -> list[Change]:
    rows: dict[str, list[Row]] = {table.name: [] for table in tables}
    return [
        _change(rng, table, rows[table.name], history, i / length * _SECONDS)
        for i in range(length)
        for table in (rng.choice(tables),)
    ]


def _change(rng: random.Random, table: Table, rows: list[Row], history: int, second: float) -> Change:
    """Change the rows of a table."""
    new = _row(rng, table, history, second)
    if table.kind == INSERT_ONLY:
        if rows and rng.random() < 0.15:
            new = rng.choice(rows)[:-1] + new[-1:]  # equal but for the time
        rows.append(new)
        return Change(table.name, None, new)
    if table.key:
        old = next((row for row in rows if table.key_of(row) == table.key_of(new)), None)
    else:
        old = rng.choice(rows) if rows and rng.random() < 0.55 else None
        new = rng.choice(rows) if rows and rng.random() < 0.15 else new  # several equal rows
    after = None if rng.random() < 0.35 and (old or table.kind == UPSERT) else new
    if old is not None:
        rows.remove(old)
    elif after is None:  # of an unknown row
        old = tuple(v if c.name in table.key else None for c, v in zip(table.columns, new, strict=True))
    if after is not None:
        rows.append(after)
    return Change(table.name, old, after)


def _row(rng: random.Random, table: Table, history: int, second: float) -> Row:
    values: list[Any] = [history, rng.randrange(5)]
    for column in table.columns[2:]:
        if column.name == table.time:
            # rows of one partition are out of order by less than the delay, as long as none is to be late
            early = rng.random() * (_SECONDS if table.is_late else DELAY - _SECONDS / 20)
            values.append(time_text(round(max(second - early, 0) * 2) / 2))
        else:
            values.append(_value(rng, column.type, second))
    return tuple(values)


def _value(rng: random.Random, type: str, second: float) -> Any:
    values: dict[str, Sequence[Any]] = {
        INT: (0, 1, 2, 3, -1),
        BIGINT: (0, 1, 2, 5, -3, 10**12),
        STRING: ("", "a", "b", "ab", "B", "ä"),
        DECIMAL: tuple(map(Decimal, ("0", "1.5", "1.25", "-2.25", "100.01", "0.3333"))),
        TIMESTAMP: tuple(time_text(s) for s in (0, 0.001, int(second) // 10 * 10, 30)),
        BOOLEAN: (True, False),
    }
    return None if rng.random() < 0.15 else rng.choice(values[type])


def time_text(second: float) -> str:
    """Return a timestamp in the first hour of 2024."""
    minutes, seconds = divmod(second, 60)
    return f"2024-01-01 00:{int(minutes):02}:{seconds:06.3f}"


def _last_row(table: Table) -> Change:
    values = [None] * len(table.columns)
    row = (END, 0, *values[2:-1], "2024-01-02 00:00:00.000")
    return Change(table.name, None, row)
