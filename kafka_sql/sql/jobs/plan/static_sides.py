"""Check the tables that a continuous query joins without reading them as streams: each micro-batch reads them again."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.static_tables import install_refresh_strategy
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.plan_reader import read_plan
from kafka_sql.sql.rewrite.query_rewriter import QueryRewrite

# classes of V2 tables whose current rows are read whenever a query is planned
_READS_CURRENT_ROWS: Final = frozenset({"PythonTable", "JDBCTable"})


def prepare_static_sides(spark: SparkSession, sink: str, rewrite: QueryRewrite, query: DataFrame) -> None:
    """Let each micro-batch of the query read its static tables again.

    Args:
        sink: the table that the query writes, for error messages.

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
