"""Test CREATE TABLE ... AS: it inserts into the created table, and removes it if the query fails."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.sql.statements import ddl

_CREATE = "CREATE TABLE t WITH ('connector' = 'kafka') AS SELECT 1 AS a"


class Tables:
    """A fake catalog with a temporary table t; records calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.temporary = SimpleNamespace(name=("", "t"), table=SimpleNamespace(temporary=True), is_temporary_view=True)
        self.created = SimpleNamespace(name=("default", "t"), table=SimpleNamespace(temporary=False))

    def find(self, name: tuple[str, ...]) -> Any:
        return self.temporary if name == ("t",) else None

    def spark_sql(self, text: str) -> Any:
        assert text == "SELECT current_database()"
        return SimpleNamespace(collect=lambda: [("default",)])

    def create(self, table: Any, replace: bool = False) -> Any:
        self.calls.append(("create", table.name, replace))
        return self.created

    def remove(self, entry: Any) -> None:
        self.calls.append(("remove", entry))


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Tables:
    column = ddl.parse_statement("CREATE TABLE s (a INT) WITH ('a' = 'b')", ddl.parse_declaration).columns
    monkeypatch.setattr(ddl.settings, "is_streaming", lambda _: False)
    monkeypatch.setattr(ddl, "spark_context", lambda _: None)
    monkeypatch.setattr(ddl, "rewrite_query", lambda _, query, __: SimpleNamespace(text=query.text))
    monkeypatch.setattr(ddl, "columns_from_schema", lambda schema, whose: column)
    return Tables()


def run(text: str) -> Any:
    return SimpleNamespace(schema=None)


def test_as_inserts_into_the_created_table(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ddl, "insert", lambda spark, t, entry, statement, run: entry)
    assert ddl.create(None, tables, _CREATE, run) is tables.created  # type: ignore[arg-type]
    assert tables.calls == [("create", ("t",), False)]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_as_that_fails_removes_the_created_table(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, failure: type[BaseException]
) -> None:
    def insert(*_: Any) -> None:
        raise failure

    monkeypatch.setattr(ddl, "insert", insert)
    with pytest.raises(failure):
        ddl.create(None, tables, _CREATE, run)  # type: ignore[arg-type]
    assert tables.calls == [("create", ("t",), False), ("remove", tables.created)]
