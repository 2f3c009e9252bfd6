"""Execute DESCRIBE, SHOW COLUMNS, SHOW TABLES and SHOW CREATE TABLE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafka_sql.catalog.catalog_table import quoted_name
from kafka_sql.catalog.sql_literals import qualified_name
from kafka_sql.catalog.tables import CatalogTable, Tables
from kafka_sql.sql.dataframes import dataframe
from kafka_sql.sql.declarations.render import render_masked
from kafka_sql.sql.recognize.statement_types import ShowColumns, ShowTables
from kafka_sql.table.declaration import Column

_DESCRIBE_COLUMNS = ("name", "type", "null", "key", "extras", "watermark", "comment")


def describe(spark: SparkSession, entry: CatalogTable) -> DataFrame:
    """Return one row per column, as Flink does: name, type, null, key, extras, watermark, comment."""
    return dataframe(
        spark,
        {name: pa.bool_() if name == "null" else pa.string() for name in _DESCRIBE_COLUMNS},
        _describe_rows(spark, entry),
    )


def show_columns(spark: SparkSession, entry: CatalogTable, statement: ShowColumns) -> DataFrame:
    """Return one row per column whose name matches, as Flink does: those of DESCRIBE without the comment."""
    columns = describe(spark, entry).drop("comment")
    if statement.like is None:
        return columns
    matches = F.col("name").like(statement.like)
    return columns.where(~matches if statement.negated else matches)


def _describe_rows(spark: SparkSession, entry: CatalogTable) -> list[tuple[Any, ...]]:
    table = entry.table
    watermark = table.watermark
    return [
        (
            column.name,
            _column_type(spark, entry, column),
            column.nullable,
            f"PRI({', '.join(table.primary_key)})" if column.name in table.primary_key else None,
            _column_extras(column),
            watermark.declared if watermark and watermark.column == column.name else None,
            column.comment,
        )
        for column in table.columns
    ]


def _column_type(spark: SparkSession, entry: CatalogTable, column: Column) -> str:
    """Return the type as declared; for a computed column, Spark's type of the expression."""
    if column.expression is None:
        return column.declared
    return spark.table(quoted_name(entry.view_name)).schema[column.name].dataType.simpleString().upper()


def _column_extras(column: Column) -> str | None:
    if column.expression is not None:
        return f"AS {column.declared}"
    if column.metadata is None:
        return None
    return f"METADATA FROM '{column.metadata}'" + (" VIRTUAL" if column.virtual else "")


def show_tables(tables: Tables, statement: ShowTables, text: str, run: Callable[[str], DataFrame]) -> DataFrame:
    """Return Spark's listing without the data sources behind views, and without the views of streams.

    A pattern with ``%`` and NOT LIKE are Flink's (SQL's LIKE); other patterns are Spark's, with ``*`` and ``|``.
    """
    is_flink_syntax = statement.like is not None and ("%" in statement.like or statement.negated)
    if is_flink_syntax or statement.full:
        database = qualified_name(statement.database or ())
        text = f"SHOW TABLES IN {database}" if database else "SHOW TABLES"
    listing = run(text)
    if is_flink_syntax:
        matches = F.col("tableName").like(statement.like or "")
        listing = listing.where(~matches if statement.negated else matches)
    internal_names = tables.internal_names()
    if internal_names:
        listing = listing.where(~F.col("tableName").isin(*internal_names))
    return _with_table_type(tables, statement, listing) if statement.full else listing


def _with_table_type(tables: Tables, statement: ShowTables, listing: DataFrame) -> DataFrame:
    """Add Flink's column ``table type``: TABLE or VIEW; a Kafka table with computed columns is a TABLE."""
    database = f" IN {qualified_name(statement.database)}" if statement.database else ""
    views = {(v.namespace, v.viewName) for v in tables.spark_sql(f"SHOW VIEWS{database}").collect()}
    names = [name for name in views if tables.find(tuple(filter(None, name))) is None]
    is_view = F.lit(False)
    for namespace, view in names:
        is_view = is_view | ((F.col("namespace") == namespace) & (F.col("tableName") == view))
    return listing.withColumn("table type", F.when(is_view, F.lit("VIEW")).otherwise(F.lit("TABLE")))


def show_create_table(spark: SparkSession, entry: CatalogTable) -> DataFrame:
    """Return the table's CREATE TABLE statement; secrets are masked."""
    return dataframe(spark, {"createtab_stmt": pa.string()}, [(render_masked(entry.table),)])
