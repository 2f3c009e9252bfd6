"""Test which tables ``spark.readStream.table()`` reads as Kafka tables, without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_sql.catalog.application_tables import ApplicationTables
from kafka_sql.sql.session import spark_methods
from tests.unit.catalog.fake_spark import Spark, create_tables, declare


@pytest.mark.parametrize(
    ("name", "hidden", "expected"),
    [
        ("o", [], "stream of default.o"),
        ("o", ["o"], None),
        ("`d`.`o`", [], "stream of d.o"),
        ("default_catalog.d.o", [], "stream of d.o"),
        ("`d.o`", [], None),
        ("d.o x", [], None),
    ],
)
def test_read_stream(monkeypatch: pytest.MonkeyPatch, name: str, hidden: list[str], expected: str | None) -> None:
    spark: Any = Spark(is_connect=True)
    tables = create_tables(monkeypatch, spark, ApplicationTables())
    for table in ("default.o", "d.o"):
        tables.create(declare(table))
    spark.temporary_views += hidden
    monkeypatch.setattr(spark_methods, "stream_query", lambda _, e: f"stream of {e.definition.name}")
    rows = spark_methods.read_stream(tables, spark, name)
    assert (None if rows is None else spark.statements[-1]) == expected
