"""Execute EXPLAIN of queries, INSERTs and statement sets: one row with the column ``plan``."""

from __future__ import annotations

from dataclasses import replace as with_fields

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.storage_names import show_table_names
from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import StatementError
from kafka_sql.sql.dataframes import dataframe
from kafka_sql.sql.declarations.create import parse_statement
from kafka_sql.sql.grammar.dialect import parse_declaration
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.changelog.describe import describe_changelog, explain_rows
from kafka_sql.sql.jobs.changelog.relation import Mode
from kafka_sql.sql.jobs.plan.inserts import RunSql, prepare
from kafka_sql.sql.jobs.plan.late_rows import needs_late_rows
from kafka_sql.sql.jobs.plan.spark_inserts import prepare_spark_insert
from kafka_sql.sql.recognize import classify as st
from kafka_sql.sql.recognize.names import resolve_table
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.rewrite.query import ReadOptions, needs_rewrite, rewrite_query
from kafka_sql.sql.statements.spark_ddl import find_ctas

_UNSUPPORTED = "EXPLAIN supports only a query, an INSERT, a CREATE TABLE ... AS or a STATEMENT SET."


def explain(spark: SparkSession, tables: Tables, statement: st.Explain, text: str, run: RunSql) -> DataFrame:
    """Return the plan of a statement, without writing or starting anything.

    Raises:
        StatementError: the statement is not a query, an INSERT or a statement set.
    """
    plan = _plan(spark, tables, statement.mode, statement.statement, run)
    if plan is None:
        explained = run(text if statement.is_spark_syntax else f"EXPLAIN {statement.mode} {statement.statement}")
        if not tables:
            return explained
        plan = str(explained.collect()[0][0])
    return dataframe(spark, {"plan": pa.string()}, [(show_table_names(plan),)])


def _plan(spark: SparkSession, tables: Tables, mode: str, text: str, run: RunSql) -> str | None:
    """Return the plan as text, or None if Spark can explain the statement as written."""
    inner = st.classify(text)
    match inner:
        case st.StatementSet(inserts):
            return "\n".join(_plan(spark, tables, mode, i, run) or _explain_in_spark(mode, i, run) for i in inserts)
        case st.Execute(statement):
            return _plan(spark, tables, mode, statement, run)
        case st.Insert(name):
            entry = resolve_table(tables, name)
            if entry is None:
                prepared = prepare_spark_insert(spark, tables, inner, text, run)
                if prepared.stream is None and prepared.batch == text:
                    return None
            else:
                prepared = prepare(spark, tables, entry, inner, run)
            if prepared.sink is not None:
                return _explain_in_spark(mode, rewrite_query(tables, inner.query, ReadOptions(False)).text, run)
            if prepared.stream is None:
                return _explain_in_spark(mode, prepared.batch, run)
            sink = f"== Sink ==\nINSERT INTO {prepared.stream.target_name}"
            if prepared.stream.changelog_mode is not Mode.INSERT_ONLY or prepared.stream.states:
                return "\n\n".join([sink, describe_changelog(prepared.stream), explain_rows(prepared.stream, mode)])
            options = ReadOptions(settings.is_streaming(spark))
            query = rewrite_query(tables, inner.query, options).text
            if needs_late_rows(run(query), accepts_changes=False):
                query = rewrite_query(tables, inner.query, with_fields(options, watermarks=False)).text
            return f"{sink}\n\n{_explain_in_spark(mode, query, run)}"
        case st.CreateTable(None):
            query_text = parse_statement(text, parse_declaration).query
            if query_text:
                return _plan(spark, tables, mode, query_text, run) or _explain_in_spark(mode, query_text, run)
            raise StatementError(_UNSUPPORTED)
        case None if tables and st.is_query(text):
            streaming = settings.is_streaming(spark)
            if needs_rewrite(tables, text, streaming):
                return _explain_in_spark(mode, rewrite_query(tables, QueryText(text), ReadOptions(streaming)).text, run)
            return None
        case None if needs_rewrite(tables, text, settings.is_streaming(spark)):
            return _plan_ctas(spark, tables, mode, text, run)
        case None:
            return None
        case st.AlterTable(name) | st.UnsupportedStatement(_, name) | st.DropTable(name) if (
            resolve_table(tables, name) is not None
        ):
            raise StatementError(_UNSUPPORTED)
    return None


def _plan_ctas(spark: SparkSession, tables: Tables, mode: str, text: str, run: RunSql) -> str | None:
    """Return the plan of Spark's CREATE TABLE ... AS, or of its query if it is continuous; None as in ``_plan``."""
    ctas = find_ctas(text)
    if ctas is None:
        return None
    streaming = settings.is_streaming(spark)
    rewrite = rewrite_query(tables, QueryText(text[ctas.query_start :]), ReadOptions(streaming))
    if not rewrite.kafka_tables:
        return None
    if streaming or rewrite.uses_stream_keyword:
        return _explain_in_spark(mode, rewrite.text, run)
    return _explain_in_spark(mode, text[: ctas.query_start] + rewrite.text, run)


def _explain_in_spark(mode: str, statement: str, run: RunSql) -> str:
    return str(run(f"EXPLAIN {mode} {statement}").collect()[0][0])
