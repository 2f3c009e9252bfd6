"""``spark.readStream.table(t)`` finds computed columns and watermarks, which stand in no data source."""

from __future__ import annotations

import functools
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamReader

from kafka_sql.catalog.tables import Tables
from kafka_sql.sql.reads import stream

_MARK = "_kafka_sql"


def teach(tables_of: Callable[[SparkSession], Tables | None]) -> None:
    """Teach Spark's reader, once; sessions that are not enabled see no difference."""
    plain = DataStreamReader.table
    if getattr(plain, _MARK, False):
        return

    @functools.wraps(plain)
    def table(self: DataStreamReader, tableName: str) -> DataFrame:
        tables = tables_of(self._spark)
        if tables is None:
            return plain(self, tableName)
        tables.refresh()
        entry = tables.find(tuple(p.strip("`") for p in tableName.split(".")))
        return plain(self, tableName) if entry is None else tables.plain(stream(entry))

    setattr(table, _MARK, True)
    DataStreamReader.table = table  # type: ignore[method-assign]
