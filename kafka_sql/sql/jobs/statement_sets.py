"""Execute statement sets: several INSERTs that start together or not at all."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import CheckpointError, StatementError, UnsupportedSqlError
from kafka_sql.spark.context import is_connect
from kafka_sql.spark.plan import STREAM, WATERMARK, Operator
from kafka_sql.spark.plan_reader import read_plan
from kafka_sql.spark.shared_read import read_source
from kafka_sql.sql.dataframes import SparkSql, empty_dataframe
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.changelog.relation import Mode
from kafka_sql.sql.jobs.checkpoints.checkpoint import Checkpoint, folder_name, locate
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json
from kafka_sql.sql.jobs.checks.check_job import check_job
from kafka_sql.sql.jobs.job_plan import JobPlan
from kafka_sql.sql.jobs.plan.insert import plan_insert
from kafka_sql.sql.jobs.registry import Job
from kafka_sql.sql.jobs.run import job_ids, start_job, write_batch
from kafka_sql.sql.jobs.targets.shared_sink import SharedSink
from kafka_sql.sql.jobs.targets.spark_table import Sink, SparkTable
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
    """Plan all INSERTs of a set.

    Raises:
        StatementError, UnsupportedSqlError: see ``execute``.
    """
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


# operators that neither keep rows nor read other tables
_STATELESS: Final = frozenset(
    {WATERMARK, "Filter", "Generate", "Project", "Repartition", "RepartitionByExpression"} | {"SubqueryAlias", "View"}
)
_SUBQUERIES: Final = frozenset({"Exists", "InSubquery", "LateralSubquery", "ListQuery", "ScalarSubquery"})


def share_reads(spark: SparkSession, plans: Sequence[JobPlan]) -> list[JobPlan]:
    """Replace the plans of a set that can share a read by one plan, at the place of the first of them.

    INSERTs share a read if they only filter and compute rows of one table, if their sinks can write a micro-batch
    again without duplicates or are at-least-once anyway, and if they have no checkpoints of their own, from which they
    would resume.

    Raises:
        CheckpointError: an INSERT that cannot share a read did so when the set ran before.
    """
    if is_connect(spark):
        return list(plans)
    is_new = [plan.is_continuous and not _has_offsets(spark, plan) for plan in plans]
    groups = _find_groups(plans, is_new)
    names = [plan.name for plan in plans if plan.name is not None]
    shared = dict.fromkeys(chain.from_iterable(groups))
    combined: dict[int, JobPlan] = {}
    for group in groups:
        name = unique_name(_shared_name(spark, plans[group[0]].sources[0]), names)
        names.append(name)
        combined[group[0]] = _combine([plans[n] for n in group], name)
    sinks = {plan.name: plan.sink_description for plan in combined.values()}
    for number, plan in enumerate(plans):
        if is_new[number] and number not in shared:
            _check_not_shared_before(spark, plan, sinks)
    return [combined.get(n, plan) for n, plan in enumerate(plans) if n in combined or n not in shared]


def _find_groups(plans: Sequence[JobPlan], is_new: Sequence[bool]) -> list[list[int]]:
    """Return the numbers of the plans that can share a read, by source."""
    by_source: dict[str, list[int]] = {}
    locations = [_location(plan) for plan in plans]
    for number, plan in enumerate(plans):
        is_only_writer = locations[number] is None or locations.count(locations[number]) == 1
        if is_new[number] and is_only_writer and _can_share(plan):
            by_source.setdefault(plan.sources[0].provider, []).append(number)
    return [numbers for numbers in by_source.values() if len(numbers) > 1]


def _combine(plans: Sequence[JobPlan], name: str) -> JobPlan:
    """Return the plan that writes the rows of several plans."""
    writes = [write for plan in plans for write in plan.writes]
    rows, first = read_source([write.rows for write in writes]), plans[0]
    sink = SharedSink(writes)
    return JobPlan(first.mode, first.text, sink, rows, first.sources, is_bounded=first.is_bounded, name=name)


def _can_share(plan: JobPlan) -> bool:
    if plan.changelog_mode is not Mode.INSERT_ONLY or plan.uses_update_mode or plan.states:
        return False
    return len(plan.sources) == 1 and _can_repeat(plan.sink) and _is_stateless(read_plan(plan.stream), plan)


def _can_repeat(target: object) -> bool:
    """Return whether a batch write of a micro-batch has the guarantee of the table's streaming sink."""
    if isinstance(target, SparkTable) and target.history is not None:
        return False
    if isinstance(target, SparkTable):
        return bool(target.primary_key) or target.sink is not Sink.STREAM or target.provider == "delta"
    return isinstance(target, CatalogTable) and not target.definition.is_exactly_once


def _is_stateless(operator: Operator, plan: JobPlan) -> bool:
    operators = list(operator.walk())
    leaf = operators[0]
    return (
        leaf.name.startswith(STREAM)
        and leaf.detail == plan.sources[0].provider
        and all(operator.name in _STATELESS and len(operator.children) == 1 for operator in operators[1:])
        and not any(part.name in _SUBQUERIES for operator in operators for part in operator.expressions)
    )


def _location(plan: JobPlan) -> str | None:
    """Return the folder of a file-based target, which one query can write."""
    target = plan.sink
    return target.location if isinstance(target, SparkTable) and target.sink is Sink.FILES else None


def _has_offsets(spark: SparkSession, plan: JobPlan) -> bool:
    _, location = locate(spark, plan.sink_name, plan.name)
    return Checkpoint(spark, location, plan.sink_name).has_offsets()


def _shared_name(spark: SparkSession, source: CatalogTable) -> str:
    """Return the name of the query that reads a table for several INSERTs of a set."""
    pipeline = settings.read(spark, settings.PIPELINE_NAME)
    table = folder_name(source.definition.name)
    return f"{pipeline}/from_{table}" if pipeline else f"insert-from_{table}"


def unique_name(name: str, others: Collection[str]) -> str:
    """Return a name, with a number if it is one of the others."""
    candidates = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(candidate for candidate in candidates if candidate not in others)


def _check_not_shared_before(spark: SparkSession, plan: JobPlan, sinks: Mapping[str | None, Json]) -> None:
    """Check that an INSERT without its own checkpoint has not shared a read before: it would write rows again."""
    table = plan.sink_name
    for source in plan.sources:
        name, location = locate(spark, table, _shared_name(spark, source))
        checkpoint = Checkpoint(spark, location, table)
        stored: Json = (checkpoint.fingerprint() if checkpoint.has_offsets() else None) or {}
        sink = stored.get("sink")
        if isinstance(sink, dict) and sink != sinks.get(name) and f"'{table}'" in str(sink.get("name")):
            raise CheckpointError(
                f"INSERT INTO '{table}': the statement set ran before as query '{name}' for {sink['name']}, whose "
                f"checkpoint is '{checkpoint.location}'. Now this INSERT is a separate query, so it would write rows "
                "again. Run the statement set as it was when it wrote the checkpoint, or start with a new checkpoint: "
                f"SET another '{settings.PIPELINE_NAME.key}' or '{settings.CHECKPOINT_DIR.key}'.",
                table=table,
            )
