"""Read a Kafka table as a stream, with its computed columns and watermark: ``spark.readStream.table(t)``."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.static_tables import install_refresh_strategy
from kafka_sql.catalog.tables import Tables
from kafka_sql.options import connector as opt
from kafka_sql.spark.context import spark_context
from kafka_sql.sql.jobs.micro_batch.bounded import stop_queries_at_end
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.names import resolve_table
from kafka_sql.sql.recognize.token_cursor import TokenCursor
from kafka_sql.sql.rewrite.stream_query import stream_query


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
    if entry.definition.options[opt.BOUNDED_MODE] != opt.UNBOUNDED and spark_context(spark) is not None:
        stop_queries_at_end(spark)
    install_refresh_strategy(spark)
    return tables.spark_sql(stream_query(tables, entry))
