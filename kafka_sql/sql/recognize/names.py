"""What a table's name in a statement means: Flink's default catalog is Spark's, and a temporary view comes first."""

from __future__ import annotations

from kafka_sql.catalog.tables import Entry, Tables


def strip_catalog(name: tuple[str, ...]) -> tuple[str, ...]:
    """A name without the catalog, where that is Spark's own, or Flink's default one, which stands for it.

    ``default_catalog.default_database`` is Spark's database ``default``.
    """
    if len(name) != 3:
        return name
    catalog, database, table = name
    if catalog.lower() == "spark_catalog":
        return database, table
    if catalog.lower() == "default_catalog":
        return "default" if database.lower() == "default_database" else database, table
    return name


def resolve_table(tables: Tables, name: tuple[str, ...]) -> Entry | None:
    """The Kafka table that a statement names; None where it is nobody's, or a temporary view of Spark's hides it."""
    entry = tables.find(strip_catalog(name)) if tables else None
    if entry is None or len(name) > 1 or entry.table.temporary:
        return entry
    return None if tables.is_hidden(name[0]) else entry


def find_declared_table(tables: Tables, name: tuple[str, ...], temporary: bool) -> Entry | None:
    """The temporary, or the lasting, Kafka table of a name, whatever hides it."""
    found = tables.find(name[-1:] if temporary else strip_catalog(name))
    if found is None or found.table.temporary == temporary:
        return found
    if temporary:
        return None
    database = tables.plain("SELECT current_database()").collect()[0][0]
    return tables.find((database, *name))
