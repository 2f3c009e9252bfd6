"""Warnings of functions that have other results in Flink: once per statement over Kafka tables, and in no other one."""

from __future__ import annotations

import logging
import re
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.catalog.application_tables import ApplicationTables
from kafka_sql.sql import dispatch as module
from kafka_sql.sql.dispatch import dispatch
from kafka_sql.sql.function_differences import describe, differences, find_differences
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.rewrite import views
from tests.unit.catalog.fake_spark import Spark, create_tables, declare


def found(text: str) -> list[str]:
    return [difference.call for difference in find_differences(QueryText(text))]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT a / 2, b / c, d[1] FROM t", ["/", "["]),
        ("SELECT a / 2.0, m['k'], 'x/y[1]', `a/b`, date '2024-01-01' -- a / b\n FROM t /* a[1] */", []),
        ("SELECT first_value(x), FIRST_VALUE ( y ) FROM t", ["FIRST_VALUE"]),
        ("SELECT first_value, f.first_value(x), 'first_value(x)' FROM t", []),
        ("SELECT REGEXP_EXTRACT(LISTAGG(a), 'b') FROM t", ["REGEXP_EXTRACT", "LISTAGG"]),
        (r"SELECT x RLIKE '\\d', r'\d' FROM t", ["'\\'"]),
        (r"SELECT r'\d', `a\b` FROM t", []),
    ],
)
def test_names_of_functions_and_operators(text: str, names: list[str]) -> None:
    assert list(dict.fromkeys(d.name for d in find_differences(QueryText(text)))) == names


def test_arguments() -> None:
    assert found("SELECT LISTAGG(x) FROM t") == ["LISTAGG(a)"]
    assert found("SELECT LISTAGG(x, ',') FROM t") == []
    assert found("SELECT greatest(x, y), GREATEST(x, f(y, z), z, 1) FROM t") == [
        "GREATEST(a, b)",
        "GREATEST(a, b, c, ...)",
    ]
    assert found("SELECT CAST(x AS INT), CAST(x AS BIGINT) FROM t") == []
    assert found("SELECT CAST(x AS INT), CAST(x AS string) FROM t") == ["CAST(a AS STRING)"]


def test_rows_of_the_table() -> None:
    rows = [difference for of_name in differences().values() for difference in of_name]
    assert len({difference.call for difference in rows}) == len(rows) > 20
    for difference in rows:
        assert re.fullmatch(r"[A-Z-].*\.", difference.difference), difference
        assert difference in find_differences(QueryText(f"SELECT {difference.example} FROM t")), difference
        assert difference.flink != difference.spark, difference


class Session:
    """A session with the Kafka table o, the tables of Spark s and p, and the views v over o and w over v."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
        self.spark: Any = Spark(is_connect=True)
        self.spark.other_tables += ["`s`", "`p`", "`v`", "`w`"]
        self.tables = create_tables(monkeypatch, self.spark, ApplicationTables(None))
        self.tables.create(declare("default.o"))
        self._log = caplog
        texts = {"v": "SELECT listagg(a) AS a FROM o", "w": "SELECT * FROM v"}
        monkeypatch.setattr(
            "kafka_sql.sql.function_differences.find_view",
            lambda tables, name: views.ViewDefinition(texts[name[-1]], None) if name[-1] in texts else None,
        )
        for planned in ("plan_insert", "run_job", "rewrite_ctas"):
            monkeypatch.setattr(module, planned, lambda *_: None)
        monkeypatch.setattr(module, "statement_sets", SimpleNamespace(execute=lambda *_: None))
        monkeypatch.setattr(module.explain, "explain", lambda *_: None)

    def warnings(self, text: str) -> list[str]:
        """Execute a statement, and return the functions and operators that the log names."""
        self._log.clear()
        with self._log.at_level(logging.WARNING, "kafka_sql.sql.function_differences"):
            dispatch(self.spark, self.tables, text, lambda statement: statement)
        records = [r for r in self._log.records if r.name == "kafka_sql.sql.function_differences"]
        return [record.getMessage().partition(" is Spark's here")[0] for record in records]


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Session:
    return Session(monkeypatch, caplog)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT listagg(a), listagg(b) FROM o",
        "EXECUTE SELECT listagg(a) FROM o",
        "INSERT INTO s SELECT listagg(a) FROM o",
        "INSERT INTO o SELECT listagg(a) FROM s",
        "EXECUTE STATEMENT SET BEGIN INSERT INTO s SELECT listagg(a) FROM o; INSERT INTO s SELECT a FROM o; END",
        "CREATE TEMPORARY VIEW x AS SELECT listagg(a) FROM o",
        "WITH c AS (SELECT * FROM o) SELECT listagg(a) FROM c",
        "SELECT listagg(a) FROM w",
    ],
)
def test_one_warning_per_statement(session: Session, text: str) -> None:
    assert session.warnings(text) == ["LISTAGG(a)"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT listagg(a) FROM s JOIN p",  # not a Kafka table
        "INSERT INTO s SELECT listagg(a) FROM p",
        "SELECT a FROM v",  # the function is in the view
        "SELECT a, listagg FROM o",
        "EXPLAIN SELECT listagg(a) FROM o",  # starts nothing
    ],
)
def test_no_warning(session: Session, text: str) -> None:
    assert session.warnings(text) == []


def test_the_warning_can_be_switched_off(session: Session) -> None:
    settings = {"table.function-differences": "IGNORE"}
    session.spark.conf = SimpleNamespace(get=lambda key, default=None: settings.get(key, default))
    assert session.warnings("SELECT listagg(a) FROM o") == []


def test_text_of_the_warning() -> None:
    (difference,) = find_differences(QueryText("SELECT LISTAGG(x) FROM t"))
    assert describe(difference) == (
        "LISTAGG(a) is Spark's here, with other results than in Flink. The separator is a comma in Flink, and empty in "
        "Spark. For Flink's result, write LISTAGG(a, ',')."
    )
