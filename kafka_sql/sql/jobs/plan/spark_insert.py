"""Decide what an INSERT INTO a Spark table becomes: a batch of Spark's, or a continuous query over Kafka tables."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.dataframes import SparkSql
from kafka_sql.sql.jobs.changelog.changelog_plan import ChangelogSink, plan_changelog
from kafka_sql.sql.jobs.job_plan import JobMode, JobPlan
from kafka_sql.sql.jobs.micro_batch.bounded import are_all_bounded
from kafka_sql.sql.jobs.plan.insert_query import check_no_hidden_stream, read_options, read_query
from kafka_sql.sql.jobs.plan.late_rows import needs_late_rows
from kafka_sql.sql.jobs.plan.spark_table_analysis import analyze_insert
from kafka_sql.sql.jobs.plan.static_sides import prepare_static_sides
from kafka_sql.sql.jobs.real_time.source import check_is_kafka_table
from kafka_sql.sql.jobs.targets.file_sink import check_batch_insert
from kafka_sql.sql.recognize.names import strip_catalog
from kafka_sql.sql.recognize.statement_types import Insert
from kafka_sql.sql.rewrite.query_rewriter import QueryRewrite, ReadOptions


def plan_spark_insert(
    spark: SparkSession, tables: Tables, statement: Insert, text: str, spark_sql: SparkSql
) -> JobPlan:
    """Plan an INSERT into a Spark table.

    Args:
        text: the statement as written; Spark executes it unchanged if its query has nothing to rewrite.

    Raises:
        UnsupportedSqlError: see ``analyze_insert`` and ``check_batch_insert``.
        AnalysisException: see ``analyze_insert``.
    """
    name, options = ".".join(statement.name), read_options(spark)
    rewrite = read_query(tables, statement.query, options)
    if rewrite.kafka_tables and (options.streaming or rewrite.uses_stream_keyword):
        return _plan_stream(spark, tables, statement, rewrite, options, spark_sql)
    if rewrite.kafka_tables:
        check_conflict(statement, name, False)  # a batch appends
    elif tables and options.streaming:
        check_no_hidden_stream(tables, name, spark_sql(rewrite.text))
    if not statement.overwrite:
        check_batch_insert(spark, strip_catalog(statement.name))
    return JobPlan(JobMode.BATCH, text if rewrite.text == statement.body else statement.prefix + rewrite.text)


def _plan_stream(
    spark: SparkSession,
    tables: Tables,
    statement: Insert,
    rewrite: QueryRewrite,
    options: ReadOptions,
    spark_sql: SparkSql,
) -> JobPlan:
    """Plan a continuous query into a Spark table."""
    name = ".".join(statement.name)
    check_is_kafka_table(spark, name)
    query = spark_sql(rewrite.text)
    prepare_static_sides(spark, name, rewrite, query)
    table, rows = analyze_insert(spark, statement, query)
    if needs_late_rows(rows, bool(table.primary_key)):
        # again, without watermarks: Spark would drop rows that Flink keeps
        rewrite = read_query(tables, statement.query, replace(options, watermarks=False))
        table, rows = analyze_insert(spark, statement, spark_sql(rewrite.text))
    is_upsert = bool(table.primary_key)
    check_conflict(statement, table.name, is_upsert)
    start_column = table.history.start if table.history is not None else None
    sink = ChangelogSink(table.name, is_upsert, table.primary_key, start_column=start_column)
    changes = plan_changelog(spark, tables, sink, rows, rewrite.streamed_tables)
    return JobPlan(
        JobMode.MICRO_BATCH,
        rewrite.text,
        table,
        changes.rows,
        rewrite.streamed_tables,
        is_bounded=are_all_bounded(rewrite.streamed_tables, rows),
        changelog_mode=changes.mode,
        uses_update_mode=changes.uses_update_mode,
        states=changes.states,
    )


def check_conflict(statement: Insert, table: str, is_upsert: bool) -> None:
    """Check ``ON CONFLICT DO ...`` of Flink 2.3: what to do with rows that differ, but have the same primary key.

    DEDUPLICATE is what a query does anyway: the newest row remains.

    Raises:
        UnsupportedSqlError: the table has no primary key, or the clause is another one.
    """
    clause = f"ON CONFLICT DO {statement.conflict}"
    if statement.conflict is not None and not is_upsert:
        raise UnsupportedSqlError(
            f"INSERT INTO '{table}': {clause} is only for tables whose rows are updated by their PRIMARY KEY, such as "
            "'upsert-kafka' tables. Remove the clause.",
            table=table,
        )
    if statement.conflict in ("ERROR", "NOTHING"):
        raise UnsupportedSqlError(
            f"INSERT INTO '{table}': {clause} is not supported. ON CONFLICT DO DEDUPLICATE keeps the newest row of a "
            "key. Use it, or a PRIMARY KEY that identifies the rows of the query.",
            table=table,
        )
