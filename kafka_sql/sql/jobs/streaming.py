"""Continuous queries: an INSERT in the streaming runtime mode becomes a StreamingQuery of Spark."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from kafka_sql.catalog.spark_catalog import active_session
from kafka_sql.catalog.tables import CatalogTable
from kafka_sql.definition import Definition
from kafka_sql.errors import InvalidOptionError, MissingOptionError
from kafka_sql.observability import observe
from kafka_sql.options import connector as opt
from kafka_sql.sink.exactly_once.timeout import check_trigger_interval
from kafka_sql.sink.spark_writers import is_exactly_once
from kafka_sql.source.enumerator.stopping_offsets import end_exists
from kafka_sql.sql.dataframes import dataframe
from kafka_sql.sql.jobs import checkpoints, settings
from kafka_sql.sql.jobs.batch_size import limit_batches_by_rows
from kafka_sql.sql.jobs.bounded import stop_at_end
from kafka_sql.sql.jobs.job_registry import Job, register_job, session_jobs

_NOT_IN_THIS_MODE = "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"


def insert_streaming(
    spark: SparkSession,
    entry: CatalogTable,
    query: DataFrame,
    text: str,
    name: str | None = None,
    bounded: Sequence[CatalogTable] = (),
) -> DataFrame:
    """Start a query that appends to a table; one row with its id in the column ``job id``.

    The checkpoint is ``<execution.checkpointing.dir>/<pipeline.name>``, so the same statements continue where they
    stopped.

    Args:
        text: the query as typed, with all that makes it another one.
        name: instead of 'pipeline.name'.
        bounded: the tables that the query reads, where all of them are bounded: it ends by itself then.

    Raises:
        MissingOptionError: no checkpoint folder is set.
        StatementError: without 'pipeline.name', the checkpoint is that of another query.
    """
    return job_ids(spark, [start_job(spark, entry, query, text, name, bounded)])


def start_job(
    spark: SparkSession,
    entry: CatalogTable,
    query: DataFrame,
    text: str,
    name: str | None = None,
    bounded: Sequence[CatalogTable] = (),
) -> Job:
    """Start a query that appends to a table, as ``start`` does."""
    root = settings.read(spark, settings.CHECKPOINT_DIR)
    if root is None:
        raise MissingOptionError(
            f"A streaming INSERT INTO '{entry.definition.name}' needs a checkpoint folder: "
            f"SET '{settings.CHECKPOINT_DIR.key}' = '/path/that/lasts'."
        )
    chosen = settings.read(spark, settings.PIPELINE_NAME)
    name = name or chosen or f"insert-into_{checkpoints.folder_name(entry.definition.name)}"
    location = f"{root.rstrip('/')}/{name}"
    folder = checkpoints.local_folder(spark, location) if chosen is None else None
    if folder is not None:
        checkpoints.check_owner(folder, entry.definition.name, name, text)
    interval = settings.read(spark, settings.CHECKPOINT_INTERVAL)
    identity = check_exactly_once(spark, entry.definition, interval)
    writer = query.writeStream.queryName(name).option("checkpointLocation", location)
    at_once = bool(bounded) and all(end_exists(table.definition) for table in bounded)
    if at_once:
        writer = writer.trigger(availableNow=True)
    elif interval is not None:
        writer = writer.trigger(processingTime=f"{interval} milliseconds")
    port = settings.read(spark, settings.METRICS_PORT)
    if port is not None:
        observe(spark, port)
    with active_session(spark), limit_batches_by_rows(spark):
        job = register_job(spark, start_query(writer, entry))
    job.writer = identity
    if folder is not None:
        checkpoints.record_owner(folder, text)
    if bounded and not at_once:
        stop_at_end(job.query)
    return job


def job_ids(spark: SparkSession, jobs: Sequence[Job]) -> DataFrame:
    """A row a job."""
    return dataframe(spark, {"job id": pa.string()}, [(job.id,) for job in jobs])


def check_exactly_once(spark: SparkSession, definition: Definition, interval: int | None) -> tuple[str, str] | None:
    """Check a query's sink before it starts.

    Args:
        interval: of the trigger, in milliseconds.

    Returns:
        cluster and prefix, which must be the query's own; None where the sink is not exactly-once.

    Raises:
        InvalidOptionError: a job of this session writes under the same prefix, or the transactions' timeout is shorter
            than the trigger's interval.
    """
    if not is_exactly_once(definition):
        return None
    if interval is not None:
        check_trigger_interval(definition, interval)
    mine = definition.client["bootstrap.servers"], definition.options[opt.TRANSACTIONAL_ID_PREFIX]
    for job in session_jobs(spark):
        if job.writer == mine and job.query.isActive:
            raise InvalidOptionError(
                f"INSERT INTO '{definition.name}': job '{job.id}' ({job.name}) writes with "
                f"'{opt.TRANSACTIONAL_ID_PREFIX.key}' = '{mine[1]}' already, and each query needs one of its own. Give "
                f"this one another, as by the hint /*+ OPTIONS('{opt.TRANSACTIONAL_ID_PREFIX.key}' = '...') */, or "
                f"STOP JOB '{job.id}'."
            )
    return mine


def start_query(writer: DataStreamWriter, entry: CatalogTable) -> StreamingQuery:
    """Start a query whose name and checkpoint are set.

    A query that has new rows only appends them. Where Spark refuses that, as an aggregate's rows change, an upsert
    table takes those that each batch has changed (Spark's update mode). A Python data source has no such mode, so these
    are written as a batch each.

    Raises:
        AnalysisException: the table is no upsert table, or Spark has the query in neither mode.
    """
    try:
        return writer.format(entry.provider).outputMode("append").start()
    except AnalysisException as e:
        if not entry.definition.is_upsert or e.getCondition() != _NOT_IN_THIS_MODE:
            raise
    provider = entry.provider

    def write(changes: DataFrame, batch: int) -> None:
        changes.write.format(provider).mode("append").save()

    return writer.outputMode("update").foreachBatch(write).start()
