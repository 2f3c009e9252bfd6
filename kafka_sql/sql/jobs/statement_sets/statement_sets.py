"""Execute statement sets: several INSERTs that start together or not at all."""

from __future__ import annotations

import logging
from itertools import chain, count

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import StatementError, UnsupportedSqlError
from kafka_sql.sql.dataframes import empty_dataframe
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.checkpoints.checkpoint import folder_name
from kafka_sql.sql.jobs.micro_batch import streaming
from kafka_sql.sql.jobs.plan.inserts import PreparedInsert, RunSql, prepare, run_batch
from kafka_sql.sql.jobs.plan.spark_inserts import prepare_spark_insert
from kafka_sql.sql.jobs.registry.job_registry import Job
from kafka_sql.sql.jobs.statement_sets.shared_reads import share_reads
from kafka_sql.sql.recognize.classify import Insert, classify
from kafka_sql.sql.recognize.names import resolve_table
from kafka_sql.sql.recognize.statement_types import StatementSet

_LOG = logging.getLogger("kafka_sql.sql")


def execute(spark: SparkSession, tables: Tables, statement: StatementSet, run: RunSql) -> DataFrame:
    """Execute all INSERTs of a set; all of them are checked before the first one writes or starts.

    Returns:
        one row per continuous query, with the column ``job id``; an empty DataFrame for batch INSERTs.

    Raises:
        StatementError: the set has no END, no INSERT, or another statement.
    """
    if not statement.has_end:
        raise StatementError(
            "STATEMENT SET without END: write the set as one statement, EXECUTE STATEMENT SET BEGIN INSERT ...; "
            "INSERT ...; END;"
        )
    if not statement.inserts:
        raise StatementError("NO statements in statement set: put INSERT statements between BEGIN and END.")
    inserts = [_prepare(spark, tables, n, text, run) for n, text in enumerate(statement.inserts, 1)]
    names = _job_names(spark, inserts)
    shared = share_reads(spark, [prepared.stream for prepared in inserts], names)
    checked = [None if query is None else streaming.check_job(spark, query, name) for query, name in shared]
    batches = iter([prepared for prepared in inserts if prepared.stream is None])
    jobs: list[Job] = []
    try:
        for query in checked:
            if query is None:
                run_batch(spark, next(batches), run)
            else:
                jobs.append(streaming.start_job(spark, query))
    except BaseException:  # including KeyboardInterrupt
        _stop_all(jobs)
        raise
    return streaming.job_ids(spark, jobs) if jobs else empty_dataframe(spark)


def _stop_all(jobs: list[Job]) -> None:
    """Stop all jobs. Errors are only logged, so that the caller can raise the failure that came first."""
    for job in jobs:
        try:
            job.stop()
        except BaseException as e:  # noqa: BLE001  # the caller raises the first failure
            _LOG.error("Statement set: job '%s' (%s) could not be stopped: %s", job.id, job.name, e)


def _prepare(spark: SparkSession, tables: Tables, number: int, text: str, run: RunSql) -> PreparedInsert:
    if settings.is_real_time(spark):
        raise UnsupportedSqlError(
            "A statement set is not supported in real-time mode. Run each INSERT with a 'pipeline.name' of its own, or "
            "SET 'execution.latency-mode' = 'micro-batch'."
        )
    insert = classify(text)
    if not isinstance(insert, Insert):
        raise StatementError(
            f"STATEMENT SET, statement {number}: only INSERT statements are allowed, each followed by ';'."
        )
    entry = resolve_table(tables, insert.name)
    if entry is None:
        return prepare_spark_insert(spark, tables, insert, text, run)
    return prepare(spark, tables, entry, insert, run)


def _job_names(spark: SparkSession, inserts: list[PreparedInsert]) -> list[str]:
    """Return a job name for each INSERT: pipeline and sink, with a number if the set writes a sink more than once.

    Batches have none.
    """
    pipeline = settings.read(spark, settings.PIPELINE_NAME)
    names: list[str] = []
    for prepared in inserts:
        if prepared.stream is None:
            names.append("")
            continue
        sink = folder_name(prepared.stream.target_name)
        base = f"{pipeline}/{sink}" if pipeline else f"insert-into_{sink}"
        candidates = chain([base], (f"{base}-{number}" for number in count(2)))
        names.append(next(name for name in candidates if name not in names))
    return names
