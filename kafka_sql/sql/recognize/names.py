"""Resolve table names in statements to Kafka tables.

Flink's ``default_catalog`` is an alias of Spark's ``spark_catalog``, and a temporary view hides a table of its name.
"""

from __future__ import annotations

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.catalog.tables import Tables
from kafka_sql.spark.session_catalog import SESSION_CATALOG


def strip_catalog(name: tuple[str, ...]) -> tuple[str, ...]:
    """Return the name without its catalog if that is ``spark_catalog`` or Flink's ``default_catalog``.

    ``default_catalog.default_database`` is Spark's database ``default``.
    """
    if len(name) != 3:
        return name
    catalog, database, table = name
    if catalog.lower() == SESSION_CATALOG:
        return database, table
    if catalog.lower() == "default_catalog":
        return "default" if database.lower() == "default_database" else database, table
    return name


def resolve_table(tables: Tables, name: tuple[str, ...]) -> CatalogTable | None:
    """Return the Kafka table of a name, or None if it does not exist or a temporary view hides it."""
    entry = tables.find(strip_catalog(name)) if tables else None
    if entry is None or len(name) > 1 or entry.is_temporary_view:
        return entry
    return None if tables.is_hidden_by_view(name[0]) else entry


def find_declared_table(tables: Tables, name: tuple[str, ...], temporary: bool) -> CatalogTable | None:
    """Return the temporary (or else the permanent) Kafka table of a name, even if a view hides it.

    A permanent table counts as temporary, too, if Spark finds it as a temporary view.
    """
    entry = tables.find(name[-1:] if temporary else strip_catalog(name))
    if entry is None or entry.table.temporary == temporary or (temporary and entry.is_temporary_view):
        return entry
    if temporary:
        return None
    return tables.find((current_database(tables), *name))


def current_database(tables: Tables) -> str:
    """Return the current database of Spark's current catalog."""
    return str(tables.spark_sql("SELECT current_database()").collect()[0][0])
