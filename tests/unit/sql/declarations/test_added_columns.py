"""Test the columns of CREATE TABLE ... AS: the query's, and those that the statement declares."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DayTimeIntervalType,
    DecimalType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from kafka_sql.errors import SchemaError
from kafka_sql.sql.declarations.added_columns import add_query_columns, columns_from_schema
from kafka_sql.sql.declarations.create import to_table
from kafka_sql.sql.grammar.parser import parse_declaration

QUERY = StructType().add("a", IntegerType()).add("b", StringType()).add("c", LongType(), nullable=False)


def columns(declared: str = "", query: StructType = QUERY) -> list[tuple[str, str, bool]]:
    declaration = parse_declaration(f"CREATE TABLE t {declared} WITH ('connector' = 'kafka') AS SELECT 1")
    with_query_columns = add_query_columns(declaration, columns_from_schema(query, "The query"))
    return [(c.name, c.declared, c.nullable) for c in to_table(with_query_columns).columns]


def test_spark_types_become_flink_types() -> None:
    row = StructType().add("x`y", LongType(), nullable=False).add("z", StringType())
    query = (
        StructType()
        .add("d", DecimalType(12, 3))
        .add("l", ArrayType(StringType(), containsNull=False))
        .add("m", MapType(StringType(), LongType(), valueContainsNull=False))
        .add("r", row)
        .add("t", TimestampType())
        .add("n", TimestampNTZType())
        .add("b", BinaryType())
        .add("v", VarcharType(5))
    )
    assert columns(query=query) == [
        ("d", "DECIMAL(12, 3)", True),
        ("l", "ARRAY<STRING NOT NULL>", True),
        ("m", "MAP<STRING, BIGINT NOT NULL>", True),
        ("r", "ROW<`x``y` BIGINT NOT NULL, `z` STRING>", True),
        ("t", "TIMESTAMP_LTZ(6)", True),
        ("n", "TIMESTAMP(6)", True),
        ("b", "BYTES", True),
        ("v", "STRING", True),
    ]


def test_the_table_has_the_columns_of_the_query() -> None:
    assert columns() == [("a", "INT", True), ("b", "STRING", True), ("c", "BIGINT", False)]


def test_declared_columns_come_first_unless_the_query_has_them() -> None:
    declared = "(p INT METADATA FROM 'partition', b VARCHAR(9), twice AS a * 2)"
    assert [name for name, _, _ in columns(declared)] == ["p", "twice", "a", "b", "c"]
    assert ("b", "VARCHAR(9)", True) in columns(declared)


def test_a_list_of_names_reorders_the_querys_columns() -> None:
    assert columns("(c, a, b)") == [("c", "BIGINT", False), ("a", "INT", True), ("b", "STRING", True)]


DUPLICATE_COLUMN = StructType().add("a", IntegerType()).add("a", IntegerType())


@pytest.mark.parametrize(
    ("declared", "query", "message"),
    [
        ("(b AS 1)", QUERY, "Computed column 'b' is also a column of the query"),
        ("", DUPLICATE_COLUMN, "The query has more than one column 'a'. Rename them with AS."),
        ("(a, b)", QUERY, "the list has 2, the query 3 (a, b, c)"),
        ("(a, b, d)", QUERY, "Column 'd' not found in the source schema: a, b, c."),
        ("(a, b INT, c)", QUERY, "the column list mixes names without a type and columns with a type"),
        ("", StructType(), "The query has no columns."),
        (
            "",
            StructType().add("i", DayTimeIntervalType()),
            "The query, column 'i': type interval day to second has no equivalent in Flink. CAST it in the query.",
        ),
    ],
)
def test_columns_that_are_rejected(declared: str, query: StructType, message: str) -> None:
    with pytest.raises(SchemaError) as e:
        columns(declared, query)
    assert message in str(e.value)
