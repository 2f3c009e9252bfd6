"""Apply 'sink.parallelism': distribute an INSERT's rows over that many tasks, all rows of a key in the same task."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.catalog.tables import CatalogTable
from kafka_sql.options import connector as opt


def repartition(entry: CatalogTable, rows: DataFrame) -> DataFrame:
    """Repartition rows, which have the table's column names; without 'sink.parallelism', return them unchanged."""
    tasks = entry.definition.options.get(opt.SINK_PARALLELISM)
    if tasks is None:
        return rows
    return rows.repartition(tasks, *(quote(name) for name in _key_columns(entry, rows.columns)))


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
