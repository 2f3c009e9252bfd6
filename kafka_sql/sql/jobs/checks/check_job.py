"""Check that a continuous query can start: its checkpoint, its operations, its tables and topics."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from kafka_sql.catalog.catalog_table import changes_provider
from kafka_sql.definition import Definition
from kafka_sql.errors import InvalidOptionError
from kafka_sql.options import connector as opt
from kafka_sql.sink.exactly_once.driver import check_query
from kafka_sql.sink.exactly_once.timeout import check_trigger_interval
from kafka_sql.spark.context import is_connect
from kafka_sql.spark.plan_reader import read_plan
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.checkpoints.checkpoint import Checkpoint, locate
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json, make_fingerprint
from kafka_sql.sql.jobs.checks.start_checks import (
    check_changelog_modes,
    check_event_times,
    check_name,
    check_sources,
    check_target,
)
from kafka_sql.sql.jobs.checks.unsupported_operations import check_operations
from kafka_sql.sql.jobs.job_plan import JobCheckpoint, JobMode, JobPlan
from kafka_sql.sql.jobs.real_time.source import describe_tables, without_decoders
from kafka_sql.sql.jobs.registry.job_registry import session_jobs
from kafka_sql.sql.jobs.targets.file_sink import check_file_sink
from kafka_sql.sql.jobs.targets.spark_table import Sink, SparkTable


def check_job(spark: SparkSession, plan: JobPlan) -> JobPlan:
    """Check that a continuous query can start, and return its plan with the checkpoint. Starts nothing.

    The checkpoint is ``<execution.checkpointing.dir>/<pipeline.name>``, so the same statement resumes where it stopped.

    Raises:
        MissingOptionError: no checkpoint folder is set.
        InvalidOptionError: the checkpoint folder cannot be used; or see ``check_exactly_once``.
        StatementError: a query of that name is running.
        CheckpointError: the checkpoint belongs to another query; or it is new, and another query has written the table
            with the same transactional id prefix.
        UnsupportedSqlError: a table cannot be read as a stream.
        BrokerError: a topic does not exist, or must not be read or written.
    """
    sink = plan.sink_name
    name, location = locate(spark, sink, plan.name)
    check_name(spark, name, sink)
    if is_connect(spark):  # only the server can access the checkpoint and the brokers
        check_changelog_modes(plan.sources)
        return replace(plan, checkpoint=JobCheckpoint(name, location, None))
    checkpoint = Checkpoint(spark, location, sink)
    fingerprint = _make_fingerprint(plan)
    missing_topics = [source.definition.options[opt.MISSING_TOPICS] for source in plan.sources]
    checkpoint.check(fingerprint, opt.IGNORE in missing_topics)
    if plan.mode is JobMode.MICRO_BATCH:
        check_operations(plan.stream, plan.uses_update_mode, sink)
    check_event_times(plan.stream, sink)
    resumes = checkpoint.has_offsets()
    check_sources(plan.sources, resumes)
    for write in plan.writes:
        if not isinstance(write.target, SparkTable):
            check_target(write.target, write.rows)
            if check_exactly_once(spark, write.target.definition) is not None:
                check_query(write.target.definition, checkpoint.query_id())
        elif write.target.sink is Sink.FILES:
            check_file_sink(spark, write.target, location, resumes)
    return replace(plan, checkpoint=JobCheckpoint(name, location, fingerprint))


def _make_fingerprint(plan: JobPlan) -> Json:
    """Return what a checkpoint requires of a continuous query."""
    definitions = {source.provider: source.definition for source in plan.sources}
    definitions |= {changes_provider(source): source.definition for source in plan.sources}
    operators, is_real_time = read_plan(plan.stream), plan.mode is JobMode.REAL_TIME
    if is_real_time:
        operators = without_decoders(operators)
    fingerprint = make_fingerprint(operators, plan.sink_description, definitions, plan.states)
    return fingerprint | describe_tables(plan.sink_name, plan.sources) if is_real_time else fingerprint


def check_exactly_once(spark: SparkSession, definition: Definition) -> tuple[str, str] | None:
    """Check an exactly-once sink before its query starts.

    Returns:
        cluster and transactional id prefix, which no other query may use; None if the sink is not exactly-once.

    Raises:
        InvalidOptionError: a job of this session uses the same prefix, or the transaction timeout is shorter than the
            trigger interval.
    """
    if not definition.is_exactly_once:
        return None
    interval = settings.read(spark, settings.CHECKPOINT_INTERVAL)
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
