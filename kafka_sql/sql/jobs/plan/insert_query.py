"""Read the query of an INSERT: how its tables are read, and which of them each micro-batch reads again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.catalog.static_tables import install_refresh_strategy
from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.observability import lineage
from kafka_sql.spark.context import is_connect
from kafka_sql.spark.plan_reader import read_plan
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.rewrite.query_rewriter import QueryRewrite, ReadOptions, StreamReader, needs_rewrite, rewrite_query


def read_options(spark: SparkSession, stream_reader: StreamReader | None = None) -> ReadOptions:
    """Return how the query of an INSERT or of a CREATE TABLE ... AS reads its tables: as streams in streaming mode."""
    rewrites_plan = not is_connect(spark) and stream_reader is None
    return ReadOptions(settings.is_streaming(spark), stream_reader, rewrites_plan)


def read_query(tables: Tables, query: QueryText, options: ReadOptions) -> QueryRewrite:
    """Rewrite a query if it needs that, or if its tables are reported as lineage; see ``rewrite_query``.

    Raises:
        KafkaSqlError: see ``rewrite_query``.
    """
    if lineage.is_enabled() or needs_rewrite(tables, query.text, options.streaming):
        return rewrite_query(tables, query, options)
    return QueryRewrite(query.text)


def check_no_hidden_stream(
    tables: Tables, sink: str, query: DataFrame, static_tables: Sequence[CatalogTable] = ()
) -> None:
    """Check that a batch query in streaming mode does not read a Kafka table through a view of a DataFrame.

    The text of such a view is unknown, so its tables cannot be read as streams.

    Args:
        static_tables: the tables that the query reads as of a processing time, and so not as streams.

    Raises:
        UnsupportedSqlError: the query reads such a view.
    """
    read = {operator.table.lower() for operator in read_plan(query).walk_all()}
    static = {table.provider for table in static_tables}
    for table in tables:
        if table.provider in static:
            continue
        if read & {table.provider.lower(), table.sql_name.replace("`", "").lower()}:
            raise UnsupportedSqlError(
                f"INSERT INTO '{sink}': the query reads '{table.definition.name}' through a view of a "
                "DataFrame, so it would run as a batch although the runtime mode is streaming. Create the view with "
                "CREATE VIEW, use the table itself, or SET 'execution.runtime-mode' = 'batch'.",
                table=sink,
            )


# classes of V2 tables whose current rows are read whenever a query is planned
_READS_CURRENT_ROWS: Final = frozenset({"PythonTable", "JDBCTable"})


def prepare_static_sides(spark: SparkSession, rewrite: QueryRewrite, query: DataFrame, sink: str) -> None:
    """Let each micro-batch of the query read its static tables again.

    Raises:
        UnsupportedSqlError: a table would stay as it was when the query started.
    """
    if (obstacle := install_refresh_strategy(spark)) is not None:
        if rewrite.static_tables:
            raise _not_refreshed_error(sink, rewrite.static_tables[0].definition.name, *obstacle)
    elif rewrite.has_lookup_join:
        for operator in read_plan(query).walk_all():
            if operator.table_class and operator.table_class not in _READS_CURRENT_ROWS:
                raise _not_refreshed_error(
                    sink,
                    operator.table,
                    f"because Spark reads a table of the class {operator.table_class} as of the query's start",
                    "Join it in foreachBatch, where spark.table(...) has the current rows",
                )


def _not_refreshed_error(sink: str, name: str, reason: str, remedy: str) -> UnsupportedSqlError:
    return UnsupportedSqlError(
        f"INSERT INTO '{sink}': table '{name}' cannot be joined as of each micro-batch {reason}. {remedy}, or read it "
        "as a stream.",
        table=name,
    )
