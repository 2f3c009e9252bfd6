"""Continuous queries: an INSERT in the streaming runtime mode becomes a StreamingQuery of Spark."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.registration import active
from kafka_sql.catalog.tables import Entry
from kafka_sql.errors import MissingOptionError
from kafka_sql.observability import observe
from kafka_sql.source.enumerator.stopping_offsets import within_reach
from kafka_sql.sql.dataframes import frame
from kafka_sql.sql.jobs import checkpoints, settings
from kafka_sql.sql.jobs.batch_size import bounded_by_rows
from kafka_sql.sql.jobs.bounded import stop_at_end
from kafka_sql.sql.jobs.exactly_once import check_writer
from kafka_sql.sql.jobs.job_registry import Job, remember
from kafka_sql.sql.jobs.start_query import begin


def start(
    spark: SparkSession,
    entry: Entry,
    query: DataFrame,
    text: str,
    name: str | None = None,
    bounded: Sequence[Entry] = (),
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
    return job_ids(spark, [run(spark, entry, query, text, name, bounded)])


def run(
    spark: SparkSession,
    entry: Entry,
    query: DataFrame,
    text: str,
    name: str | None = None,
    bounded: Sequence[Entry] = (),
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
        checkpoints.check(folder, entry.definition.name, name, text)
    interval = settings.read(spark, settings.CHECKPOINT_INTERVAL)
    identity = check_writer(spark, entry.definition, interval)
    writer = query.writeStream.queryName(name).option("checkpointLocation", location)
    at_once = bool(bounded) and all(within_reach(table.definition) for table in bounded)
    if at_once:
        writer = writer.trigger(availableNow=True)
    elif interval is not None:
        writer = writer.trigger(processingTime=f"{interval} milliseconds")
    port = settings.read(spark, settings.METRICS_PORT)
    if port is not None:
        observe(spark, port)
    with active(spark), bounded_by_rows(spark):
        job = remember(spark, begin(writer, entry))
    job.writer = identity
    if folder is not None:
        checkpoints.keep(folder, text)
    if bounded and not at_once:
        stop_at_end(job.query)
    return job


def job_ids(spark: SparkSession, jobs: Sequence[Job]) -> DataFrame:
    """A row a job."""
    return frame(spark, {"job id": pa.string()}, [(job.id,) for job in jobs])
