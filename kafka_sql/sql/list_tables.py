"""Make ``spark.catalog.listTables()`` and ``getTable()`` show Kafka tables as declared."""

from __future__ import annotations

import functools
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.catalog import Table

from kafka_sql.catalog.tables import CatalogTable, Tables

_TABLE_TYPE: Final = "MANAGED"  # of a table of a Python data source


def patch_catalog(spark: SparkSession, tables: Tables) -> None:
    """Patch the session's catalog, which Spark keeps for the session.

    A Kafka table may be a view over a hidden table. It is shown as a table, and the hidden one is not listed.
    """
    catalog = spark.catalog
    list_spark_tables, get_spark_table = catalog.listTables, catalog.getTable

    @functools.wraps(list_spark_tables)
    def list_tables(dbName: str | None = None, pattern: str | None = None) -> list[Table]:
        tables.refresh()
        internal_names = tables.internal_names()
        return [_show(tables, t) for t in list_spark_tables(dbName, pattern) if t.name not in internal_names]

    @functools.wraps(get_spark_table)
    def get_table(tableName: str) -> Table:
        tables.refresh()
        return _show(tables, get_spark_table(tableName))

    catalog.__dict__.update(listTables=list_tables, getTable=get_table)


def _show(tables: Tables, table: Table) -> Table:
    """Return an entry of the listing. A Kafka table that is a view in Spark's catalog is shown as a table."""
    entry = _find(tables, table)
    if entry is None or not entry.is_view:
        return table
    if entry.table.temporary:
        return table._replace(description=entry.table.comment)
    return table._replace(
        catalog="spark_catalog",
        namespace=[entry.name[0]],
        description=entry.table.comment,
        tableType=_TABLE_TYPE,
        isTemporary=False,
    )


def _find(tables: Tables, table: Table) -> CatalogTable | None:
    """Return the Kafka table that Spark's catalog lists under a view's name, or None."""
    database = "" if table.isTemporary else (table.namespace or [""])[0]
    return next((e for e in tables if e.is_view and e.view_name == (database, table.name.lower())), None)
