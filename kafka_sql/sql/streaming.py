"""Continuous queries: an INSERT in the streaming runtime mode becomes a StreamingQuery of Spark."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.register import active
from kafka_sql.catalog.tables import Entry
from kafka_sql.errors import MissingOptionError
from kafka_sql.sql import settings
from kafka_sql.sql.frames import frame
from kafka_sql.sql.jobs import Job, remember


def start(spark: SparkSession, entry: Entry, query: DataFrame, name: str | None = None) -> DataFrame:
    """Start a query that appends to a table; one row with its id in the column ``job id``.

    The checkpoint is ``<execution.checkpointing.dir>/<pipeline.name>``, so the same statements continue where they
    stopped.

    Args:
        name: instead of 'pipeline.name'.

    Raises:
        MissingOptionError: no checkpoint folder is set.
    """
    return job_ids(spark, [run(spark, entry, query, name)])


def run(spark: SparkSession, entry: Entry, query: DataFrame, name: str | None = None) -> Job:
    """Start a query that appends to a table, as ``start`` does."""
    root = settings.read(spark, settings.CHECKPOINT_DIR)
    if root is None:
        raise MissingOptionError(
            f"A streaming INSERT INTO '{entry.definition.name}' needs a checkpoint folder: "
            f"SET '{settings.CHECKPOINT_DIR.key}' = '/path/that/lasts'."
        )
    name = name or settings.read(spark, settings.PIPELINE_NAME) or f"insert-into_{entry.definition.name}"
    writer = (
        query.writeStream.format(entry.provider)
        .queryName(name)
        .outputMode("append")
        .option("checkpointLocation", f"{root.rstrip('/')}/{name}")
    )
    interval = settings.read(spark, settings.CHECKPOINT_INTERVAL)
    if interval is not None:
        writer = writer.trigger(processingTime=f"{interval} milliseconds")
    with active(spark):
        return remember(spark, writer.start())


def job_ids(spark: SparkSession, jobs: Sequence[Job]) -> DataFrame:
    """A row a job."""
    return frame(spark, {"job id": pa.string()}, [(job.id,) for job in jobs])
