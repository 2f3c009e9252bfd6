"""Test CREATE TABLE ... AS: it inserts into the created table, and removes it if the query fails."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.types import IntegerType, StructType

from kafka_sql.catalog.application_tables import ApplicationTables
from kafka_sql.catalog.tables import Tables
from kafka_sql.sql.statements import ddl
from tests.unit.catalog.fake_spark import OPTIONS, Spark, create_tables, declare

_CREATE = f"CREATE TABLE t WITH {OPTIONS} AS SELECT 1 AS a"


class Session:
    """A session with a temporary table t, which hides the created one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.spark: Any = Spark(is_connect=True)
        self.tables: Tables = create_tables(monkeypatch, self.spark, ApplicationTables())
        self.tables.create(declare("t", "CREATE TEMPORARY TABLE"))

    def create(self) -> Any:
        return ddl.create(self.spark, self.tables, _CREATE, self.run)

    @staticmethod
    def run(text: str) -> Any:
        return SimpleNamespace(schema=StructType().add("a", IntegerType()))

    @property
    def names(self) -> list[tuple[str, str]]:
        return [entry.name for entry in self.tables]


def test_as_inserts_into_the_created_table(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(monkeypatch)
    monkeypatch.setattr(ddl, "run_job", lambda spark, plan, run: plan)
    plan = session.create()
    assert plan.sink.name == ("default", "t")
    assert plan.text == "INSERT INTO `spark_catalog`.`default`.`t` BY NAME SELECT 1 AS a"
    assert session.names == [("", "t"), ("default", "t")]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_as_that_fails_removes_the_created_table(monkeypatch: pytest.MonkeyPatch, failure: type[BaseException]) -> None:
    session = Session(monkeypatch)

    def fail(*_: Any) -> None:
        assert session.names == [("", "t"), ("default", "t")]
        raise failure

    monkeypatch.setattr(ddl, "run_job", fail)
    with pytest.raises(failure):
        session.create()
    assert session.names == [("", "t")]
