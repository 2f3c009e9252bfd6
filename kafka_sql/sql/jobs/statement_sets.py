"""Statement sets: several INSERTs as one, started together or not at all."""

from __future__ import annotations

import logging

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import StatementError
from kafka_sql.sql.dataframes import empty_dataframe
from kafka_sql.sql.jobs import checkpoints, settings, streaming
from kafka_sql.sql.jobs.batch_size import limit_batches_by_rows
from kafka_sql.sql.jobs.inserts import PreparedInsert, RunSql, prepare
from kafka_sql.sql.jobs.job_registry import Job
from kafka_sql.sql.recognize.classify import Insert, classify
from kafka_sql.sql.recognize.names import resolve_table
from kafka_sql.sql.recognize.statement_types import StatementSet

_LOG = logging.getLogger("kafka_sql.sql")


def execute(spark: SparkSession, tables: Tables, statement: StatementSet, run: RunSql) -> DataFrame:
    """Carry out all INSERTs of a set; each is checked before the first one writes or starts.

    Returns:
        a row with the column ``job id`` for each continuous query; an empty DataFrame if there is none.

    Raises:
        StatementError: the set has no END, no INSERT, or another statement.
    """
    if not statement.has_end:
        raise StatementError(
            "STATEMENT SET without END: give the whole set in one text, EXECUTE STATEMENT SET BEGIN INSERT ...; "
            "INSERT ...; END;"
        )
    if not statement.inserts:
        raise StatementError("NO statements in statement set: put INSERT statements between BEGIN and END.")
    ready = [_prepared(spark, tables, n, text, run) for n, text in enumerate(statement.inserts, 1)]
    jobs: list[Job] = []
    try:
        for prepared, name in zip(ready, _names(spark, ready), strict=True):
            if prepared.stream is None:
                with limit_batches_by_rows(spark):
                    run(prepared.batch)
            else:
                bounded = prepared.bounded
                jobs.append(streaming.start_job(spark, prepared.entry, prepared.stream, prepared.text, name, bounded))
    except BaseException:  # an interrupt, too
        _stop(jobs)
        raise
    return streaming.job_ids(spark, jobs) if jobs else empty_dataframe(spark)


def _stop(jobs: list[Job]) -> None:
    """Stop all of them; what keeps one from it is logged, so that the first failure stays the one that is raised."""
    for job in jobs:
        try:
            job.stop()
        except BaseException as e:  # noqa: BLE001  # the caller raises what came first
            _LOG.error("Statement set: job '%s' (%s) could not be stopped: %s", job.id, job.name, e)


def _prepared(spark: SparkSession, tables: Tables, number: int, text: str, run: RunSql) -> PreparedInsert:
    insert = classify(text)
    if not isinstance(insert, Insert):
        raise StatementError(
            f"STATEMENT SET, statement {number}: only INSERT statements can stand in it, each with a ';' behind it."
        )
    entry = resolve_table(tables, insert.name)
    if entry is None:
        raise StatementError(
            f"STATEMENT SET, statement {number}: '{'.'.join(insert.name)}' is no Kafka table. Run its INSERT by itself."
        )
    return prepare(spark, tables, entry, insert, run)


def _names(spark: SparkSession, ready: list[PreparedInsert]) -> list[str]:
    """A name and checkpoint for each: of the set and the sink, numbered where a sink stands in it again."""
    pipeline = settings.read(spark, settings.PIPELINE_NAME)
    names: list[str] = []
    for prepared in ready:
        sink = checkpoints.folder_name(prepared.entry.definition.name)
        base = f"{pipeline}/{sink}" if pipeline else f"insert-into_{sink}"
        again = sum(name == base or name.startswith(f"{base}-") for name in names)
        names.append(f"{base}-{again + 1}" if again else base)
    return names
