"""Execute statement sets: several INSERTs that start together or not at all."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import StatementError, UnsupportedSqlError
from kafka_sql.sql.dataframes import SparkSql, empty_dataframe
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.checkpoints.checkpoint import folder_name
from kafka_sql.sql.jobs.checks.check_job import check_job
from kafka_sql.sql.jobs.job_plan import JobPlan
from kafka_sql.sql.jobs.plan.insert import plan_insert
from kafka_sql.sql.jobs.registry.job_registry import Job
from kafka_sql.sql.jobs.run import job_ids, start_job, write_batch
from kafka_sql.sql.jobs.statement_sets.shared_reads import share_reads, unique_name
from kafka_sql.sql.recognize.classify import classify
from kafka_sql.sql.recognize.statement_types import Insert, StatementSet

_LOG = logging.getLogger("kafka_sql.sql")


def execute(spark: SparkSession, tables: Tables, statement: StatementSet, spark_sql: SparkSql) -> DataFrame:
    """Execute all INSERTs of a set; all of them are checked before the first one writes or starts.

    Returns:
        one row per continuous query, with the column ``job id``; an empty DataFrame for batch INSERTs.

    Raises:
        StatementError: the set has no END, no INSERT, or another statement.
        UnsupportedSqlError: the session is in real-time mode.
    """
    plans = share_reads(spark, _name_jobs(spark, plan_inserts(spark, tables, statement, spark_sql)))
    checked = [check_job(spark, plan) if plan.is_continuous else plan for plan in plans]
    jobs: list[Job] = []
    try:
        for plan in checked:
            if plan.is_continuous:
                jobs.append(start_job(spark, plan))
            else:
                write_batch(spark, plan, spark_sql)
    except BaseException:  # including KeyboardInterrupt
        _stop_all(jobs)
        raise
    return job_ids(spark, jobs) if jobs else empty_dataframe(spark)


def plan_inserts(spark: SparkSession, tables: Tables, statement: StatementSet, spark_sql: SparkSql) -> list[JobPlan]:
    """Plan all INSERTs of a set."""
    if not statement.has_end:
        raise StatementError(
            "STATEMENT SET without END: write the set as one statement, EXECUTE STATEMENT SET BEGIN INSERT ...; "
            "INSERT ...; END;"
        )
    if not statement.inserts:
        raise StatementError("No statements in statement set. Put INSERT statements between BEGIN and END.")
    if settings.is_real_time(spark):
        raise UnsupportedSqlError(
            "A statement set is not supported in real-time mode. Run each INSERT with a 'pipeline.name' of its own, or "
            "SET 'execution.latency-mode' = 'micro-batch'."
        )
    plans: list[JobPlan] = []
    for number, text in enumerate(statement.inserts, 1):
        insert = classify(text)
        if not isinstance(insert, Insert):
            raise StatementError(
                f"STATEMENT SET, statement {number}: only INSERT statements are allowed, each followed by ';'."
            )
        plans.append(plan_insert(spark, tables, insert, text, spark_sql))
    return plans


def _name_jobs(spark: SparkSession, plans: Sequence[JobPlan]) -> list[JobPlan]:
    """Name each continuous query: pipeline and sink, with a number if the set writes a sink more than once."""
    pipeline = settings.read(spark, settings.PIPELINE_NAME)
    names: list[str] = []
    named: list[JobPlan] = []
    for plan in plans:
        if plan.is_continuous:
            sink = folder_name(plan.sink_name)
            names.append(unique_name(f"{pipeline}/{sink}" if pipeline else f"insert-into_{sink}", names))
            plan = replace(plan, name=names[-1])
        named.append(plan)
    return named


def _stop_all(jobs: Sequence[Job]) -> None:
    """Stop all jobs. Errors are only logged, so that the caller can raise the failure that came first."""
    for job in jobs:
        try:
            job.stop()
        except BaseException as e:  # noqa: BLE001  # the caller raises the first failure
            _LOG.error("Statement set: job '%s' (%s) could not be stopped: %s", job.id, job.name, e)
