"""Show Kafka tables as declared in ``spark.catalog.listTables()`` and ``getTable()``."""

from __future__ import annotations

from typing import Final

from pyspark.sql.catalog import Table

from kafka_sql.catalog.tables import CatalogTable, Tables

_TABLE_TYPE: Final = "MANAGED"  # of a table of a Python data source


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
