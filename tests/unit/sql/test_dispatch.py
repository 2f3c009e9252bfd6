"""What Spark receives for statements about Kafka tables, in a session without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.catalog.application_tables import ApplicationTables
from kafka_sql.errors import KafkaSqlError, TableNotFoundError, UnsupportedSqlError
from kafka_sql.sql import dispatch as module
from kafka_sql.sql.dispatch import dispatch
from kafka_sql.sql.rewrite import query_rewriter
from kafka_sql.sql.statements import spark_objects
from tests.unit.catalog.fake_spark import Spark, create_tables, declare

HINT = "/*+ OPTIONS('topic' = 'u') */"


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_objects, "empty_dataframe", lambda _: "nothing")
    monkeypatch.setattr(query_rewriter, "select_statement", lambda e: "SELECT hinted")


class Session:
    """A Spark Connect client with permanent tables default.o and d.o, and temporary ones."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *temporary: str, private: bool = False) -> None:
        self.spark: Any = Spark(is_connect=True)
        self.spark.other_tables.append("`sparks`")
        self.tables = create_tables(monkeypatch, self.spark, ApplicationTables("kafka_sql_1f" if private else None))
        for name in ("d.o",) if private else ("default.o", "d.o"):
            self.tables.create(declare(name))
        for name in temporary:
            self.tables.create(declare(name, "CREATE TEMPORARY TABLE"))

    def run(self, text: str, spark_sql: Any = lambda statement: statement) -> Any:
        return dispatch(self.spark, self.tables, text, spark_sql)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    return Session(monkeypatch)


@pytest.fixture
def private_session(monkeypatch: pytest.MonkeyPatch) -> Session:
    """Return a client whose table d.o is a temporary view, as on a server with other clients."""
    return Session(monkeypatch, private=True)


def return_plan(statement: str) -> Any:
    """Return a DataFrame whose only value is the statement."""
    return SimpleNamespace(collect=lambda: [(statement,)])


def test_explain_of_spark_statements(monkeypatch: pytest.MonkeyPatch, session: Session) -> None:
    monkeypatch.setattr(module.explain, "_explain_in_spark", lambda mode, statement, run: f"{mode}: {statement}")
    monkeypatch.setattr(module.explain, "dataframe", lambda spark, columns, rows: rows)
    for head in ("CREATE TABLE p AS", "INSERT INTO p"):
        explained = session.run(f"EXPLAIN COST {head} SELECT * FROM o {HINT} x")
        assert explained == [(f"COST: {head} SELECT * FROM (SELECT hinted) x",)]
        text = f"EXPLAIN {head} SELECT 1"
        assert session.run(text, return_plan) == [(text,)]


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
def test_statement_for_spark(session: Session, text: str, expected: str) -> None:
    assert session.run(text) == expected


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
def test_unsupported_statements(session: Session, text: str, error: type[KafkaSqlError], message: str) -> None:
    with pytest.raises(error, match=message):
        session.run(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CREATE TEMP VIEW o AS SELECT 1", "o"),
        ("CREATE OR REPLACE TEMPORARY VIEW o AS SELECT 1", "o"),
        ("CREATE OR REPLACE VIEW o AS SELECT 1", "default.o"),  # the permanent table, hidden by the temporary one
    ],
)
def test_views_beside_a_temporary_table(monkeypatch: pytest.MonkeyPatch, text: str, name: str) -> None:
    session = Session(monkeypatch, "o", "t")
    with pytest.raises(UnsupportedSqlError, match=f"Kafka table '{name}'"):
        session.run(text)
    assert session.run("CREATE OR REPLACE VIEW t AS SELECT 1") == "CREATE OR REPLACE VIEW t AS SELECT 1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a FROM o", "SELECT a FROM o"),
        ("SELECT 1.5 FROM o", "SELECT 1.5 FROM o"),
        (
            "WITH o AS (SELECT 1) SELECT d.o.a FROM d.o",
            "WITH o AS (SELECT 1) SELECT `o`.a FROM (SELECT hinted) AS `o`",
        ),
        ("SELECT * FROM default_catalog.d.o x", "SELECT * FROM (SELECT hinted) x"),
        ("INSERT INTO p SELECT * FROM d.o", "INSERT INTO p SELECT * FROM (SELECT hinted) AS `o`"),
        ("CREATE TABLE p AS SELECT * FROM d.o", "CREATE TABLE p AS SELECT * FROM (SELECT hinted) AS `o`"),
        ("CREATE TEMP VIEW v AS SELECT * FROM d.o", "CREATE TEMP VIEW v AS SELECT * FROM (SELECT hinted) AS `o`"),
        ("SELECT * FROM d.other", "SELECT * FROM d.other"),
    ],
)
def test_names_with_a_database_of_tables_that_are_temporary_views(
    private_session: Session, text: str, expected: str
) -> None:
    private_session.spark.temporary_views.append("o")  # its own
    assert private_session.run(text) == expected


def test_a_view_does_not_replace_a_table_that_is_a_temporary_view(private_session: Session) -> None:
    with pytest.raises(UnsupportedSqlError, match=r"CREATE VIEW is not supported for Kafka table 'd\.o'"):
        private_session.run("CREATE OR REPLACE TEMP VIEW o AS SELECT 1")


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
def test_drop_database(monkeypatch: pytest.MonkeyPatch, text: str, removed: list[tuple[str, str]]) -> None:
    session = Session(monkeypatch, "o")
    before = {entry.name for entry in session.tables}
    assert session.run(text) == text
    assert before - {entry.name for entry in session.tables} == set(removed)
