"""Execute Spark's CREATE TABLE ... AS over Kafka tables: as a batch, or as a continuous query into the new table."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from kafka_sql.catalog.sql_literals import qualified_name
from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import StatementError, UnsupportedSqlError
from kafka_sql.spark.context import is_connect
from kafka_sql.spark.session_catalog import SESSION_CATALOG
from kafka_sql.sql.dataframes import SparkSql, empty_dataframe
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.checkpoints.checkpoint import Checkpoint, locate
from kafka_sql.sql.jobs.plan.insert import plan_insert_into
from kafka_sql.sql.jobs.plan.insert_query import check_no_hidden_stream, read_options
from kafka_sql.sql.jobs.real_time.source import check_is_kafka_table
from kafka_sql.sql.jobs.run import run_job
from kafka_sql.sql.recognize.names import current_database, strip_catalog
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.recognize.statement_types import Insert
from kafka_sql.sql.rewrite.query_rewriter import QueryRewrite, needs_rewrite, rewrite_query
from kafka_sql.sql.statements.spark_ddl import Ctas, find_ctas


@dataclass(frozen=True)
class RewrittenCtas:
    """Spark's CREATE TABLE ... AS, with its query as Spark reads it."""

    head: str  # the statement up to the query
    parts: Ctas  # the name of the new table, and what happens if it exists
    query: str  # the query as written
    rewrite: QueryRewrite  # the query for Spark
    is_continuous: bool  # whether a continuous query writes the new table

    @property
    def text(self) -> str:
        """The statement for Spark."""
        return self.head + (self.rewrite.text if self.rewrite.kafka_tables else self.query)


def rewrite_ctas(spark: SparkSession, tables: Tables, text: str) -> RewrittenCtas | None:
    """Return Spark's CREATE TABLE ... AS with a query that may need a rewrite; None for another statement.

    Raises:
        KafkaSqlError: see ``rewrite_query``.
    """
    options = read_options(spark)
    ctas = find_ctas(text) if needs_rewrite(tables, text, options.streaming) else None
    if ctas is None:
        return None
    head, query = text[: ctas.query_start], text[ctas.query_start :]
    rewrite = rewrite_query(tables, QueryText(query), options)
    is_continuous = bool(rewrite.kafka_tables) and (options.streaming or rewrite.uses_stream_keyword)
    return RewrittenCtas(head, ctas, query, rewrite, is_continuous)


def create_table_as(spark: SparkSession, tables: Tables, ctas: RewrittenCtas, spark_sql: SparkSql) -> DataFrame:
    """Execute Spark's CREATE TABLE ... AS over Kafka tables.

    Returns:
        the result of Spark; one row with the column ``job id`` for a continuous query.

    Raises:
        UnsupportedSqlError: a continuous query cannot write the table, or the statement would replace a table.
        StatementError: a checkpoint has the name of the query.
        KafkaSqlError: see ``plan_insert_into`` and ``run_job``.
    """
    if ctas.is_continuous:
        return _start(spark, tables, ctas, spark_sql)
    if settings.is_streaming(spark):
        check_no_hidden_stream(tables, ".".join(ctas.parts.name), spark_sql(ctas.rewrite.text))
    return spark_sql(ctas.text)


def _start(spark: SparkSession, tables: Tables, ctas: RewrittenCtas, spark_sql: SparkSql) -> DataFrame:
    """Create a table without rows, and start the continuous query. If it does not start, drop the table."""
    name = _qualify(spark, tables, ctas.parts)
    sql_name, shown = qualified_name(name), ".".join(name[1:] if name[0] == SESSION_CATALOG else name)
    if spark.catalog.tableExists(sql_name):
        if ctas.parts.if_not_exists:
            return empty_dataframe(spark)
        if ctas.parts.replaces:
            raise UnsupportedSqlError(
                f"CREATE TABLE '{shown}': a continuous query cannot replace a table that exists. DROP TABLE it first, "
                "or write into it with INSERT INTO.",
                table=shown,
            )
    else:
        _check_checkpoint(spark, shown)
    check_is_kafka_table(spark, shown)
    _create(spark, ctas.head, spark_sql(ctas.rewrite.text).schema, spark_sql)
    prefix = f"INSERT INTO {sql_name} BY NAME "
    query = ctas.query.rstrip().rstrip(";")
    statement = Insert(name, query, by_name=True, prefix=prefix)
    try:
        return run_job(spark, plan_insert_into(spark, tables, None, statement, prefix + query, spark_sql), spark_sql)
    except BaseException:  # including KeyboardInterrupt
        spark_sql(f"DROP TABLE IF EXISTS {sql_name}")
        raise


def _qualify(spark: SparkSession, tables: Tables, ctas: Ctas) -> tuple[str, ...]:
    """Return the name of the new table with its catalog and database."""
    name = strip_catalog(ctas.name)
    if is_connect(spark):
        raise UnsupportedSqlError(
            f"CREATE TABLE '{'.'.join(name)}' AS: over Spark Connect, a continuous query can only write to a Kafka "
            f"table. Use spark.sql('SELECT ...').writeStream.option('checkpointLocation', '...')"
            f".toTable('{'.'.join(name)}').",
            table=".".join(name),
        )
    if not name:
        raise UnsupportedSqlError(
            "CREATE TABLE ... AS of a continuous query needs the name of the table, not an expression."
        )
    if len(name) == 1:
        name = (current_database(tables), *name)
    return (spark.catalog.currentCatalog(), *name) if len(name) == 2 else name


def _check_checkpoint(spark: SparkSession, table: str) -> None:
    """Check that the query reads its sources from the start: the new table lacks the rows of an earlier query."""
    name, location = locate(spark, table)
    checkpoint = Checkpoint(spark, location, table)
    if checkpoint.has_offsets():
        raise StatementError(
            f"CREATE TABLE '{table}' AS: checkpoint '{checkpoint.location}' of an earlier query '{name}' exists, so "
            "the new table would lack the rows that this query has read. SET another "
            f"'{settings.PIPELINE_NAME.key}', or delete the checkpoint.",
            table=table,
        )


def _create(spark: SparkSession, statement: str, schema: StructType, spark_sql: SparkSql) -> None:
    """Execute CREATE TABLE ... AS with no rows, so that Spark decides on the table's columns, as in a batch."""
    view = f"__kafka_sql_{uuid.uuid4().hex}"
    spark.createDataFrame([], schema).createTempView(view)
    try:
        spark_sql(f"{statement}SELECT * FROM {view} WHERE false")
    finally:
        spark.catalog.dropTempView(view)
