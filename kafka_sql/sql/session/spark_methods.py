"""Return Kafka tables from Spark's own methods: ``readStream.table()``, ``catalog.listTables()``, ``getTable()``."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.catalog import Table

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.catalog.static_tables import install_refresh_strategy
from kafka_sql.catalog.tables import Tables
from kafka_sql.options import connector as opt
from kafka_sql.spark.context import is_connect
from kafka_sql.spark.session_catalog import SESSION_CATALOG
from kafka_sql.sql.jobs.micro_batch.bounded import stop_queries_at_end
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.names import resolve_table
from kafka_sql.sql.recognize.token_cursor import TokenCursor
from kafka_sql.sql.rewrite.stream_query import stream_query

_TABLE_TYPE: Final = "MANAGED"  # of a table of a Python data source


def read_stream(tables: Tables, spark: SparkSession, name: str) -> DataFrame | None:
    """Read a table as a stream; return None if it is not a Kafka table.

    Only the options of the table's declaration apply; those of the reader, ``readStream.option(k, v)``, have no effect.
    """
    tables.refresh()
    cursor = TokenCursor(lexer.tokenize_spark(name))
    parts = cursor.take_name()
    entry = resolve_table(tables, parts) if parts and cursor.peek() is None else None
    if entry is None:
        return None
    if entry.definition.options[opt.BOUNDED_MODE] != opt.UNBOUNDED and not is_connect(spark):
        stop_queries_at_end(spark)
    install_refresh_strategy(spark)
    return tables.spark_sql(stream_query(tables, entry))


def show_as_declared(tables: Tables, listed: list[Table]) -> list[Table]:
    """Return the tables to list in place of those of Spark's catalog.

    A Kafka table may be a view over a hidden table. It is shown as a table, and the hidden one is not listed.
    """
    tables.refresh()
    internal_names = tables.internal_names()
    return [_show(tables, table) for table in listed if table.name not in internal_names]


def _show(tables: Tables, table: Table) -> Table:
    """Return an entry of the listing. A Kafka table that is a view in Spark's catalog is shown as a table."""
    entry = _find(tables, table)
    if entry is None or not entry.is_view:
        return table
    if entry.table.temporary:
        return table._replace(description=entry.table.comment)
    return table._replace(
        catalog=SESSION_CATALOG,
        namespace=[entry.name[0]],
        description=entry.table.comment,
        tableType=_TABLE_TYPE,
        isTemporary=False,
    )


def _find(tables: Tables, table: Table) -> CatalogTable | None:
    """Return the Kafka table that Spark's catalog lists under a view's name, or None."""
    database = "" if table.isTemporary else (table.namespace or [""])[0]
    return next((e for e in tables if e.is_view and e.view_name == (database, table.name.lower())), None)
