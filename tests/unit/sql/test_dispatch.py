"""Statements that name Kafka tables, as Spark is given them, with a catalog that is none."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.errors import KafkaSqlError, TableNotFoundError, UnsupportedSqlError
from kafka_sql.options import connector as opt
from kafka_sql.sql import dispatch as module
from kafka_sql.sql import read_stream
from kafka_sql.sql.dispatch import dispatch
from kafka_sql.sql.rewrite import query


def entry(database: str, name: str) -> Any:
    return SimpleNamespace(
        name=(database, name),
        source=name,
        behind_view=False,
        definition=SimpleNamespace(name=f"{database}.{name}".strip("."), options={opt.BOUNDED_MODE: opt.UNBOUNDED}),
        table=SimpleNamespace(temporary=not database, computed=(), watermark=None),
    )


class Tables:
    """Lasting tables default.o and d.o, and temporary ones."""

    def __init__(self, *temporary: str) -> None:
        self.entries = [*(entry("", name) for name in temporary), entry("default", "o"), entry("d", "o")]
        self.removed: list[tuple[str, str]] = []
        self.views: list[str] = []

    def __iter__(self) -> Iterator[Any]:
        return iter(self.entries)

    def __bool__(self) -> bool:
        return True

    def find(self, name: tuple[str, ...]) -> Any:
        names = [("", *name), ("default", *name)] if len(name) == 1 else [name]
        return next((e for e in self.entries if e.name in names), None)

    def remove(self, found: Any) -> None:
        self.entries.remove(found)
        self.removed.append(found.name)

    def hinted(self, found: Any, options: Any) -> Any:
        return found

    def refresh(self) -> None:
        pass

    def is_hidden(self, name: str) -> bool:
        return name in self.views

    def plain(self, text: str) -> Any:
        if text == "SELECT current_database()":
            return SimpleNamespace(collect=lambda: [("default",)])
        return text


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.settings, "is_streaming", lambda _: False)
    monkeypatch.setattr(module, "_exists", lambda spark, name: name == ("sparks",))
    monkeypatch.setattr(module, "nothing", lambda _: "nothing")
    monkeypatch.setattr(query, "select", lambda e: "SELECT hinted")


def given(text: str, tables: Tables) -> Any:
    return dispatch(None, tables, text, lambda statement: statement)  # type: ignore[arg-type,return-value]


def test_explain_of_sparks_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.explain, "_sparks", lambda mode, statement, run: f"{mode}: {statement}")
    monkeypatch.setattr(module.explain, "frame", lambda spark, columns, rows: rows)
    for head in ("CREATE TABLE p AS", "INSERT INTO p"):
        explained = given(f"EXPLAIN COST {head} SELECT * FROM o {_HINTED} x", Tables())
        assert explained == [(f"COST: {head} SELECT * FROM (SELECT hinted) x",)]
        assert given(f"EXPLAIN {head} SELECT 1", Tables()) == f"EXPLAIN {head} SELECT 1"


_HINTED = "/*+ OPTIONS('a' = 'b') */"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"INSERT INTO p SELECT * FROM o {_HINTED} x", "INSERT INTO p SELECT * FROM (SELECT hinted) x"),
        (
            f"WITH q AS (SELECT * FROM o {_HINTED} x) INSERT INTO p (a) SELECT * FROM q;",
            "INSERT INTO p (a) WITH q AS (SELECT * FROM (SELECT hinted) x) SELECT * FROM q",
        ),
        (
            "INSERT INTO p SELECT * FROM default_catalog.d.o",
            "INSERT INTO p SELECT * FROM `spark_catalog`.`d`.`o`",
        ),
        ("INSERT INTO p SELECT 1 /*+ c */ FROM r", "INSERT INTO p SELECT 1 /*+ c */ FROM r"),
        (
            f"-- c\nCREATE TABLE p USING parquet AS SELECT * FROM o {_HINTED} x",
            "-- c\nCREATE TABLE p USING parquet AS SELECT * FROM (SELECT hinted) x",
        ),
        (f"REPLACE TABLE p AS (TABLE o {_HINTED})", "REPLACE TABLE p AS (SELECT * FROM (SELECT hinted))"),
        (
            "CREATE TABLE p (a INT GENERATED ALWAYS AS (b)) AS FROM default_catalog.d.o",
            "CREATE TABLE p (a INT GENERATED ALWAYS AS (b)) AS FROM `spark_catalog`.`d`.`o`",
        ),
        (f"CREATE TABLE p AS SELECT * FROM r {_HINTED}", f"CREATE TABLE p AS SELECT * FROM r {_HINTED}"),
        (
            "CREATE VIEW v AS SELECT * FROM default_catalog.d.o",
            "CREATE VIEW v AS SELECT * FROM `spark_catalog`.`d`.`o`",
        ),
        (
            "CREATE VIEW v AS SELECT /*+ REPARTITION(3) */ * FROM o",
            "CREATE VIEW v AS SELECT /*+ REPARTITION(3) */ * FROM o",
        ),
        ("CREATE OR REPLACE TEMPORARY VIEW o AS SELECT 1", "CREATE OR REPLACE TEMPORARY VIEW o AS SELECT 1"),
        ("CREATE TEMP VIEW o AS SELECT 1", "CREATE TEMP VIEW o AS SELECT 1"),
        ("CREATE GLOBAL TEMPORARY VIEW o AS SELECT 1", "CREATE GLOBAL TEMPORARY VIEW o AS SELECT 1"),
        ("CREATE VIEW IF NOT EXISTS o AS SELECT 1", "CREATE VIEW IF NOT EXISTS o AS SELECT 1"),
        ("CREATE OR REPLACE VIEW x.o AS SELECT 1", "CREATE OR REPLACE VIEW x.o AS SELECT 1"),
        ("ALTER TABLE IF EXISTS typo SET ('k' = 'v')", "nothing"),
        ("ALTER TABLE typo SET TBLPROPERTIES ('k' = 'v')", "ALTER TABLE typo SET TBLPROPERTIES ('k' = 'v')"),
        ("ALTER TABLE typo ADD COLUMNS (a INT)", "ALTER TABLE typo ADD COLUMNS (a INT)"),
        ("ALTER TABLE typo DROP COLUMN a", "ALTER TABLE typo DROP COLUMN a"),
    ],
)
def test_given_to_spark(text: str, expected: str) -> None:
    assert given(text, Tables()) == expected


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        (
            f"CREATE VIEW v AS SELECT * FROM o {_HINTED}",
            UnsupportedSqlError,
            "hint on table 'default.o' cannot be kept",
        ),
        ("CREATE VIEW o AS SELECT 1", UnsupportedSqlError, "CREATE VIEW is not supported for Kafka table 'default.o'"),
        ("CREATE OR REPLACE VIEW d.o AS SELECT 1", UnsupportedSqlError, "Kafka table 'd.o'"),
        ("ALTER TABLE typo SET ('password' = 'v')", TableNotFoundError, "there is no Kafka table 'typo'"),
        ("ALTER TABLE IF EXISTS sparks SET ('k' = 'v')", TableNotFoundError, "there is no Kafka table 'sparks'"),
        ("ALTER TABLE typo SET 'k' = 'v'", TableNotFoundError, "there is no Kafka table 'typo'"),
        ("ALTER TABLE typo RESET ('k')", TableNotFoundError, "there is no Kafka table 'typo'"),
        ("ALTER TABLE typo ADD (a INT)", TableNotFoundError, "there is no Kafka table 'typo'"),
        ("ALTER TABLE typo ADD WATERMARK FOR a AS a", TableNotFoundError, "there is no Kafka table 'typo'"),
        ("ALTER TABLE typo MODIFY a INT", TableNotFoundError, "there is no Kafka table 'typo'"),
        ("ALTER TABLE typo DROP (a)", TableNotFoundError, "there is no Kafka table 'typo'"),
        ("INSERT INTO p SELECT * FROM STREAM o", UnsupportedSqlError, "writes into Kafka tables only"),
        (f"INSERT INTO o (a) {_HINTED} SELECT 1", UnsupportedSqlError, "directly behind the table's name"),
        (f"INSERT INTO {_HINTED} o SELECT 1", UnsupportedSqlError, "directly behind the table's name"),
        (f"INSERT {_HINTED} INTO o SELECT 1", UnsupportedSqlError, "directly behind the table's name"),
        (f"INSERT INTO o {_HINTED} {_HINTED} SELECT 1", UnsupportedSqlError, "directly behind the table's name"),
    ],
)
def test_refused(text: str, error: type[KafkaSqlError], words: str) -> None:
    with pytest.raises(error, match=words):
        given(text, Tables())


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CREATE TEMP VIEW o AS SELECT 1", "o"),
        ("CREATE OR REPLACE TEMPORARY VIEW o AS SELECT 1", "o"),
        ("CREATE OR REPLACE VIEW o AS SELECT 1", "default.o"),  # the lasting one, which the temporary one hides
    ],
)
def test_views_beside_a_temporary_table(text: str, name: str) -> None:
    with pytest.raises(UnsupportedSqlError, match=f"Kafka table '{name}'"):
        given(text, Tables("o"))
    assert given("CREATE OR REPLACE VIEW t AS SELECT 1", Tables("t")) == "CREATE OR REPLACE VIEW t AS SELECT 1"


@pytest.mark.parametrize(
    ("text", "removed"),
    [
        ("DROP DATABASE D CASCADE", [("d", "o")]),
        ("DROP SCHEMA IF EXISTS spark_catalog.d CASCADE", [("d", "o")]),
        ("DROP DATABASE d", []),
        ("DROP DATABASE d RESTRICT", []),
        ("DROP DATABASE other.d CASCADE", []),
        ("DROP DATABASE default CASCADE", []),
    ],
)
def test_drop_database(text: str, removed: list[tuple[str, str]]) -> None:
    tables = Tables("o")
    assert given(text, tables) == text
    assert tables.removed == removed


@pytest.mark.parametrize(
    ("name", "hidden", "expected"),
    [
        ("o", [], "stream of default.o"),
        ("o", ["o"], "Spark's o"),
        ("`d`.`o`", [], "stream of d.o"),
        ("default_catalog.d.o", [], "stream of d.o"),
        ("`d.o`", [], "Spark's `d.o`"),
        ("d.o x", [], "Spark's d.o x"),
    ],
)
def test_read_stream(monkeypatch: pytest.MonkeyPatch, name: str, hidden: list[str], expected: str) -> None:
    class Reader:
        _spark = None

        def table(self, tableName: str) -> str:
            return f"Spark's {tableName}"

    tables = Tables()
    tables.views = hidden
    monkeypatch.setattr(read_stream, "stream", lambda e: f"stream of {e.definition.name}")
    read_stream.teach(SimpleNamespace(readStream=Reader()), lambda _: tables)  # type: ignore[arg-type]
    assert Reader().table(name) == expected
