"""Execute EXPLAIN of queries, INSERTs and statement sets: one row with the column ``plan``."""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.storage_names import show_table_names
from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import StatementError
from kafka_sql.spark.context import is_connect
from kafka_sql.spark.explain import explain as explain_frame
from kafka_sql.spark.plan_reader import read_plan
from kafka_sql.sql.dataframes import SparkSql, dataframe
from kafka_sql.sql.grammar.parser import parse_declaration
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json, describe_operators
from kafka_sql.sql.jobs.job_plan import JobMode, JobPlan
from kafka_sql.sql.jobs.plan.insert import plan_insert
from kafka_sql.sql.recognize import statement_types as st
from kafka_sql.sql.recognize.classify import classify, is_query
from kafka_sql.sql.recognize.names import resolve_table
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.rewrite.query_rewriter import ReadOptions, needs_rewrite, rewrite_query
from kafka_sql.sql.statements.spark_ctas import rewrite_ctas
from kafka_sql.table.changelog import ROW_KIND, ROW_KIND_NAME, ROW_ORDER_NAME

_UNSUPPORTED = "EXPLAIN supports only a query, an INSERT, a CREATE TABLE ... AS or a STATEMENT SET."
_LISTED_ORDER: Final = re.compile(rf", {ROW_ORDER_NAME}(?:#\d+L?)?(?=[,\]])")  # after the row kind


def explain(spark: SparkSession, tables: Tables, statement: st.Explain, text: str, spark_sql: SparkSql) -> DataFrame:
    """Return the plan of a statement, without writing or starting anything.

    Raises:
        StatementError: the statement is not a query, an INSERT or a statement set.
    """
    plan = _explain(spark, tables, statement.mode, statement.statement, spark_sql)
    if plan is None:
        explained = spark_sql(text if statement.is_spark_syntax else f"EXPLAIN {statement.mode} {statement.statement}")
        if not tables:
            return explained
        plan = str(explained.collect()[0][0])
    return dataframe(spark, {"plan": pa.string()}, [(show_table_names(plan),)])


def _explain(spark: SparkSession, tables: Tables, mode: str, text: str, spark_sql: SparkSql) -> str | None:
    """Return the plan as text, or None if Spark can explain the statement as written."""
    inner = classify(text)
    match inner:
        case st.StatementSet(inserts):
            return "\n".join(_explain_fully(spark, tables, mode, insert, spark_sql) for insert in inserts)
        case st.Execute(statement):
            return _explain(spark, tables, mode, statement, spark_sql)
        case st.Insert():
            plan = plan_insert(spark, tables, inner, text, spark_sql)
            return _explain_job(plan, mode, spark_sql) if plan.text != text else None
        case st.CreateTable(None):
            query = parse_declaration(text).query
            if query:
                return _explain_fully(spark, tables, mode, query, spark_sql)
            raise StatementError(_UNSUPPORTED)
        case None if tables and is_query(text):
            options = ReadOptions(settings.is_streaming(spark))
            if not needs_rewrite(tables, text, options.streaming):
                return None
            return _explain_in_spark(mode, rewrite_query(tables, QueryText(text), options).text, spark_sql)
        case None:
            ctas = rewrite_ctas(spark, tables, text)
            if ctas is None or not ctas.rewrite.kafka_tables:
                return None
            return _explain_in_spark(mode, ctas.rewrite.text if ctas.is_continuous else ctas.text, spark_sql)
        case st.AlterTable(name) | st.UnsupportedStatement(_, name) | st.DropTable(name) if (
            resolve_table(tables, name) is not None
        ):
            raise StatementError(_UNSUPPORTED)
    return None


def _explain_fully(spark: SparkSession, tables: Tables, mode: str, text: str, spark_sql: SparkSql) -> str:
    return _explain(spark, tables, mode, text, spark_sql) or _explain_in_spark(mode, text, spark_sql)


def _explain_job(plan: JobPlan, mode: str, spark_sql: SparkSql) -> str:
    """Return the plan of an INSERT; of a continuous query, also its operators and how their rows change."""
    if plan.mode is JobMode.BATCH:
        return _explain_in_spark(mode, plan.text, spark_sql)
    sink = f"== Sink ==\nINSERT INTO {plan.sink_name}"
    operators = [] if is_connect(plan.stream.sparkSession) else [_describe_operators(plan)]
    spark_plan = explain_frame(plan.stream, mode.lower() or "simple")
    return "\n\n".join([sink, *operators, name_hidden_columns(spark_plan)])


def _explain_in_spark(mode: str, statement: str, spark_sql: SparkSql) -> str:
    return str(spark_sql(f"EXPLAIN {mode} {statement}").collect()[0][0])


def _describe_operators(plan: JobPlan) -> str:
    """Return the operators of a query, as in Flink, with their changelog modes, and the state that it keeps."""
    states = [_describe_state(operator) for operator in describe_operators(read_plan(plan.stream), plan.states)]
    return "\n".join(["== Operators ==", plan.show_operators(), f"State: {', '.join(states) or 'none'}"])


def name_hidden_columns(plan: str) -> str:
    """Return a plan in which the row kind has the name of Flink's metadata, and which does not list the order of rows.

    The order stays where an expression uses it.
    """
    plan = _LISTED_ORDER.sub("", plan)
    return plan.replace(ROW_KIND_NAME, ROW_KIND).replace(ROW_ORDER_NAME, "row-order")


def _describe_state(operator: Json) -> str:
    columns = [column for field in ("window", "grouping", "keys") for column in operator.get(field, [])]
    table = f"{operator['table']}: " if "table" in operator else ""
    return f"{operator['operator']} ({table}{', '.join(columns)})" if columns else str(operator["operator"])
