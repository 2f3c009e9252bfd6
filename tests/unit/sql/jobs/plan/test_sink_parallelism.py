"""Test that 'sink.parallelism' keeps the order of the changes of a row: one task writes all changes of a key."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.definition import validate_table
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.jobs.plan.sink_parallelism import repartition
from kafka_sql.table.declaration import Column, Table


class Rows(SimpleNamespace):
    """A DataFrame that returns the arguments of repartition()."""

    def repartition(self, *arguments: Any) -> Any:
        return arguments


def entry(key: tuple[str, ...] = ()) -> Any:
    options = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "h:1", "format": "debezium-json"}
    table = Table(("db", "t"), (Column("id", "INT", "INT"),), {**options, "sink.parallelism": "3"}, primary_key=key)
    return SimpleNamespace(definition=validate_table(table), table=table)


def test_changes_are_distributed_by_key() -> None:
    rows: Any = Rows(columns=["id"])
    changes: Any = Rows(columns=["id", "__row_kind"])
    assert repartition(entry(), rows) == (3,)  # type: ignore[comparison-overlap]
    assert repartition(entry(key=("id",)), changes) == (3, "`id`")  # type: ignore[comparison-overlap]
    with pytest.raises(UnsupportedSqlError, match=r"a primary key is required .* remove 'sink.parallelism'"):
        repartition(entry(), changes)
