"""Computed columns call functions of the session; with an option, the others are Spark's expressions."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

import pytest

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.declarations.create import parse_create
from kafka_sql.sql.expressions.computed import SparkExpressions
from kafka_sql.sql.expressions.typed import UntranslatableError
from kafka_sql.sql.grammar.types import FlinkType

OPTIONS = "'connector' = 'kafka'"
FALLBACK = f"{OPTIONS}, 'computed-columns.fallback' = 'spark'"


def type_of(sql: str, column_types: Mapping[str, FlinkType]) -> FlinkType:
    """Return INT for calls and a time for ``now``; raise for others."""
    assert list(column_types) == ["i", "s"]
    if "fails" in sql:
        raise UntranslatableError(f"Spark cannot evaluate {sql}")
    return FlinkType("TIMESTAMP_LTZ", (6,)) if "timestamp" in sql else FlinkType("INT")


SESSION = SparkExpressions(lambda name: f"`{name.lower()}`" if name.startswith("MY_") else None, type_of)


def translate(expression: str, options: str = OPTIONS, spark: SparkExpressions | None = SESSION) -> str | None:
    table = parse_create(f"CREATE TABLE t (i INT, s STRING, c AS {expression}) WITH ({options})", spark)
    return table.columns[-1].expression


@pytest.mark.parametrize(
    ("flink", "spark"),
    [
        ("my_f(i, UPPER(s))", "`my_f`(`i`, upper(`s`))"),
        ("my_f() / 2", "CAST((`my_f`() div 2) AS INT)"),  # its type is known
        ("my_f(i) IS NULL", "(`my_f`(`i`) IS NULL)"),
    ],
)
def test_functions_of_the_session(flink: str, spark: str) -> None:
    assert translate(flink) == translate(flink, FALLBACK) == spark


@pytest.mark.parametrize(
    ("flink", "message"),
    [
        ("my_fails(i)", "Computed column 'c': Spark cannot evaluate `my_fails`(`i`)."),
        ("UPER(s)", "function UPER is not supported. Did you mean 'UPPER'?"),
        ("levenshtein(s, 'x')", "function LEVENSHTEIN is not supported."),
        ("my_f(i) || s", "CONCAT requires strings, but got INT"),
    ],
)
def test_rejected(flink: str, message: str) -> None:
    with pytest.raises(UnsupportedSqlError) as e:
        translate(flink)
    assert message in str(e.value)


def test_functions_without_a_session() -> None:
    with pytest.raises(UnsupportedSqlError, match="function MY_F is not supported"):
        translate("my_f(i)", spark=None)


def test_fallback(caplog: pytest.LogCaptureFixture) -> None:
    assert translate("i / 2", FALLBACK) == "CAST((`i` div 2) AS INT)"  # Flink's if possible
    caplog.clear()
    name = f"c_{uuid.uuid4().hex}"
    create = f"CREATE TABLE t (i INT, s STRING, {name} AS levenshtein(s, 'a''b\\c') / 2) WITH ({FALLBACK})"
    for _ in range(2):
        assert (
            parse_create(create, SESSION).columns[-1].expression
            == "(levenshtein(s, CAST(unhex('6127625C63') AS STRING)) / 2)"
        )
    assert [record.getMessage() for record in caplog.records] == [
        f"Computed column '{name}' is Spark's expression, with Spark's values, as 'computed-columns.fallback' = "
        "'spark' allows. Flink's is not available: function LEVENSHTEIN is not supported."
    ]
    with pytest.raises(UnsupportedSqlError, match=r"FAILS is not supported.*As Spark's expression: Spark cannot"):
        translate("fails(i)", FALLBACK)
    with pytest.raises(UnsupportedSqlError, match=r"'\$' starts a variable"):
        translate("fails(s) || `${env:HOME}`", FALLBACK)


def test_watermark_of_fallback() -> None:
    table = parse_create(
        "CREATE TABLE t (i INT, s STRING, ts AS make_timestamp(i), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) "
        f"WITH ({FALLBACK})",
        SESSION,
    )
    assert table.watermark is not None
    assert table.watermark.has_time_zone
