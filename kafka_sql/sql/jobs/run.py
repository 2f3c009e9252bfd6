"""Run the plan of an INSERT: write a batch, or start a continuous query and watch its end."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.util import InheritableThread

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.observability import lineage
from kafka_sql.observability.lineage import LineageRun
from kafka_sql.observability.listener import observe
from kafka_sql.spark.context import is_stopped
from kafka_sql.sql.dataframes import SparkSql, dataframe, empty_dataframe
from kafka_sql.sql.errors.spark_errors import error_message, mask_message
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.checkpoints.checkpoint import Checkpoint
from kafka_sql.sql.jobs.checks.check_job import check_exactly_once, check_job
from kafka_sql.sql.jobs.job_plan import JobMode, JobPlan
from kafka_sql.sql.jobs.micro_batch import start as micro_batch
from kafka_sql.sql.jobs.real_time import start as real_time
from kafka_sql.sql.jobs.registry import FAILED, FINISHED, Job
from kafka_sql.sql.jobs.start_settings import limit_batches_by_rows
from kafka_sql.sql.jobs.targets import builtin_sinks

_LOG = logging.getLogger("kafka_sql.sql.jobs")  # the command line, which prints failures itself, disables it


def run_job(spark: SparkSession, plan: JobPlan, spark_sql: SparkSql) -> DataFrame:
    """Run the plan of one INSERT.

    Returns:
        an empty DataFrame after a batch write; one row with the column ``job id`` for a continuous query.

    Raises:
        KafkaSqlError: see ``check_job`` and ``start_job``.
    """
    if plan.mode is JobMode.BATCH:
        return write_batch(spark, plan, spark_sql)
    return job_ids(spark, [start_job(spark, check_job(spark, plan))])


def write_batch(spark: SparkSession, plan: JobPlan, spark_sql: SparkSql) -> DataFrame:
    """Write a batch; report the lineage of one that writes a topic."""
    sink = plan.sink
    if not isinstance(sink, CatalogTable):
        return spark_sql(plan.text)
    if plan.rows is not None:
        builtin_sinks.write_batch(sink, plan.rows)
        return empty_dataframe(spark)
    name, sources = f"insert_into.{sink.definition.name}", [source.definition for source in plan.sources]
    reported = lineage.start_run(name, sources, [sink.definition], is_streaming=False)
    try:
        with limit_batches_by_rows(spark):
            result = spark_sql(plan.text)
    except Exception as e:
        if reported is not None:
            reported.fail(_first_line(e))
        raise
    if reported is not None:
        reported.complete()
    return result


def start_job(spark: SparkSession, plan: JobPlan) -> Job:
    """Start a continuous query that was checked.

    Raises:
        InvalidOptionError: the checkpoint folder cannot be written; or see ``check_exactly_once``.
        UnsupportedSqlError: Spark does not support the query.
    """
    transactional_sink = None
    if isinstance(plan.sink, CatalogTable):
        transactional_sink = check_exactly_once(spark, plan.sink.definition)  # again, after other queries of a set
    if plan.fingerprint is not None:
        Checkpoint(spark, plan.checkpoint, plan.sink_name).record(plan.fingerprint)
    port = settings.read(spark, settings.METRICS_PORT)
    if port is not None:
        observe(spark, port, settings.read(spark, settings.METRICS_HOST) or "127.0.0.1")
    start = real_time.start if plan.mode is JobMode.REAL_TIME else micro_batch.start
    job = start(spark, plan)
    job.transactional_sink = transactional_sink
    _watch_end(spark, job, plan)
    return job


def job_ids(spark: SparkSession, jobs: Sequence[Job]) -> DataFrame:
    """Return one row per job, with the column ``job id``."""
    return dataframe(spark, {"job id": pa.string()}, [(job.id,) for job in jobs])


def _watch_end(spark: SparkSession, job: Job, plan: JobPlan) -> None:
    """Log the error of a job that fails after its statement has returned; report its lineage. Does not wait for it."""
    written = [write.target.definition for write in plan.writes if isinstance(write.target, CatalogTable)]
    sources = [source.definition for source in plan.sources]
    name = job.name or plan.sink_name
    run = lineage.start_run(name, sources, written, is_streaming=True, run_id=job.query.runId)
    arguments = (spark, job, plan.sink_name, run)
    thread: Any = InheritableThread(target=_wait_for_end, args=arguments, session=spark, daemon=True)
    thread.start()


def _wait_for_end(spark: SparkSession, job: Job, table: str, run: LineageRun | None) -> None:
    """Wait until a job ends, and log its error if it failed, but not because Spark was stopped."""
    failure: Exception | None = None
    try:
        job.query.awaitTermination()
    except Exception:  # noqa: BLE001  # the query failed, or its session ended
        try:
            failure = job.failure if job.status == FAILED and not is_stopped(spark) else None
        except Exception:  # noqa: BLE001  # the session has ended
            return
    if failure is not None:
        message = _first_line(failure)
        log_fields = {"table": table}
        _LOG.error("INSERT INTO '%s': job '%s' (%s) failed: %s", table, job.id, job.name, message, extra=log_fields)
        if run is not None:
            run.fail(message)
    elif run is not None:
        run.complete() if job.status == FINISHED else run.abort()


def _first_line(error: Exception) -> str:
    return mask_message(error_message(error)).partition("\n")[0]
