"""Apply 'sink.parallelism': distribute an INSERT's rows over that many tasks, all rows of a key in the same task."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.catalog.tables import CatalogTable
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.options import connector as opt
from kafka_sql.table.changelog import ROW_KIND_NAME


def repartition(entry: CatalogTable, rows: DataFrame) -> DataFrame:
    """Repartition rows, which have the table's column names; without 'sink.parallelism', return them unchanged.

    Raises:
        UnsupportedSqlError: nothing identifies the rows, so that changes of a row would lose their order.
    """
    tasks = entry.definition.options.get(opt.SINK_PARALLELISM)
    if tasks is None:
        return rows
    key = _key_columns(entry, rows.columns) or list(entry.table.primary_key)
    if not key and ROW_KIND_NAME in rows.columns:
        name = entry.definition.name
        raise UnsupportedSqlError(
            f"INSERT INTO '{name}': '{opt.SINK_PARALLELISM.key}' is set and the changelog mode contains row kinds "
            "which is not INSERT, a primary key is required but no primary key is found. Declare a PRIMARY KEY in the "
            f"table, or remove '{opt.SINK_PARALLELISM.key}'.",
            table=name,
        )
    return rows.repartition(tasks, *map(quote, key))


def repartition_query(entry: CatalogTable, query: str, names: Sequence[str] | None) -> str:
    """Repartition the rows of a query given as text; without 'sink.parallelism', return it unchanged.

    Args:
        names: the table's columns for the query's columns, by position; None for BY NAME.
    """
    tasks = entry.definition.options.get(opt.SINK_PARALLELISM)
    if tasks is None:
        return query
    # BY NAME: if the query lacks a key column, Spark reports it
    key = _key_columns(entry, names if names is not None else [c.name for c in entry.table.persisted_columns])
    hint = ", ".join([str(tasks), *map(quote, key)])
    alias = f" AS query ({', '.join(map(quote, names))})" if names is not None else ""
    return f"SELECT /*+ REPARTITION({hint}) */ * FROM (\n{query}\n){alias}"


def _key_columns(entry: CatalogTable, columns: Sequence[str]) -> list[str]:
    key = entry.definition.key
    return [name for name in (key.columns if key is not None else ()) if name in columns]
