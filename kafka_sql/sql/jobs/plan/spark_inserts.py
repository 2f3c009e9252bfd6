"""Execute INSERT INTO a Spark table from Kafka tables, as a batch or as a continuous query."""

from __future__ import annotations

from dataclasses import replace as with_fields

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.tables import Tables
from kafka_sql.spark.context import spark_context
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.changelog.queries import ChangelogSink, plan_changelog
from kafka_sql.sql.jobs.micro_batch import streaming
from kafka_sql.sql.jobs.plan.inserts import (
    PreparedInsert,
    RunSql,
    check_conflict,
    check_no_hidden_stream,
    is_query_bounded,
    start,
)
from kafka_sql.sql.jobs.plan.late_rows import needs_late_rows
from kafka_sql.sql.jobs.plan.static_sides import prepare_static_sides
from kafka_sql.sql.jobs.real_time import real_time
from kafka_sql.sql.jobs.targets.file_sink import check_batch_insert
from kafka_sql.sql.jobs.targets.spark_table import analyze_insert
from kafka_sql.sql.recognize.classify import Insert
from kafka_sql.sql.recognize.names import strip_catalog
from kafka_sql.sql.rewrite.query import ReadOptions, needs_rewrite, rewrite_query


def insert_into_spark(spark: SparkSession, tables: Tables, statement: Insert, text: str, run: RunSql) -> DataFrame:
    """Execute an INSERT into a Spark table.

    Args:
        text: the statement as written.

    Returns:
        see ``inserts.insert``.

    Raises:
        KafkaSqlError: see ``prepare_spark_insert`` and ``streaming.check_job``.
    """
    prepared = prepare_spark_insert(spark, tables, statement, text, run)
    return run(prepared.batch) if prepared.stream is None else start(spark, prepared.stream)


def prepare_spark_insert(
    spark: SparkSession, tables: Tables, statement: Insert, text: str, run: RunSql
) -> PreparedInsert:
    """Check an INSERT into a Spark table, without writing or starting anything.

    Args:
        text: the statement as written; Spark executes it unchanged if its query has nothing to rewrite.

    Raises:
        UnsupportedSqlError: see ``analyze_insert`` and ``check_batch_insert``.
        AnalysisException: see ``analyze_insert``.
    """
    is_streaming = settings.is_streaming(spark)
    if needs_rewrite(tables, statement.body, is_streaming):
        options = ReadOptions(is_streaming, joins_versions=spark_context(spark) is not None)
        rewrite = rewrite_query(tables, statement.query, options)
        if rewrite.kafka_tables:
            if is_streaming or rewrite.uses_stream_keyword:
                real_time.check_is_kafka_table(spark, ".".join(statement.name))
                source = run(rewrite.text)
                prepare_static_sides(spark, ".".join(statement.name), rewrite, source)
                target, rows = analyze_insert(spark, statement, source)
                if needs_late_rows(rows, bool(target.primary_key)):
                    rewrite = rewrite_query(tables, statement.query, with_fields(options, watermarks=False))
                    target, rows = analyze_insert(spark, statement, run(rewrite.text))
                check_conflict(statement, target.name, bool(target.primary_key))
                start_column = target.history.start if target.history is not None else None
                sink = ChangelogSink(
                    target.name, bool(target.primary_key), target.primary_key, start_column=start_column
                )
                query = plan_changelog(spark, tables, sink, rows, rewrite.streamed_tables)
                is_bounded = is_query_bounded(rewrite, run)
                stream = streaming.ContinuousQuery(
                    target,
                    query.rows,
                    rewrite.streamed_tables,
                    is_bounded,
                    changelog_mode=query.mode,
                    is_updating=query.is_updating,
                    states=query.states,
                )
                return PreparedInsert(stream, "")
            check_conflict(statement, ".".join(statement.name), False)  # a batch appends
            text = statement.prefix + rewrite.text
        elif is_streaming:
            check_no_hidden_stream(tables, ".".join(statement.name), rewrite.text, run)
    if not statement.overwrite:
        check_batch_insert(spark, strip_catalog(statement.name))
    return PreparedInsert(None, text)
