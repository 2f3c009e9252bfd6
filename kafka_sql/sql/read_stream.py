"""Make ``spark.readStream.table(t)`` read Kafka tables with their computed columns and watermarks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.static_tables import refresh_static_tables
from kafka_sql.catalog.tables import Tables
from kafka_sql.options import connector as opt
from kafka_sql.sql.jobs.micro_batch.bounded import stop_queries_at_end
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.names import resolve_table
from kafka_sql.sql.recognize.token_cursor import TokenCursor
from kafka_sql.sql.rewrite.stream_query import stream_query

_MARK = "_kafka_sql"


def patch_read_stream(spark: SparkSession, find_tables: Callable[[SparkSession], Tables | None]) -> None:
    """Patch ``table()`` of the session's DataStreamReader class, once. Sessions that are not enabled are not affected.

    Only the options of the table's declaration apply; those of the reader, ``readStream.option(k, v)``, have no effect.
    """
    reader_class = type(spark.readStream)  # differs between classic and Connect
    original = reader_class.table
    if getattr(original, _MARK, False):
        return

    @functools.wraps(original)
    def table(self: Any, tableName: str) -> DataFrame:
        session = self._client if hasattr(self, "_client") else self._spark  # Connect calls it _client
        tables = find_tables(session)
        if tables is None:
            return original(self, tableName)
        tables.refresh()
        cursor = TokenCursor(lexer.tokenize_spark(tableName))
        name = cursor.take_name()
        entry = resolve_table(tables, name) if name and cursor.peek() is None else None
        if entry is None:
            return original(self, tableName)
        if entry.definition.options[opt.BOUNDED_MODE] != opt.UNBOUNDED and hasattr(self, "_spark"):
            stop_queries_at_end(self._spark)
        refresh_static_tables(session)
        return tables.spark_sql(stream_query(tables, entry))

    setattr(table, _MARK, True)
    reader_class.table = table  # type: ignore[method-assign]
