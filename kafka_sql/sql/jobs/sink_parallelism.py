"""'sink.parallelism': the rows of an INSERT over so many tasks, those of a key in one of them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.catalog.tables import CatalogTable
from kafka_sql.options import connector as opt


def repartition(entry: CatalogTable, rows: DataFrame) -> DataFrame:
    """The rows, under the table's names, as the table wants them."""
    tasks = entry.definition.options.get(opt.SINK_PARALLELISM)
    if tasks is None:
        return rows
    return rows.repartition(tasks, *(quote(name) for name in _key(entry, rows.columns)))


def repartition_query(entry: CatalogTable, query: str, names: Sequence[str] | None) -> str:
    """The same for a query's text; it stays as it is where the table says nothing.

    Args:
        names: the table's columns that the query's go to, by position; None for those of the same names.
    """
    tasks = entry.definition.options.get(opt.SINK_PARALLELISM)
    if tasks is None:
        return query
    # without a list of names, a key that the query does not have is told by Spark
    key = _key(entry, names if names is not None else [c.name for c in entry.table.persisted_columns])
    hint = ", ".join([str(tasks), *map(quote, key)])
    alias = f" AS query ({', '.join(map(quote, names))})" if names is not None else ""
    return f"SELECT /*+ REPARTITION({hint}) */ * FROM (\n{query}\n){alias}"


def _key(entry: CatalogTable, written: Sequence[str]) -> list[str]:
    key = entry.definition.key
    return [name for name in (key.columns if key is not None else ()) if name in written]
