"""Decide what an INSERT becomes: a batch, or a continuous query with its sources, changes and sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from kafka_sql import state
from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.catalog.sql_literals import quote
from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.options import builtin_connectors
from kafka_sql.options import connector as opt
from kafka_sql.spark.context import is_connect
from kafka_sql.spark.null_keys import match_no_nulls
from kafka_sql.spark.plan_reader import read_plan
from kafka_sql.spark.stream_support import groups_by_event_time
from kafka_sql.spark.subqueries import analyze_query
from kafka_sql.sql.dataframes import SparkSql
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.changelog.changelog_plan import ChangelogQuery, ChangelogSink, plan_changelog, table_sink
from kafka_sql.sql.jobs.changelog.relation import Mode
from kafka_sql.sql.jobs.job_plan import JobMode, JobPlan
from kafka_sql.sql.jobs.micro_batch.bounded import are_all_bounded
from kafka_sql.sql.jobs.plan.constraints import enforce, enforce_query
from kafka_sql.sql.jobs.plan.insert_query import (
    check_no_hidden_stream,
    prepare_static_sides,
    read_options,
    read_query,
)
from kafka_sql.sql.jobs.plan.late_rows import has_time_condition, needs_late_rows
from kafka_sql.sql.jobs.plan.processing_time import add_watermark, windowed_processing_times
from kafka_sql.sql.jobs.plan.sink_rows import (
    name_fields,
    project_to_table,
    repartition,
    repartition_query,
    target_columns,
)
from kafka_sql.sql.jobs.plan.spark_table_analysis import analyze_insert, check_continuous_insert
from kafka_sql.sql.jobs.plan.window_times import close_windows
from kafka_sql.sql.jobs.real_time.checks import check_query, prepare_query
from kafka_sql.sql.jobs.real_time.source import stream_reader
from kafka_sql.sql.jobs.targets.file_sink import check_batch_insert
from kafka_sql.sql.jobs.targets.spark_table import SparkTable
from kafka_sql.sql.recognize.names import resolve_table, strip_catalog
from kafka_sql.sql.recognize.statement_types import Insert
from kafka_sql.sql.rewrite.hints import check_insert_hint, parse_hint
from kafka_sql.sql.rewrite.query_rewriter import QueryRewrite, ReadOptions
from kafka_sql.table.changelog import ROW_KIND


def plan_insert(spark: SparkSession, tables: Tables, statement: Insert, text: str, spark_sql: SparkSql) -> JobPlan:
    """Plan an INSERT into the table of its name; see ``plan_insert_into``."""
    return plan_insert_into(spark, tables, resolve_table(tables, statement.name), statement, text, spark_sql)


def plan_insert_into(
    spark: SparkSession,
    tables: Tables,
    entry: CatalogTable | None,
    statement: Insert,
    text: str,
    spark_sql: SparkSql,
) -> JobPlan:
    """Check an INSERT and analyze its query, without writing or starting anything.

    Args:
        entry: the table to write, if it is one of the session's tables; None for a table of Spark.
        text: the statement as written. Spark executes it unchanged if its query has nothing to rewrite.
        spark_sql: Spark's own ``sql()`` with the caller's parameters.

    Raises:
        UnsupportedSqlError: the table cannot be written in this way, or the result would be wrong.
        StatementError: the columns do not match.
        AnalysisException: a table of Spark does not exist, or a column does not match.
    """
    if entry is not None:
        entry = _apply_hint(tables, entry, statement)
    name = ".".join(statement.name) if entry is None else entry.definition.name
    reader = stream_reader(spark, tables, entry) if entry is not None and settings.is_real_time(spark) else None
    options = read_options(spark, reader)
    rewrite, query = read_query(tables, statement.query, options), None
    if entry is None and rewrite.streamed_tables:
        check_continuous_insert(spark, statement)
    if tables and (options.streaming or rewrite.uses_stream_keyword):
        query = analyze_query(spark, rewrite.text, spark_sql)  # only its plan shows whether it is a stream
        if query.isStreaming and (entry is not None or rewrite.streamed_tables):
            return _plan_stream(spark, tables, entry, statement, options, rewrite, query, spark_sql)
        check_no_hidden_stream(tables, name, query, rewrite.static_tables)
    if entry is None:
        if rewrite.kafka_tables:
            _check_conflict(statement, name, False)  # a batch appends
        if not statement.overwrite:
            check_batch_insert(spark, strip_catalog(statement.name))
        return JobPlan(JobMode.BATCH, text if rewrite.text == statement.body else statement.prefix + rewrite.text)
    _check_is_updating(statement, name, is_updating=False)
    if entry.definition.is_builtin:
        rows = project_to_table(entry, query if query is not None else spark_sql(rewrite.text), statement)
        return JobPlan(JobMode.BATCH, rewrite.text, entry, enforce(spark, entry, rows))
    names = None if statement.by_name else [c.name for c in target_columns(entry, statement)]
    columns = "BY NAME" if names is None else f"({', '.join(map(quote, names))})"
    rows_text = rewrite.text if names is None else name_fields(spark, entry, rewrite.text, names, spark_sql)
    rows_text = enforce_query(spark, entry, rows_text, names, spark_sql)
    insert = f"INSERT INTO {entry.sql_name} {columns} {repartition_query(entry, rows_text, names)}"
    return JobPlan(JobMode.BATCH, insert, entry, sources=rewrite.kafka_tables)


def _apply_hint(tables: Tables, entry: CatalogTable, statement: Insert) -> CatalogTable:
    """Return the table to write, with the options of its hint; check the clauses of the statement."""
    name = entry.definition.name
    if statement.overwrite or statement.partition:
        clause = "INSERT OVERWRITE" if statement.overwrite else "PARTITION (...)"
        raise UnsupportedSqlError(
            f"Table '{name}': {clause} is not supported for a Kafka topic. Use INSERT INTO.", table=name
        )
    _check_conflict(statement, name, entry.definition.is_upsert)
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
    entry: CatalogTable | None,
    statement: Insert,
    options: ReadOptions,
    rewrite: QueryRewrite,
    query: DataFrame,
    spark_sql: SparkSql,
) -> JobPlan:
    """Plan a continuous query. It reads and writes changes if its sources have them, or if its result has deletes."""

    def fit(query: DataFrame) -> tuple[CatalogTable | SparkTable, DataFrame]:
        """Return the table, and the rows of a query in its columns."""
        if entry is None:
            return analyze_insert(spark, statement, query)
        return entry, project_to_table(entry, query, statement)

    is_real_time = settings.is_real_time(spark)
    name = ".".join(statement.name) if entry is None else entry.definition.name
    if not is_real_time and not is_connect(spark):
        rewrite, query = _close_windows(spark, tables, statement, options, rewrite, query, spark_sql)
    table, rows = fit(query)
    accepts_changes = bool(table.primary_key) if isinstance(table, SparkTable) else table_sink(table).accepts_changes
    if not is_real_time and needs_late_rows(query, accepts_changes):
        # again, without watermarks: Spark would drop rows that Flink keeps
        rewrite = read_query(tables, statement.query, replace(options, watermarks=False))
        query = analyze_query(spark, rewrite.text, spark_sql)
        table, rows = fit(query)
    prepare_static_sides(spark, rewrite, query, name)
    if isinstance(table, SparkTable):
        _check_conflict(statement, table.name, accepts_changes)
    elif is_real_time:
        check_query(table, rows)
    # the same query over changes instead of rows, if its sources have any
    changes = ChangelogQuery(rows)
    if not is_connect(spark):
        changes = plan_changelog(spark, tables, _changelog_sink(table, statement), rows, rewrite.streamed_tables)
        changes = replace(changes, rows=match_no_nulls(changes.rows))
    _check_is_updating(statement, name, changes.mode is not Mode.INSERT_ONLY)
    rows = changes.rows
    if isinstance(table, CatalogTable):
        rows = enforce(spark, table, rows)
        if changes.has_row_kind and not table.definition.is_builtin:
            _check_no_row_kind(table, statement, query.columns)
            table = tables.with_changes(table)
        rows = prepare_query(rows, changes.states, name) if is_real_time else repartition(table, rows)
    return JobPlan(
        JobMode.REAL_TIME if is_real_time else JobMode.MICRO_BATCH,
        rewrite.text,
        table,
        rows,
        rewrite.streamed_tables,
        is_bounded=not is_real_time and are_all_bounded(rewrite.streamed_tables, query),
        changelog_mode=changes.mode,
        uses_update_mode=changes.uses_update_mode,
        states=changes.states,
        show_operators=changes.show,
    )


def _changelog_sink(table: CatalogTable | SparkTable, statement: Insert) -> ChangelogSink:
    """Return what a table accepts."""
    if isinstance(table, CatalogTable):
        sink = table_sink(table)
    else:
        start_column = table.history.start if table.history is not None else None
        sink = ChangelogSink(table.name, bool(table.primary_key), table.primary_key, start_column=start_column)
    return replace(sink, conflict=statement.conflict or state.DEDUPLICATE)


def _close_windows(
    spark: SparkSession,
    tables: Tables,
    statement: Insert,
    options: ReadOptions,
    rewrite: QueryRewrite,
    query: DataFrame,
    spark_sql: SparkSql,
) -> tuple[QueryRewrite, DataFrame]:
    """Return a query whose windows end, by the watermark or by the processing time, and its rewrite.

    Raises:
        UnsupportedSqlError: the query has windows of both.
    """
    if not windowed_processing_times(query) or are_all_bounded(rewrite.streamed_tables, query):
        return rewrite, close_windows(query)
    plan = read_plan(query)
    if groups_by_event_time(plan) or has_time_condition(list(plan.walk())):
        name = ".".join(statement.name)
        raise UnsupportedSqlError(
            f"INSERT INTO '{name}': windows over PROCTIME() in a query with windows or joins by an event time are not "
            "supported, because Spark's watermark is the same for both times. Write the rows of one of them into a "
            "table, and read that in another query.",
            table=name,
        )
    rewrite = read_query(tables, statement.query, replace(options, watermarks=False))
    query = analyze_query(spark, rewrite.text, spark_sql)
    return rewrite, close_windows(add_watermark(spark, query, windowed_processing_times(query)))


def _check_no_row_kind(entry: CatalogTable, statement: Insert, columns: Sequence[str]) -> None:
    """Check that a query whose rows have row kinds does not set the column of the row kind, too."""
    name = entry.definition.name
    written = columns if statement.by_name else [c.name for c in target_columns(entry, statement)]
    row_kinds = {c.name.lower() for c in entry.table.persisted_columns if c.metadata == ROW_KIND}
    if any(column.lower() in row_kinds for column in written):
        raise UnsupportedSqlError(
            f"INSERT INTO '{name}': the query returns updates and deletes, so it sets the column METADATA FROM "
            f"'{ROW_KIND}' itself. Name the other columns: INSERT INTO {name} (...).",
            table=name,
        )


def _check_conflict(statement: Insert, table: str, is_upsert: bool) -> None:
    """Check that ``ON CONFLICT DO ...`` of Flink 2.3 is for a table with a key."""
    clause = f"ON CONFLICT DO {statement.conflict}"
    if statement.conflict is not None and not is_upsert:
        raise UnsupportedSqlError(
            f"INSERT INTO '{table}': {clause} is only for tables whose rows are updated by their PRIMARY KEY, such as "
            "'upsert-kafka' tables. Remove the clause.",
            table=table,
        )


def _check_is_updating(statement: Insert, table: str, is_updating: bool) -> None:
    """Check that rows are compared by the key of the table, if ON CONFLICT requires it."""
    if statement.conflict in ("ERROR", "NOTHING") and not is_updating:
        raise UnsupportedSqlError(
            f"INSERT INTO '{table}': ON CONFLICT DO {statement.conflict} is only for continuous queries in a classic "
            "session, and rows of joins and windows that are only inserted are not compared. Remove the clause. To "
            "keep the first row of a key, filter the rows of the query with ROW_NUMBER() OVER "
            "(PARTITION BY key ORDER BY time) = 1.",
            table=table,
        )
