"""Read the query of an INSERT: how its tables are read, and what its streams are."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.context import is_connect
from kafka_sql.spark.plan_reader import read_plan
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.rewrite.query_rewriter import QueryRewrite, ReadOptions, StreamReader, needs_rewrite, rewrite_query


def read_options(spark: SparkSession, stream_reader: StreamReader | None = None) -> ReadOptions:
    """Return how the query of an INSERT or of a CREATE TABLE ... AS reads its tables: as streams in streaming mode.

    Args:
        stream_reader: what reads a table as a stream in real-time mode.
    """
    joins_versions = not is_connect(spark) and stream_reader is None
    return ReadOptions(settings.is_streaming(spark), stream_reader, joins_versions)


def read_query(tables: Tables, query: QueryText, options: ReadOptions) -> QueryRewrite:
    """Rewrite a query if it needs that.

    Raises:
        KafkaSqlError: see ``rewrite_query``.
    """
    if needs_rewrite(tables, query.text, options.streaming):
        return rewrite_query(tables, query, options)
    return QueryRewrite(query.text)


def check_no_hidden_stream(tables: Tables, sink: str, query: DataFrame) -> None:
    """Check that a batch query in streaming mode does not read a Kafka table through a view of a DataFrame.

    The text of such a view is unknown, so its tables cannot be read as streams.

    Raises:
        UnsupportedSqlError: the query reads such a view.
    """
    read = {operator.table.lower() for operator in read_plan(query).walk_all()}
    for table in tables:
        if read & {table.provider.lower(), table.sql_name.replace("`", "").lower()}:
            raise UnsupportedSqlError(
                f"INSERT INTO '{sink}': the query reads '{table.definition.name}' through a view of a "
                "DataFrame, so it would run as a batch although the runtime mode is streaming. Create the view with "
                "CREATE VIEW, use the table itself, or SET 'execution.runtime-mode' = 'batch'.",
                table=sink,
            )
