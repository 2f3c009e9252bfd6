"""Test DESCRIBE, SHOW CREATE TABLE and EXPLAIN, without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.definition import validate_table
from kafka_sql.errors import StatementError
from kafka_sql.sql.declarations.create import parse_create
from kafka_sql.sql.recognize.classify import classify
from kafka_sql.sql.recognize.statement_types import Explain
from kafka_sql.sql.statements import explain, show

CREATE = """CREATE TABLE t (
  id BIGINT NOT NULL COMMENT 'the id', p INT METADATA FROM 'partition' VIRTUAL, h MAP<STRING, BYTES> METADATA FROM
  'headers', ts TIMESTAMP(3), twice AS id * 2, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,
  PRIMARY KEY (id) NOT ENFORCED
) WITH ('connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'h:1', 'format' = 'debezium-json',
  'properties.ssl.key.password' = 'hunter2')"""


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(
        show, "dataframe", lambda spark, columns, rows: [dict(zip(columns, r, strict=True)) for r in rows]
    )
    table = parse_create(CREATE)
    return SimpleNamespace(table=table, definition=validate_table(table), view_name=("default", "t"))


def test_describe_has_flinks_columns(entry: Any) -> None:
    data_type = SimpleNamespace(dataType=SimpleNamespace(simpleString=lambda: "bigint"))
    spark: Any = SimpleNamespace(table=lambda name: SimpleNamespace(schema={"twice": data_type}))
    rows: Any = show.describe(spark, entry)
    assert [tuple(row.values()) for row in rows] == [
        ("id", "BIGINT", False, "PRI(id)", None, None, "the id"),
        ("p", "INT", True, None, "METADATA FROM 'partition' VIRTUAL", None, None),
        ("h", "MAP<STRING, BYTES>", True, None, "METADATA FROM 'headers'", None, None),
        ("ts", "TIMESTAMP(3)", True, None, None, "ts - INTERVAL '5' SECOND", None),
        ("twice", "BIGINT", True, None, "AS id * 2", None, None),
    ]


def test_show_create_table_masks_secrets(entry: Any) -> None:
    rows: Any = show.show_create_table(None, entry)  # type: ignore[arg-type]
    (statement,) = (row["createtab_stmt"] for row in rows)
    assert "hunter2" not in statement
    assert "'properties.ssl.key.password' = '******'" in statement


class Tables:
    """One Kafka table, t."""

    are_private = False

    def find(self, name: tuple[str, ...]) -> Any:
        table = SimpleNamespace(temporary=True)
        return SimpleNamespace(table=table, name=("", "t"), is_temporary_view=True) if name == ("t",) else None

    def is_hidden_by_view(self, name: str) -> bool:
        return False


def return_text(statement: str) -> Any:
    """Return the statement that Spark would run."""
    return statement


@pytest.mark.parametrize(
    "statement", ["DROP TABLE t", "ALTER TABLE t RENAME TO u", "CREATE TABLE u (a INT) WITH ('connector' = 'kafka')"]
)
def test_only_queries_and_inserts_are_explained(statement: str) -> None:
    explained = classify(f"EXPLAIN {statement}")
    assert isinstance(explained, Explain)
    tables: Any = Tables()
    with pytest.raises(StatementError, match="EXPLAIN supports only a query, an INSERT"):
        explain.explain(None, tables, explained, f"EXPLAIN {statement}", return_text)  # type: ignore[arg-type]


def return_plan(statement: str) -> Any:
    """Return a DataFrame whose only value is the statement."""
    return SimpleNamespace(collect=lambda: [(statement,)])


def test_explain_of_spark_tables_is_passed_to_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "dataframe", lambda spark, columns, rows: rows)
    explained = classify("EXPLAIN DROP TABLE other")
    assert isinstance(explained, Explain)
    text: Any = explain.explain(None, Tables(), explained, "EXPLAIN DROP TABLE other", return_plan)  # type: ignore[arg-type]
    assert text == [("EXPLAIN DROP TABLE other",)]


def test_flinks_explain_syntax_is_translated_for_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "dataframe", lambda spark, columns, rows: rows)
    statement = classify("EXPLAIN ESTIMATED_COST DROP TABLE other")
    assert isinstance(statement, Explain)
    text: Any = explain.explain(None, Tables(), statement, "", return_plan)  # type: ignore[arg-type]
    assert text == [("EXPLAIN COST DROP TABLE other",)]
