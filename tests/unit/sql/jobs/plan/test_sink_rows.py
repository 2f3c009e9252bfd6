"""Test how an INSERT's rows are assigned to columns and distributed over tasks, without Spark."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    StringType,
    StructType,
    TimestampType,
    TimeType,
)

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.catalog.data_source import data_source_class
from kafka_sql.definition import validate_table
from kafka_sql.errors import StatementError, UnsupportedSqlError
from kafka_sql.sql.jobs.plan.sink_rows import can_assign, repartition, repartition_query, target_columns
from kafka_sql.sql.recognize.classify import classify
from kafka_sql.sql.recognize.statement_types import Insert
from kafka_sql.table.table import Column, Table

INT, LONG, STRING, DATE, TIME = IntegerType(), LongType(), StringType(), DateType(), TimestampType()
ROW = StructType().add("a", INT)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (INT, INT, True),
        (INT, LONG, True),
        (LONG, INT, True),
        (NullType(), ROW, True),
        (INT, STRING, True),
        (ROW, STRING, False),
        (STRING, INT, False),
        (BooleanType(), INT, False),
        (INT, DATE, False),
        (DATE, INT, False),
        (DATE, TIME, True),
        (TimeType(3), TimeType(6), True),
        (TimeType(6), TimeType(3), False),
        (DATE, TimeType(6), False),
        (ArrayType(INT), ArrayType(LONG), True),
        (ArrayType(STRING), ArrayType(INT), False),
        (ArrayType(INT), INT, False),
        (MapType(STRING, INT), MapType(STRING, LONG), True),
        (MapType(STRING, STRING), MapType(STRING, INT), False),
        (MapType(STRING, INT), MapType(INT, INT), False),
        (ROW, StructType().add("b", LONG), True),
        (ROW, StructType().add("a", INT).add("b", INT), False),
        (ROW, StructType().add("a", DATE), False),
    ],
    ids=lambda value: value.simpleString() if isinstance(value, DataType) else None,
)
def test_assignable_types(source: DataType, target: DataType, expected: bool) -> None:
    assert can_assign(source, target) is expected


COLUMNS = (
    Column("id", "BIGINT", "BIGINT"),
    Column("Name", "STRING", "STRING"),
    Column("p", "INT", "INT", metadata="partition", virtual=True),
    Column("twice", None, "id * 2", expression="id * 2"),
)
KEY = {"value.format": "json", "key.format": "json", "key.fields": "id"}


def entry(**options: str) -> CatalogTable:
    return catalog_table(COLUMNS, {**KEY, **options})


def changes_entry(key: tuple[str, ...] = ()) -> CatalogTable:
    return catalog_table(COLUMNS[:1], {"format": "debezium-json", "sink.parallelism": "3"}, key)


def catalog_table(columns: tuple[Column, ...], options: dict[str, str], key: tuple[str, ...] = ()) -> CatalogTable:
    required = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "h:1"}
    definition = validate_table(Table(("db", "t"), columns, {**required, **options}, primary_key=key))
    source = data_source_class("kafka.db.t", definition, StructType([]))
    return CatalogTable(("db", "t"), definition, ("db", "t"), source)


class Rows:
    """A DataFrame that returns the arguments of repartition()."""

    def __init__(self, *columns: str) -> None:
        self.columns = list(columns)

    def repartition(self, *arguments: Any) -> Any:
        return arguments


def insert(text: str) -> Insert:
    statement = classify(text)
    assert isinstance(statement, Insert)
    return statement


def test_target_columns_are_those_that_can_be_written() -> None:
    assert [c.name for c in target_columns(entry(), insert("INSERT INTO t SELECT 1, 2"))] == ["id", "Name"]
    assert [c.name for c in target_columns(entry(), insert("INSERT INTO t (NAME, id) SELECT 1, 2"))] == ["Name", "id"]
    for name in ("p", "twice", "other"):
        with pytest.raises(StatementError, match=rf"Table 'db.t' has no writable column '{name}'. .*: id, Name \("):
            target_columns(entry(), insert(f"INSERT INTO t ({name}) SELECT 1"))


def test_rows_are_distributed_by_the_written_columns_of_the_key() -> None:
    parallel = entry(**{"sink.parallelism": "3"})
    assert repartition_query(entry(), "SELECT 1", ["id"]) == "SELECT 1"
    assert repartition_query(parallel, "SELECT 1, 2", ["Name", "id"]) == (
        "SELECT /*+ REPARTITION(3, `id`) */ * FROM (\nSELECT 1, 2\n) AS query (`Name`, `id`)"
    )
    assert repartition_query(parallel, "SELECT 1", ["Name"]) == (
        "SELECT /*+ REPARTITION(3) */ * FROM (\nSELECT 1\n) AS query (`Name`)"
    )
    assert repartition_query(parallel, "SELECT 1 AS id", None) == (
        "SELECT /*+ REPARTITION(3, `id`) */ * FROM (\nSELECT 1 AS id\n)"
    )


def test_streams_are_distributed_in_the_same_way() -> None:
    rows: Any = Rows("id", "Name")
    assert repartition(entry(), rows) is rows
    assert repartition(entry(**{"sink.parallelism": "3"}), rows) == (3, "`id`")


def test_one_task_writes_all_changes_of_a_key() -> None:
    rows: Any = Rows("id")
    changes: Any = Rows("id", "__row_kind")
    assert repartition(changes_entry(), rows) == (3,)
    assert repartition(changes_entry(key=("id",)), changes) == (3, "`id`")
    with pytest.raises(UnsupportedSqlError, match=r"a primary key is required, .* remove 'sink.parallelism'"):
        repartition(changes_entry(), changes)
