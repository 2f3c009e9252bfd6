"""Which schemas a read of a table accepts."""

from __future__ import annotations

import pytest
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from kafka_sql.catalog.data_source import KafkaTable, make_data_source
from kafka_sql.definition import validate_table
from kafka_sql.errors import SchemaError
from kafka_sql.table.table import Column, Table

OPTIONS = {
    "connector": "kafka",
    "topic": "t",
    "properties.bootstrap.servers": "h:1",
    "properties.group.id": "g",
    "format": "json",
}
A, B = StructField("a", IntegerType()), StructField("b", StringType())


def make_table() -> KafkaTable:
    columns = (Column("a", "INT", "INT"), Column("b", "STRING", "STRING"))
    return make_data_source("kafka.t", validate_table(Table(("db", "t"), columns, OPTIONS)), StructType([A, B]))({})


def test_a_read_has_the_columns_of_the_table_in_any_order() -> None:
    table = make_table()
    for schema in (StructType([A, B]), StructType([B, StructField("a", IntegerType(), nullable=False)])):
        assert table.reader(schema)
        assert table.streamReader(schema)


@pytest.mark.parametrize(
    ("fields", "different"),
    [([A], "b"), ([A, B, StructField("c", IntegerType())], "c"), ([StructField("a", LongType()), B], "a")],
)
def test_a_read_with_another_schema_is_rejected(fields: list[StructField], different: str) -> None:
    table = make_table()
    for read in (table.reader, table.streamReader):
        with pytest.raises(SchemaError, match=f"'db.t': the read's schema .* in column '{different}'. Remove") as e:
            read(StructType(fields))
        assert (e.value.column, e.value.table) == (different, "db.t")
