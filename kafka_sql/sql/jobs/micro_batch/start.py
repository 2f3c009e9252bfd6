"""Start continuous queries in micro-batches: the trigger, the settings at the start, and the output mode."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from kafka_sql import state
from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.observability.late_rows import watch_late_records
from kafka_sql.source.enumerator.stopping_offsets import end_exists
from kafka_sql.spark.context import is_connect
from kafka_sql.spark.data_sources import active_session
from kafka_sql.spark.distinct_aggregates import expand_distinct
from kafka_sql.spark.plan import WATERMARK
from kafka_sql.spark.plan_reader import read_plan
from kafka_sql.spark.stream_support import needs_update_mode
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.changelog.changelog_plan import updates_not_accepted
from kafka_sql.sql.jobs.checks.unsupported_operations import check_update_mode, explain_unsupported
from kafka_sql.sql.jobs.job_plan import JobPlan
from kafka_sql.sql.jobs.micro_batch.bounded import stop_at_end
from kafka_sql.sql.jobs.micro_batch.ordered_aggregates import order_aggregates
from kafka_sql.sql.jobs.registry import Job, register_job
from kafka_sql.sql.jobs.start_settings import (
    keep_watermarks,
    limit_batches_by_rows,
    match_partitions_to_cores,
    write_directly,
)
from kafka_sql.sql.jobs.targets import builtin_sinks
from kafka_sql.sql.jobs.targets.batch_functions import with_short_errors
from kafka_sql.sql.jobs.targets.shared_sink import SharedSink, claim_file_sinks, start_shared
from kafka_sql.sql.jobs.targets.spark_table import SparkTable
from kafka_sql.sql.jobs.targets.spark_writes import start_append, start_merge


def start(spark: SparkSession, plan: JobPlan) -> Job:
    """Start a query that was checked. One whose streams are all bounded ends with them."""
    rows = plan.stream if is_connect(spark) else expand_distinct(order_aggregates(plan.stream))
    writer = rows.writeStream.queryName(plan.name or "").option("checkpointLocation", plan.checkpoint)
    interval = settings.read(spark, settings.CHECKPOINT_INTERVAL)
    ends_exist = plan.is_bounded and all(
        end_exists(table.definition) and not table.definition.is_builtin for table in plan.sources
    )
    if ends_exist:
        writer = writer.trigger(availableNow=True)
    elif interval is not None:
        writer = writer.trigger(processingTime=f"{interval} milliseconds")
    if not is_connect(spark) and any(o.name == WATERMARK for o in read_plan(plan.stream).walk()):
        watch_late_records(spark)
    files = claim_file_sinks(spark, plan.writes, plan.checkpoint)
    with (
        files,
        active_session(spark),
        limit_batches_by_rows(spark),
        match_partitions_to_cores(spark),
        state.configure(spark, needs_rocksdb=bool(plan.states)),
        keep_watermarks(spark, plan.stream),
        write_directly(spark, plan.checkpoint),
    ):
        job = register_job(spark, start_query(writer, plan))
    if plan.is_bounded and not ends_exist:
        stop_at_end(job.query)
    return job


def start_query(writer: DataStreamWriter, plan: JobPlan) -> StreamingQuery:
    """Start a query whose name, checkpoint and trigger are set.

    A query appends its new rows (append mode). If they change, as in an aggregate, an upsert table gets the rows that
    each micro-batch has changed (update mode).
    """
    mode = "update" if plan.uses_update_mode else "append"
    match plan.sink:
        case SharedSink() as sink:
            return start_shared(writer, sink)
        case SparkTable(primary_key=[_, *_]) as table:
            return start_merge(writer.outputMode(mode), table)
        case CatalogTable() as entry if entry.definition.is_builtin:
            return builtin_sinks.start_stream(writer.outputMode(mode), entry)
        case CatalogTable() as entry if plan.uses_update_mode:
            return _start_updating_query(writer, entry.provider)
        case CatalogTable() | SparkTable() as sink:
            return _start_appending_query(writer, plan, sink)
    raise AssertionError("a continuous query has a sink")


def _start_appending_query(writer: DataStreamWriter, plan: JobPlan, sink: CatalogTable | SparkTable) -> StreamingQuery:
    """Start a query in append mode; over Spark Connect in update mode if only Spark's error shows that rows change."""
    name = plan.sink_name
    try:
        if isinstance(sink, SparkTable):
            return start_append(writer.outputMode("append"), sink)
        return writer.format(sink.provider).outputMode("append").start()
    except AnalysisException as e:
        query = read_plan(plan.stream)
        if not needs_update_mode(e, query):  # in a classic session, see check_operations
            raise explain_unsupported(e, plan.stream, name) from None
        if isinstance(sink, SparkTable) or not sink.definition.is_upsert:
            key = "an 'upsert-kafka' table whose PRIMARY KEY consists of the columns of the GROUP BY"
            raise updates_not_accepted(name, key) from e
    check_update_mode(query, name)
    return _start_updating_query(writer, sink.provider)


def _start_updating_query(writer: DataStreamWriter, provider: str) -> StreamingQuery:
    """Start a query in update mode; Python data sources do not support it, so each micro-batch is a batch write."""

    def write(changes: DataFrame, batch: int) -> None:
        changes.write.format(provider).mode("append").save()

    return writer.outputMode("update").foreachBatch(with_short_errors(write)).start()
