"""Execute one statement of a session: Flink's statements and those about Kafka tables here, others in Spark."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.sql_literals import qualified_name, quote
from kafka_sql.catalog.static_tables import install_refresh_strategy
from kafka_sql.catalog.tables import Tables
from kafka_sql.options.secrets import mask_value
from kafka_sql.sql.dataframes import SparkSql, dataframe, empty_dataframe
from kafka_sql.sql.function_differences import warn_of_differences
from kafka_sql.sql.jobs import settings, statement_sets
from kafka_sql.sql.jobs.plan.insert import plan_insert
from kafka_sql.sql.jobs.registry import show_jobs, show_jobs_extended, stop_job
from kafka_sql.sql.jobs.run import run_job
from kafka_sql.sql.jobs.targets.file_sink import refresh_streamed_tables
from kafka_sql.sql.recognize import statement_types as st
from kafka_sql.sql.recognize.classify import classify, is_query
from kafka_sql.sql.recognize.names import resolve_table
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.rewrite.query_rewriter import (
    ReadOptions,
    has_functions,
    needs_rewrite,
    rewrite_query,
    rewrite_statement,
)
from kafka_sql.sql.statements import ddl, explain, show, spark_objects
from kafka_sql.sql.statements.spark_ctas import create_table_as, rewrite_ctas
from kafka_sql.sql.statements.spark_objects import unsupported_flink_statement, unsupported_statement


def dispatch(spark: SparkSession, tables: Tables, text: str, spark_sql: SparkSql) -> DataFrame:
    """Execute a statement.

    Args:
        spark_sql: Spark's own ``sql()`` with the caller's parameters. Statements for Spark reach it as written.
    """
    refresh_streamed_tables(spark)
    original = text
    statement, text = _classify(spark, tables, text)
    _warn_of_differences(spark, tables, statement, original)
    match statement:
        case None:
            return _run_in_spark(spark, tables, text, spark_sql)
        case st.Insert():
            return run_job(spark, plan_insert(spark, tables, statement, text, spark_sql), spark_sql)
        case st.StatementSet():
            return statement_sets.execute(spark, tables, statement, spark_sql)
        case st.Execute(inner):
            return dispatch(spark, tables, inner, spark_sql)
        case st.Explain():
            return explain.explain(spark, tables, statement, text, spark_sql)
        case st.CreateTable(base) if base is None or resolve_table(tables, base) is not None:
            return ddl.create(spark, tables, text, spark_sql)
        case st.DropTable():
            return ddl.drop(spark, tables, statement, text, spark_sql)
        case st.CreateView():
            return spark_sql(spark_objects.create_view(tables, statement, text))
        case st.DropDatabase(name):  # and then in Spark
            spark_objects.drop_kafka_tables(tables, name)
        case st.SetOption(key, value):
            settings.write(spark, key, value)
            return dataframe(spark, {"key": pa.string(), "value": pa.string()}, [(key, mask_value(key, value))])
        case st.ResetOption(str(key)):  # RESET without a key goes to Spark, which resets Flink's keys, too
            settings.reset(spark, key)
            return empty_dataframe(spark)
        case st.UseCatalog(name):
            return spark_sql(f"SET CATALOG {quote(spark_objects.catalog_name(name))}")
        case st.UseDatabase(name):
            return spark_sql(f"USE {qualified_name(spark_objects.database_name(spark, name))}")
        case st.ShowCurrent(is_catalog):
            return show.show_current(tables, is_catalog)
        case st.ShowTables():
            return show.show_tables(tables, statement, text, spark_sql)
        case st.ShowViews():
            return show.show_views(tables, text, spark_sql)
        case st.ShowJobs(extended):
            return show_jobs_extended(spark) if extended else show_jobs(spark)
        case st.StopJob():
            return stop_job(spark, statement)
        case st.FlinkStatement():
            raise unsupported_flink_statement(statement)
        case st.TableStatement(name) | st.UnsupportedStatement(_, name):
            return _execute_for_table(spark, tables, statement, name, text, spark_sql)
    return spark_sql(text)


def _warn_of_differences(spark: SparkSession, tables: Tables, statement: st.Statement | None, text: str) -> None:
    match statement:
        case st.Insert(name):
            warn_of_differences(spark, tables, statement.query, resolve_table(tables, name) is not None)
        case st.StatementSet(inserts):
            for insert in inserts:
                _warn_of_differences(spark, tables, classify(insert), insert)
        case None | st.CreateView():
            warn_of_differences(spark, tables, QueryText(text))


def _classify(spark: SparkSession, tables: Tables, text: str) -> tuple[st.Statement | None, str]:
    """Return a statement and its text, with Spark's form of Flink's windows and of ``read_kafka``.

    Queries and INSERTs, also in EXPLAIN, are rewritten later, together with their tables.
    """
    statement = classify(text)
    query = statement.statement if isinstance(statement, st.Explain) else text
    inner = classify(query) if isinstance(statement, st.Explain) else statement
    is_rewritten_later = isinstance(inner, st.Insert | st.Execute | st.StatementSet) or (
        inner is None and is_query(query)
    )
    if is_rewritten_later or not has_functions(text):
        return statement, text
    text = rewrite_statement(tables, text, settings.is_streaming(spark))
    return classify(text), text


def _run_in_spark(spark: SparkSession, tables: Tables, text: str, spark_sql: SparkSql) -> DataFrame:
    """Execute a statement of Spark; its queries can read Kafka tables."""
    reads_only = is_query(text)
    if not (tables or (reads_only and has_functions(text))):
        return spark_sql(text)
    if not reads_only:
        spark_objects.check_replaces_no_table(tables, text)
        ctas = rewrite_ctas(spark, tables, text)
        return spark_sql(text) if ctas is None else create_table_as(spark, tables, ctas, spark_sql)
    streaming = settings.is_streaming(spark)
    if not needs_rewrite(tables, text, streaming):
        return spark_sql(text)
    rewrite = rewrite_query(tables, QueryText(text), ReadOptions(streaming))
    if rewrite.streamed_tables:
        install_refresh_strategy(spark)
    return spark_sql(rewrite.text)


def _execute_for_table(
    spark: SparkSession, tables: Tables, statement: st.Statement, name: tuple[str, ...], text: str, spark_sql: SparkSql
) -> DataFrame:
    """Execute a statement about one table or view, which may be a Kafka table."""
    entry = resolve_table(tables, name)
    if entry is None:
        match statement:
            case st.AlterTable():
                return spark_objects.alter_table(spark, statement, text, spark_sql)
            case st.ShowCreateView():
                return show.show_create_view(spark, tables, name)
            case st.DropTemporaryView(_, if_exists):
                return spark_objects.drop_temporary_view(spark, name, if_exists)
        return spark_sql(text)
    match statement:
        case st.AlterTable():
            ddl.alter(spark, tables, entry, text)
            return empty_dataframe(spark)
        case st.Describe(extended=extended):
            return show.describe_extended(spark, entry) if extended else show.describe(spark, entry)
        case st.ShowColumns():
            return show.show_columns(spark, entry, statement)
        case st.ShowCreate():
            return show.show_create_table(spark, entry)
        case st.UnsupportedStatement():
            raise unsupported_statement(entry, statement)
    verb = "SHOW CREATE VIEW" if isinstance(statement, st.ShowCreateView) else "DROP VIEW"
    raise unsupported_statement(entry, st.UnsupportedStatement(verb, name))
