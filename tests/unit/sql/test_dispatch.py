"""What Spark receives for statements about Kafka tables, with a fake catalog."""

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

HINT = "/*+ OPTIONS('a' = 'b') */"


def table_entry(database: str, name: str) -> Any:
    return SimpleNamespace(
        name=(database, name),
        sql_name=name,
        is_view=False,
        view_name=(database, name),
        is_temporary_view=not database,
        definition=SimpleNamespace(
            name=f"{database}.{name}".strip("."), options={opt.BOUNDED_MODE: opt.UNBOUNDED}, is_upsert=False
        ),
        table=SimpleNamespace(temporary=not database, computed_columns=(), watermark=None),
    )


class Tables:
    """Permanent tables default.o and d.o, and temporary ones."""

    are_private = False

    def __init__(self, *temporary: str) -> None:
        self.entries = [
            *(table_entry("", name) for name in temporary),
            table_entry("default", "o"),
            table_entry("d", "o"),
        ]
        self.removed: list[tuple[str, str]] = []
        self.views: list[str] = []

    def __iter__(self) -> Iterator[Any]:
        return iter(self.entries)

    def __bool__(self) -> bool:
        return True

    def find(self, name: tuple[str, ...]) -> Any:
        names = [("", *name), ("default", *name)] if len(name) == 1 else [name]
        return next((e for e in self.entries if e.name in names), None)

    def check_settings(self, entry: Any) -> None:
        """Accept all settings: the session is a fake, too."""

    def remove(self, entry: Any) -> None:
        self.entries.remove(entry)
        self.removed.append(entry.name)

    def with_options(self, entry: Any, options: Any) -> Any:
        return entry

    def refresh(self) -> None:
        pass

    def is_hidden_by_view(self, name: str) -> bool:
        return name in self.views

    def spark_sql(self, text: str) -> Any:
        if text == "SELECT current_database()":
            return SimpleNamespace(collect=lambda: [("default",)])
        return text


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.settings, "is_streaming", lambda _: False)
    monkeypatch.setattr(module.settings, "is_real_time", lambda _: False)
    monkeypatch.setattr(module, "_exists_in_spark", lambda spark, name: name == ("sparks",))
    monkeypatch.setattr(module, "empty_dataframe", lambda _: "nothing")
    monkeypatch.setattr(query, "select_statement", lambda e: "SELECT hinted")


def run(text: str, tables: Tables) -> Any:
    return dispatch(SimpleNamespace(), tables, text, lambda statement: statement)  # type: ignore[arg-type,return-value]


def return_plan(statement: str) -> Any:
    """Return a DataFrame whose only value is the statement."""
    return SimpleNamespace(collect=lambda: [(statement,)])


def test_explain_of_spark_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.explain, "_explain_in_spark", lambda mode, statement, run: f"{mode}: {statement}")
    monkeypatch.setattr(module.explain, "dataframe", lambda spark, columns, rows: rows)
    for head in ("CREATE TABLE p AS", "INSERT INTO p"):
        explained = run(f"EXPLAIN COST {head} SELECT * FROM o {HINT} x", Tables())
        assert explained == [(f"COST: {head} SELECT * FROM (SELECT hinted) x",)]
        text = f"EXPLAIN {head} SELECT 1"
        assert dispatch(SimpleNamespace(), Tables(), text, return_plan) == [(text,)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"INSERT INTO p SELECT * FROM o {HINT} x", "INSERT INTO p SELECT * FROM (SELECT hinted) x"),
        (
            f"WITH q AS (SELECT * FROM o {HINT} x) INSERT INTO p (a) SELECT * FROM q;",
            "INSERT INTO p (a) WITH q AS (SELECT * FROM (SELECT hinted) x) SELECT * FROM q",
        ),
        (
            "INSERT INTO p SELECT * FROM default_catalog.d.o",
            "INSERT INTO p SELECT * FROM `spark_catalog`.`d`.`o`",
        ),
        ("INSERT INTO p SELECT 1 /*+ c */ FROM r", "INSERT INTO p SELECT 1 /*+ c */ FROM r"),
        (
            f"-- c\nCREATE TABLE p USING parquet AS SELECT * FROM o {HINT} x",
            "-- c\nCREATE TABLE p USING parquet AS SELECT * FROM (SELECT hinted) x",
        ),
        (f"REPLACE TABLE p AS (TABLE o {HINT})", "REPLACE TABLE p AS (SELECT * FROM (SELECT hinted))"),
        (
            "CREATE TABLE p (a INT GENERATED ALWAYS AS (b)) AS FROM default_catalog.d.o",
            "CREATE TABLE p (a INT GENERATED ALWAYS AS (b)) AS FROM `spark_catalog`.`d`.`o`",
        ),
        ("CREATE OR REPLACE TABLE p AS SELECT 1", "CREATE OR REPLACE TABLE p AS SELECT 1"),
        ("CREATE TABLE o USING parquet", "CREATE TABLE o USING parquet"),  # Spark's error: it exists
        (f"CREATE TABLE p AS SELECT * FROM r {HINT}", f"CREATE TABLE p AS SELECT * FROM r {HINT}"),
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
def test_statement_for_spark(text: str, expected: str) -> None:
    assert run(text, Tables()) == expected


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (
            f"CREATE VIEW v AS SELECT * FROM STREAM o {HINT}",
            UnsupportedSqlError,
            "STREAM o with an OPTIONS hint cannot be stored in a view",
        ),
        ("CREATE VIEW o AS SELECT 1", UnsupportedSqlError, "CREATE VIEW is not supported for Kafka table 'default.o'"),
        ("CREATE OR REPLACE VIEW d.o AS SELECT 1", UnsupportedSqlError, "Kafka table 'd.o'"),
        ("CREATE OR REPLACE TABLE o USING iceberg AS SELECT 1", UnsupportedSqlError, "REPLACE TABLE is not supported"),
        ("-- c\nREPLACE TABLE d.o AS SELECT 1", UnsupportedSqlError, "REPLACE TABLE .* Kafka table 'd.o'"),
        ("ALTER TABLE typo SET ('password' = 'v')", TableNotFoundError, "Kafka table 'typo' not found"),
        ("ALTER TABLE IF EXISTS sparks SET ('k' = 'v')", TableNotFoundError, "Kafka table 'sparks' not found"),
        ("ALTER TABLE typo SET 'k' = 'v'", TableNotFoundError, "Kafka table 'typo' not found"),
        ("ALTER TABLE typo RESET ('k')", TableNotFoundError, "Kafka table 'typo' not found"),
        ("ALTER TABLE typo ADD (a INT)", TableNotFoundError, "Kafka table 'typo' not found"),
        ("ALTER TABLE typo ADD WATERMARK FOR a AS a", TableNotFoundError, "Kafka table 'typo' not found"),
        ("ALTER TABLE typo MODIFY a INT", TableNotFoundError, "Kafka table 'typo' not found"),
        ("ALTER TABLE typo DROP (a)", TableNotFoundError, "Kafka table 'typo' not found"),
        ("INSERT INTO p SELECT * FROM STREAM o", UnsupportedSqlError, "can only write to a Kafka table"),
        (f"INSERT INTO o (a) {HINT} SELECT 1", UnsupportedSqlError, "directly after the table name"),
        (f"INSERT INTO {HINT} o SELECT 1", UnsupportedSqlError, "directly after the table name"),
        (f"INSERT {HINT} INTO o SELECT 1", UnsupportedSqlError, "directly after the table name"),
        (f"INSERT INTO o {HINT} {HINT} SELECT 1", UnsupportedSqlError, "directly after the table name"),
    ],
)
def test_unsupported_statements(text: str, error: type[KafkaSqlError], message: str) -> None:
    with pytest.raises(error, match=message):
        run(text, Tables())


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CREATE TEMP VIEW o AS SELECT 1", "o"),
        ("CREATE OR REPLACE TEMPORARY VIEW o AS SELECT 1", "o"),
        ("CREATE OR REPLACE VIEW o AS SELECT 1", "default.o"),  # the permanent table, hidden by the temporary one
    ],
)
def test_views_beside_a_temporary_table(text: str, name: str) -> None:
    with pytest.raises(UnsupportedSqlError, match=f"Kafka table '{name}'"):
        run(text, Tables("o"))
    assert run("CREATE OR REPLACE VIEW t AS SELECT 1", Tables("t")) == "CREATE OR REPLACE VIEW t AS SELECT 1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a FROM o", "SELECT a FROM o"),
        ("SELECT 1.5 FROM o", "SELECT 1.5 FROM o"),
        (
            "WITH o AS (SELECT 1) SELECT default.o.a FROM default.o",
            "WITH o AS (SELECT 1) SELECT `o`.a FROM (SELECT hinted) AS `o`",
        ),
        ("SELECT * FROM default_catalog.d.o x", "SELECT * FROM (SELECT hinted) x"),
        ("INSERT INTO p SELECT * FROM d.o", "INSERT INTO p SELECT * FROM (SELECT hinted) AS `o`"),
        ("CREATE TABLE p AS SELECT * FROM d.o", "CREATE TABLE p AS SELECT * FROM (SELECT hinted) AS `o`"),
        ("CREATE TEMP VIEW v AS SELECT * FROM d.o", "CREATE TEMP VIEW v AS SELECT * FROM (SELECT hinted) AS `o`"),
        ("SELECT * FROM d.other", "SELECT * FROM d.other"),
    ],
)
def test_names_with_a_database_of_tables_that_are_temporary_views(text: str, expected: str) -> None:
    tables = private_tables()
    tables.views = ["o"]  # its own
    assert run(text, tables) == expected


def test_a_view_does_not_replace_a_table_that_is_a_temporary_view() -> None:
    with pytest.raises(UnsupportedSqlError, match=r"CREATE VIEW is not supported for Kafka table 'default\.o'"):
        run("CREATE OR REPLACE TEMP VIEW o AS SELECT 1", private_tables())


def private_tables() -> Tables:
    """Return the tables of a Spark Connect client."""
    tables = Tables()
    tables.are_private = True
    for entry in tables.entries:
        entry.view_name, entry.is_temporary_view, entry.is_view = ("", entry.name[1]), True, True
    return tables


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
    assert run(text, tables) == text
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
        _spark = SimpleNamespace()

        def table(self, tableName: str) -> str:
            return f"Spark's {tableName}"

    tables = Tables()
    tables.views = hidden
    monkeypatch.setattr(read_stream, "stream_query", lambda _, e: f"stream of {e.definition.name}")
    read_stream.patch_read_stream(SimpleNamespace(readStream=Reader()), lambda _: tables)  # type: ignore[arg-type]
    assert Reader().table(name) == expected
