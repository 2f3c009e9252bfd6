"""What DESCRIBE, SHOW TABLES and SHOW CREATE TABLE print of the session's tables."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafka_sql.catalog.tables import Entry, Tables
from kafka_sql.sql.render import show_create
from kafka_sql.table import Column


def describe(spark: SparkSession, entry: Entry) -> DataFrame:
    """A row a column, as Flink describes a table: name, type, null, key, extras, watermark, comment."""
    table = entry.table
    mark = table.watermark
    rows = [
        (
            column.name,
            _type(spark, entry, column),
            column.nullable,
            f"PRI({', '.join(table.primary_key)})" if column.name in table.primary_key else None,
            _extras(column),
            mark.declared if mark and mark.column == column.name else None,
            column.comment,
        )
        for column in table.columns
    ]
    names = "name string, type string, `null` boolean, key string, extras string, watermark string, comment string"
    return spark.createDataFrame(rows, names)


def _type(spark: SparkSession, entry: Entry, column: Column) -> str:
    """The type as declared; of a computed column, as Spark sees it."""
    if column.expression is None:
        return column.declared
    return spark.table(".".join(entry.table.name)).schema[column.name].dataType.simpleString().upper()


def _extras(column: Column) -> str | None:
    if column.expression is not None:
        return f"AS {column.declared}"
    if column.metadata is None:
        return None
    return f"METADATA FROM '{column.metadata}'" + (" VIRTUAL" if column.virtual else "")


def show_tables(tables: Tables, listing: DataFrame) -> DataFrame:
    """Spark's own listing without the data sources that stand behind views."""
    hidden = tables.hidden()
    return listing.where(~F.col("tableName").isin(*hidden)) if hidden else listing


def show_create_table(spark: SparkSession, entry: Entry) -> DataFrame:
    """The statement that declares the table; secrets are masked."""
    return spark.createDataFrame([(show_create(entry.table),)], "createtab_stmt string")
