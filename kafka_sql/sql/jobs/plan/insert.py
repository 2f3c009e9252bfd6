"""Decide what an INSERT becomes: a batch, or a continuous query with its sources, changes and sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.catalog.sql_literals import quote
from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.observability import lineage
from kafka_sql.options import builtin_connectors
from kafka_sql.options import connector as opt
from kafka_sql.spark.context import is_connect
from kafka_sql.sql.dataframes import SparkSql
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.changelog.changelog_plan import ChangelogQuery, kafka_sink, plan_changelog
from kafka_sql.sql.jobs.job_plan import JobMode, JobPlan
from kafka_sql.sql.jobs.micro_batch.bounded import are_all_bounded
from kafka_sql.sql.jobs.plan.insert_query import check_no_hidden_stream, read_options, read_query
from kafka_sql.sql.jobs.plan.late_rows import needs_late_rows
from kafka_sql.sql.jobs.plan.sink_rows import project_to_table, repartition, repartition_query, target_columns
from kafka_sql.sql.jobs.plan.spark_insert import check_conflict, plan_spark_insert
from kafka_sql.sql.jobs.plan.static_sides import prepare_static_sides
from kafka_sql.sql.jobs.real_time.checks import check_query, prepare_query
from kafka_sql.sql.jobs.real_time.source import stream_reader
from kafka_sql.sql.recognize.names import resolve_table
from kafka_sql.sql.recognize.statement_types import Insert
from kafka_sql.sql.rewrite.hints import check_insert_hint, parse_hint
from kafka_sql.sql.rewrite.query_rewriter import QueryRewrite, ReadOptions, rewrite_query
from kafka_sql.table.changelog import ROW_KIND


def plan_insert(spark: SparkSession, tables: Tables, statement: Insert, text: str, spark_sql: SparkSql) -> JobPlan:
    """Check an INSERT and analyze its query, without writing or starting anything.

    Args:
        text: the statement as written.
        spark_sql: Spark's own ``sql()`` with the caller's parameters.

    Raises:
        KafkaSqlError: see ``plan_kafka_insert`` and ``plan_spark_insert``.
    """
    entry = resolve_table(tables, statement.name)
    if entry is None:
        return plan_spark_insert(spark, tables, statement, text, spark_sql)
    return plan_kafka_insert(spark, tables, entry, statement, spark_sql)


def plan_kafka_insert(
    spark: SparkSession, tables: Tables, entry: CatalogTable, statement: Insert, spark_sql: SparkSql
) -> JobPlan:
    """Plan an INSERT into one of the session's tables.

    Raises:
        UnsupportedSqlError: the table cannot be written in this way, or the result would be wrong.
        StatementError: the columns do not match.
    """
    entry = _apply_hint(tables, entry, statement)
    is_real_time = settings.is_real_time(spark)
    reader = stream_reader(spark, tables, entry) if is_real_time else None
    options = read_options(spark, reader)
    rewrite, query = read_query(tables, statement.query, options), None
    if options.streaming or rewrite.uses_stream_keyword:
        # analyzed like any query: only the plan shows whether it is a stream, and whether it needs late rows
        query = spark_sql(rewrite.text)
        if not is_real_time and needs_late_rows(query, entry.definition.has_changes):
            # again, without watermarks: Spark would drop rows that Flink keeps
            rewrite = read_query(tables, statement.query, replace(options, watermarks=False))
            query = spark_sql(rewrite.text)
        if query.isStreaming:
            return _plan_stream(spark, tables, entry, statement, rewrite, query)
        check_no_hidden_stream(tables, entry.definition.name, query)
    if entry.definition.is_builtin:
        rows = project_to_table(entry, query if query is not None else spark_sql(rewrite.text), statement)
        return JobPlan(JobMode.BATCH, rewrite.text, entry, rows)
    return _plan_batch(tables, entry, statement, rewrite)


def _apply_hint(tables: Tables, entry: CatalogTable, statement: Insert) -> CatalogTable:
    """Return the table to write, with the options of its hint.

    Raises:
        UnsupportedSqlError: the table cannot be written, or the statement has a clause that a topic does not support.
    """
    name = entry.definition.name
    if statement.overwrite or statement.partition:
        clause = "INSERT OVERWRITE" if statement.overwrite else "PARTITION (...)"
        raise UnsupportedSqlError(
            f"Table '{name}': {clause} is not supported for a Kafka topic. Use INSERT INTO.", table=name
        )
    check_conflict(statement, name, entry.definition.is_upsert)
    hint = parse_hint(statement.hint_text, 0)
    if "/*+" in statement.prefix:
        table_hint = statement.hint_text[: hint.end] if hint is not None else ""
        check_insert_hint(statement.prefix.replace(table_hint, " ", 1))
    if hint is not None and hint.options:
        entry = tables.with_options(entry, hint.options)
    if entry.table.options[opt.CONNECTOR.key] == builtin_connectors.DATAGEN:
        raise UnsupportedSqlError(
            f"Table '{name}': the connector 'datagen' is a source and cannot be written.", table=name
        )
    return entry


def _plan_stream(
    spark: SparkSession,
    tables: Tables,
    entry: CatalogTable,
    statement: Insert,
    rewrite: QueryRewrite,
    query: DataFrame,
) -> JobPlan:
    """Plan a continuous query. It reads and writes changes if its sources have them, or if its result has deletes.

    Args:
        query: the rows of the rewritten query.

    Raises:
        UnsupportedSqlError: see ``plan_changelog`` and ``check_query``.
    """
    name, is_real_time = entry.definition.name, settings.is_real_time(spark)
    prepare_static_sides(spark, name, rewrite, query)
    rows = project_to_table(entry, query, statement)
    if is_real_time:
        check_query(entry, rows)
    changes, sink = ChangelogQuery(rows), entry
    if not is_connect(spark):  # the same query over changes instead of rows, if its sources have any
        changes = plan_changelog(spark, tables, kafka_sink(entry), rows, rewrite.streamed_tables)
    if changes.has_row_kind:
        _check_no_row_kind(entry, statement, query.columns)
        sink = tables.with_changes(entry)
    return JobPlan(
        JobMode.REAL_TIME if is_real_time else JobMode.MICRO_BATCH,
        rewrite.text,
        sink,
        prepare_query(changes.rows, changes.states, name) if is_real_time else repartition(sink, changes.rows),
        rewrite.streamed_tables,
        is_bounded=not is_real_time and are_all_bounded(rewrite.streamed_tables, query),
        changelog_mode=changes.mode,
        uses_update_mode=changes.uses_update_mode,
        states=changes.states,
    )


def _check_no_row_kind(entry: CatalogTable, statement: Insert, columns: Sequence[str]) -> None:
    """Check that a query whose rows have row kinds does not set the column of the row kind, too.

    Args:
        columns: the columns that the query returns.

    Raises:
        UnsupportedSqlError: it does.
    """
    name = entry.definition.name
    written = columns if statement.by_name else [c.name for c in target_columns(entry, statement)]
    row_kinds = {c.name.lower() for c in entry.table.persisted_columns if c.metadata == ROW_KIND}
    if any(column.lower() in row_kinds for column in written):
        raise UnsupportedSqlError(
            f"INSERT INTO '{name}': the query returns updates and deletes, so it sets the column METADATA FROM "
            f"'{ROW_KIND}' itself. Name the other columns: INSERT INTO {name} (...).",
            table=name,
        )


def _plan_batch(tables: Tables, entry: CatalogTable, statement: Insert, rewrite: QueryRewrite) -> JobPlan:
    """Plan a batch: Spark executes the INSERT."""
    names = None if statement.by_name else [c.name for c in target_columns(entry, statement)]
    columns = "BY NAME" if names is None else f"({', '.join(map(quote, names))})"
    text = f"INSERT INTO {entry.sql_name} {columns} {repartition_query(entry, rewrite.text, names)}"
    sources = rewrite_query(tables, statement.query, ReadOptions(False)).kafka_tables if lineage.is_enabled() else ()
    return JobPlan(JobMode.BATCH, text, entry, sources=sources)
