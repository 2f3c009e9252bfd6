"""Execute DESCRIBE, and SHOW of tables, views, columns, CREATE statements, and the current catalog and database."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafka_sql.catalog.catalog_table import CatalogTable, quoted_name
from kafka_sql.catalog.sql_literals import qualified_name, quote, string_literal
from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import TableNotFoundError
from kafka_sql.options import builtin_connectors, dynamic
from kafka_sql.options import connector as opt
from kafka_sql.options.secrets import mask_value
from kafka_sql.sql.dataframes import SparkSql, dataframe
from kafka_sql.sql.declarations.render import quote_string, render_masked
from kafka_sql.sql.recognize.names import strip_catalog
from kafka_sql.sql.recognize.statement_types import ShowColumns, ShowTables
from kafka_sql.sql.rewrite.views import find_view
from kafka_sql.table.table import Column

_SERVERS: Final = f"{opt.PROPERTIES_PREFIX}bootstrap.servers"
_DESCRIBE_COLUMNS: Final = ("name", "type", "null", "key", "extras", "watermark", "comment")


def describe(spark: SparkSession, entry: CatalogTable) -> DataFrame:
    """Return one row per column, as Flink does: name, type, null, key, extras, watermark, comment."""
    return _describe_dataframe(spark, _describe_rows(spark, entry))


def _describe_dataframe(spark: SparkSession, rows: list[tuple[Any, ...]]) -> DataFrame:
    columns = {name: pa.bool_() if name == "null" else pa.string() for name in _DESCRIBE_COLUMNS}
    return dataframe(spark, columns, rows)


def describe_extended(spark: SparkSession, entry: CatalogTable) -> DataFrame:
    """Return the rows of DESCRIBE, and then a row for each of the table's main options, with default values.

    SHOW CREATE TABLE has all of the options that are set.
    """
    typed, options = entry.definition.options, entry.table.options
    values = {
        "connector": typed[opt.CONNECTOR],
        "streams": options.get(dynamic.STREAM_IDS.key),
        "stream pattern": options.get(dynamic.STREAM_PATTERN.key),
        "metadata service": options.get(dynamic.METADATA_SERVICE.key),
        "topic": options.get(opt.TOPIC.key),
        "topic pattern": options.get(opt.TOPIC_PATTERN.key),
        "brokers": options.get(_SERVERS),
        "format": options.get(opt.FORMAT.key) or options.get(opt.VALUE_FORMAT.key),
        "key format": options.get(opt.KEY_FORMAT.key),
        "startup mode": typed.get(opt.STARTUP_MODE),
        "bounded mode": typed[opt.BOUNDED_MODE],
    }
    if options.get(opt.CONNECTOR.key) in builtin_connectors.CONNECTORS:  # without a topic
        values = {"connector": options[opt.CONNECTOR.key]}
    details = [(name, mask_value(_SERVERS, str(value))) for name, value in values.items() if value is not None]
    rows = [("", ""), ("# Kafka table", entry.definition.name), *details]
    unused = (None,) * (len(_DESCRIBE_COLUMNS) - 2)
    return _describe_dataframe(spark, [*_describe_rows(spark, entry), *((*row, *unused) for row in rows)])


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


def show_tables(tables: Tables, statement: ShowTables, text: str, spark_sql: SparkSql) -> DataFrame:
    """Return Spark's listing without the data sources behind views and without views of streams.

    A pattern with ``%`` and NOT LIKE are Flink's (SQL's LIKE); other patterns are Spark's, with ``*`` and ``|``.
    """
    is_flink_syntax = statement.like is not None and ("%" in statement.like or statement.negated)
    if is_flink_syntax or statement.full:
        database = qualified_name(statement.database or ())
        text = f"SHOW TABLES IN {database}" if database else "SHOW TABLES"
    listing = spark_sql(text)
    if is_flink_syntax:
        matches = F.col("tableName").like(statement.like or "")
        listing = listing.where(~matches if statement.negated else matches)
    internal_names = tables.internal_names()
    if internal_names:
        listing = listing.where(~F.col("tableName").isin(*internal_names))
    return _with_table_type(tables, statement, listing) if statement.full else listing


def show_views(tables: Tables, text: str, spark_sql: SparkSql) -> DataFrame:
    """Return Spark's listing without views of streams and Kafka tables that are views in Spark's catalog."""
    listing = spark_sql(text)
    names = {(entry.view_name[0], entry.name[1]) for entry in tables if entry.is_view}
    names |= {("", name) for name in tables.internal_names()}
    hidden = F.lit(False)
    for database, name in sorted(names):
        hidden |= (F.col("viewName") == name) & (F.col("namespace") == database)
    return listing.where(~hidden) if names else listing


def _with_table_type(tables: Tables, statement: ShowTables, listing: DataFrame) -> DataFrame:
    """Add Flink's column ``table type``: TABLE or VIEW; a Kafka table with computed columns is a TABLE."""
    database = f" IN {qualified_name(statement.database)}" if statement.database else ""
    views = {(v.namespace, v.viewName) for v in tables.spark_sql(f"SHOW VIEWS{database}").collect()}
    names = [name for name in views if tables.find(tuple(filter(None, name))) is None]
    is_view = F.lit(False)
    for namespace, view in names:
        is_view = is_view | ((F.col("namespace") == namespace) & (F.col("tableName") == view))
    return listing.withColumn("table type", F.when(is_view, F.lit("VIEW")).otherwise(F.lit("TABLE")))


def show_current(tables: Tables, is_catalog: bool) -> DataFrame:
    """Return the current catalog or database, in Flink's column."""
    function, column = ("current_catalog", "catalog") if is_catalog else ("current_database", "database")
    return tables.spark_sql(f"SELECT {function}() AS `current {column} name`")


def show_create_view(spark: SparkSession, tables: Tables, name: tuple[str, ...]) -> DataFrame:
    """Return the statement that creates a view.

    Raises:
        TableNotFoundError: there is no view of this name that was created with SQL.
    """
    if len(name) == 1 and tables.is_hidden_by_view(name[0]):  # Spark's SHOW CREATE TABLE rejects temporary views
        view = find_view(tables, name)
        if view is not None:
            columns = _show_columns(tables, name[0])
            statement = f"CREATE TEMPORARY VIEW {quote(name[0])}{columns} AS {_show_hints(tables, view.text)}"
            return dataframe(spark, {"result": pa.string()}, [(statement,)])
        raise TableNotFoundError(
            f"SHOW CREATE VIEW: temporary view '{name[0]}' has no SQL text: it was created from a DataFrame.",
            table=name[0],
        )
    created = tables.spark_sql(f"SHOW CREATE TABLE {qualified_name(strip_catalog(name))}").collect()
    return dataframe(spark, {"result": pa.string()}, [(_show_hints(tables, row.createtab_stmt),) for row in created])


def _show_columns(tables: Tables, view: str) -> str:
    """Return the column list of a temporary view; no text if a table of the view is missing."""
    try:
        fields = tables.spark_sql(f"SELECT * FROM {quote(view)} LIMIT 0").schema.fields
    except AnalysisException:
        return ""
    comments = [f" COMMENT {string_literal(c)}" if (c := f.metadata.get("comment")) else "" for f in fields]
    return f" ({', '.join(quote(f.name) + comment for f, comment in zip(fields, comments, strict=True))})"


def _show_hints(tables: Tables, text: str) -> str:
    """Return a view's text with the OPTIONS hints in place of the hidden tables that it reads; secrets are masked."""
    for derived, base, options in tables.hints_of_views():
        hint = ", ".join(f"{quote_string(k)} = {quote_string(mask_value(k, v))}" for k, v in options.items())
        text = text.replace(quoted_name(derived.view_name), f"{quoted_name(base.view_name)} /*+ OPTIONS({hint}) */")
    return text


def show_create_table(spark: SparkSession, entry: CatalogTable) -> DataFrame:
    """Return the table's CREATE TABLE statement; secrets are masked."""
    return dataframe(spark, {"createtab_stmt": pa.string()}, [(render_masked(entry.table),)])
