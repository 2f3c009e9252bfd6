"""Test DESCRIBE, SHOW CREATE TABLE, EXPLAIN and errors as the terminal shows them, without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from kafka_sql.definition import validate_table
from kafka_sql.errors import OffsetError, StatementError, WorkerPythonError
from kafka_sql.sql import explain, show
from kafka_sql.sql.declarations.create import parse_create
from kafka_sql.sql.recognize.classify import Explain, classify
from kafka_sql.sql.spark_errors import error_message, unwrap_errors

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
    return SimpleNamespace(table=table, definition=validate_table(table))


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

    def find(self, name: tuple[str, ...]) -> Any:
        return SimpleNamespace(table=SimpleNamespace(temporary=True), name=("", "t")) if name == ("t",) else None

    def is_hidden_by_view(self, name: str) -> bool:
        return False


@pytest.mark.parametrize(
    "statement", ["DROP TABLE t", "ALTER TABLE t RENAME TO u", "CREATE TABLE u (a INT) WITH ('connector' = 'kafka')"]
)
def test_only_queries_and_inserts_are_explained(statement: str) -> None:
    def run(text: str) -> Any:
        return text

    explained = classify(f"EXPLAIN {statement}")
    assert isinstance(explained, Explain)
    tables: Any = Tables()
    with pytest.raises(StatementError, match="EXPLAIN supports only a query, an INSERT"):
        explain.explain(None, tables, explained, f"EXPLAIN {statement}", run)  # type: ignore[arg-type]
    other = classify("EXPLAIN DROP TABLE other")
    assert isinstance(other, Explain)
    assert explain.explain(None, tables, other, "EXPLAIN DROP TABLE other", run) == (  # type: ignore[arg-type]
        "EXPLAIN DROP TABLE other"
    )


def test_flinks_explain_syntax_is_translated_for_spark() -> None:
    statement = classify("EXPLAIN ESTIMATED_COST DROP TABLE other")
    assert isinstance(statement, Explain)
    text: Any = explain.explain(None, Tables(), statement, "", lambda text: text)  # type: ignore[arg-type,return-value]
    assert text == "EXPLAIN COST DROP TABLE other"


class JavaError(Py4JJavaError):
    """A Java exception that PySpark does not convert."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OffsetError("gone", topic="t"), "[OFFSET] gone"),
        (ValueError("boom"), "ValueError: boom"),
        (FileNotFoundError(2, "No such file", "f"), "[Errno 2] No such file: 'f'"),
        (PySparkException("[X] wrong\n  at org.apache.A(B.scala)\n at c"), "[X] wrong"),
        (PySparkException("[X] wrong\nJVM stacktrace:\nx"), "[X] wrong"),
        (
            PySparkException("failed\nkafka_sql.errors.DecodeError: [DECODE] t[0]@1: no JSON\n  at a.B(C)"),
            "[DECODE] t[0]@1: no JSON",
        ),
        (
            PySparkException("failed:\nTraceback (most recent call last):\n  File x\n    y\nKeyError: 'a'\n"),
            "failed:\nKeyError: 'a'",
        ),
        (
            JavaError("An error occurred while calling o1.a\n: java.io.IOException: full\n\tat a.B(C)"),
            "full",
        ),
    ],
)
def test_errors_are_shown_without_stack_traces(error: BaseException, message: str) -> None:
    assert error_message(error) == message


def test_a_missing_module_of_the_workers_is_explained() -> None:
    with (
        pytest.raises(WorkerPythonError, match="The Python of Spark's workers has no module 'pyarrow'"),
        unwrap_errors(),
    ):
        raise PySparkException("ModuleNotFoundError: No module named 'pyarrow'")


def test_other_errors_of_spark_stay() -> None:
    error = PySparkException("kafka_sql.errors.NoSuchError: [X] y")
    with pytest.raises(PySparkException) as raised, unwrap_errors():
        raise error
    assert raised.value is error
