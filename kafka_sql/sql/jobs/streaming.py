"""Start continuous queries: an INSERT in streaming runtime mode becomes a Spark StreamingQuery."""

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
from kafka_sql.source.enumerator.stopping_offsets import end_exists
from kafka_sql.sql.dataframes import dataframe
from kafka_sql.sql.jobs import checkpoints, settings
from kafka_sql.sql.jobs.batch_size import limit_batches_by_rows
from kafka_sql.sql.jobs.bounded import stop_at_end
from kafka_sql.sql.jobs.job_registry import Job, register_job, session_jobs

_UNSUPPORTED_OUTPUT_MODE = "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"


def start_job(
    spark: SparkSession,
    entry: CatalogTable,
    query: DataFrame,
    text: str,
    name: str | None = None,
    bounded: Sequence[CatalogTable] = (),
) -> Job:
    """Start a query that writes to a table.

    The checkpoint is ``<execution.checkpointing.dir>/<pipeline.name>``, so the same statement resumes where it stopped.

    Args:
        text: the query with the clauses before it, as typed; identifies it among the queries that write to the table.
        name: job name to use instead of 'pipeline.name'.
        bounded: the tables that the query reads, if all of them are bounded, so that the query ends; otherwise empty.

    Raises:
        MissingOptionError: no checkpoint folder is set.
        StatementError: without 'pipeline.name', the checkpoint belongs to another query.
        InvalidOptionError: see ``check_exactly_once``.
    """
    root = settings.read(spark, settings.CHECKPOINT_DIR)
    if root is None:
        raise MissingOptionError(
            f"A streaming INSERT INTO '{entry.definition.name}' needs a checkpoint folder: "
            f"SET '{settings.CHECKPOINT_DIR.key}' = '/path/to/checkpoints'.",
            option=settings.CHECKPOINT_DIR.key,
            table=entry.definition.name,
        )
    pipeline = settings.read(spark, settings.PIPELINE_NAME)
    name = name or pipeline or f"insert-into_{checkpoints.folder_name(entry.definition.name)}"
    location = f"{root.rstrip('/')}/{name}"
    folder = checkpoints.local_folder(spark, location) if pipeline is None else None
    if folder is not None:
        checkpoints.check_owner(folder, entry.definition.name, name, text)
    interval = settings.read(spark, settings.CHECKPOINT_INTERVAL)
    transactional_sink = check_exactly_once(spark, entry.definition, interval)
    writer = query.writeStream.queryName(name).option("checkpointLocation", location)
    ends_exist = bool(bounded) and all(end_exists(table.definition) for table in bounded)
    if ends_exist:
        writer = writer.trigger(availableNow=True)
    elif interval is not None:
        writer = writer.trigger(processingTime=f"{interval} milliseconds")
    port = settings.read(spark, settings.METRICS_PORT)
    if port is not None:
        observe(spark, port, settings.read(spark, settings.METRICS_HOST) or "127.0.0.1")
    with active_session(spark), limit_batches_by_rows(spark):
        job = register_job(spark, start_query(writer, entry))
    job.transactional_sink = transactional_sink
    if folder is not None:
        checkpoints.record_owner(folder, text)
    if bounded and not ends_exist:
        stop_at_end(job.query)
    return job


def job_ids(spark: SparkSession, jobs: Sequence[Job]) -> DataFrame:
    """Return one row per job, with the column ``job id``."""
    return dataframe(spark, {"job id": pa.string()}, [(job.id,) for job in jobs])


def check_exactly_once(spark: SparkSession, definition: Definition, interval: int | None) -> tuple[str, str] | None:
    """Check an exactly-once sink before its query starts.

    Args:
        interval: the trigger interval in milliseconds.

    Returns:
        cluster and transactional id prefix, which no other query may use; None if the sink is not exactly-once.

    Raises:
        InvalidOptionError: a job of this session uses the same prefix, or the transaction timeout is shorter than the
            trigger interval.
    """
    if not definition.is_exactly_once:
        return None
    if interval is not None:
        check_trigger_interval(definition, interval)
    prefix = definition.options[opt.TRANSACTIONAL_ID_PREFIX]
    transactional_sink = definition.client_config["bootstrap.servers"], prefix
    for job in session_jobs(spark):
        if job.transactional_sink == transactional_sink and job.query.isActive:
            key = opt.TRANSACTIONAL_ID_PREFIX.key
            raise InvalidOptionError(
                f"INSERT INTO '{definition.name}': job '{job.id}' ({job.name}) already writes with '{key}' = "
                f"'{prefix}', and each query needs a unique prefix. Choose another, for example with the hint "
                f"/*+ OPTIONS('{key}' = '...') */, or STOP JOB '{job.id}'.",
                option=key,
                table=definition.name,
            )
    return transactional_sink


def start_query(writer: DataStreamWriter, entry: CatalogTable) -> StreamingQuery:
    """Start a query whose name and checkpoint are set.

    A query appends its new rows (append mode). If Spark rejects that because rows change, as in an aggregate, an upsert
    table gets the rows that each batch has changed (update mode). Python data sources do not support update mode, so
    these rows are written as one batch per micro-batch.

    Raises:
        AnalysisException: the table is not an upsert table, or Spark supports the query in neither mode.
    """
    try:
        return writer.format(entry.provider).outputMode("append").start()
    except AnalysisException as e:
        if not entry.definition.is_upsert or e.getCondition() != _UNSUPPORTED_OUTPUT_MODE:
            raise
    provider = entry.provider

    def write(changes: DataFrame, batch: int) -> None:
        changes.write.format(provider).mode("append").save()

    return writer.outputMode("update").foreachBatch(write).start()
