"""Start continuous queries: an INSERT in streaming runtime mode becomes a Spark StreamingQuery."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.util import InheritableThread

from kafka_sql import state
from kafka_sql.catalog.catalog_table import changes_provider
from kafka_sql.catalog.spark_catalog import active_session
from kafka_sql.catalog.tables import CatalogTable
from kafka_sql.definition import Definition
from kafka_sql.errors import InvalidOptionError, UnsupportedSqlError
from kafka_sql.observability import lineage, observe
from kafka_sql.observability.late_records import watch_late_records
from kafka_sql.observability.lineage import LineageRun
from kafka_sql.options import connector as opt
from kafka_sql.sink.exactly_once.driver import check_query
from kafka_sql.sink.exactly_once.timeout import check_trigger_interval
from kafka_sql.source.enumerator.stopping_offsets import end_exists
from kafka_sql.spark.context import is_stopped, spark_context
from kafka_sql.spark.plan import read_plan
from kafka_sql.sql.dataframes import dataframe
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.changelog.relation import Mode
from kafka_sql.sql.jobs.checkpoints.checkpoint import Checkpoint, locate
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json, describe_sink, make_fingerprint
from kafka_sql.sql.jobs.checkpoints.local_files import write_directly
from kafka_sql.sql.jobs.checks.start_checks import (
    check_changelog_modes,
    check_event_times,
    check_name,
    check_sources,
    check_target,
)
from kafka_sql.sql.jobs.checks.unsupported_operations import (
    check_operations,
    is_unsupported_operation,
    unsupported_operation,
)
from kafka_sql.sql.jobs.checks.update_mode import check_update_mode
from kafka_sql.sql.jobs.micro_batch.bounded import stop_at_end
from kafka_sql.sql.jobs.real_time import real_time
from kafka_sql.sql.jobs.real_time.offset_commits import commit_offsets
from kafka_sql.sql.jobs.registry.job_registry import FAILED, FINISHED, Job, register_job, session_jobs
from kafka_sql.sql.jobs.targets.batch_functions import with_short_errors
from kafka_sql.sql.jobs.targets.batch_size import limit_batches_by_rows
from kafka_sql.sql.jobs.targets.builtin_sinks import start_stream
from kafka_sql.sql.jobs.targets.file_sink import check_file_sink
from kafka_sql.sql.jobs.targets.shared_sink import SharedSink, Write, claim_file_sinks, start_shared
from kafka_sql.sql.jobs.targets.spark_table import Sink, SparkTable
from kafka_sql.sql.jobs.targets.spark_writes import start_append, start_merge
from kafka_sql.sql.spark_errors import error_message, mask_message

_LOG = logging.getLogger("kafka_sql.sql.jobs")  # the command line, which prints failures itself, disables it
_WATERMARK: Final = "EventTimeWatermark"  # Spark's operator
_UNSUPPORTED_OUTPUT_MODE: Final = "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"


@dataclass(frozen=True)
class ContinuousQuery:
    """An INSERT that becomes a continuous query.

    Attributes:
        target: the table to write, a Kafka table with the options of its hint; or several tables.
        rows: the query's rows in the table's columns; for several tables, those of the source.
        sources: the Kafka tables that the query reads as streams, with the options of their hints.
        is_bounded: whether all its streams are bounded, so that the query ends.
        changelog_mode: how the rows change. Over Spark Connect, it is unknown; changes are rejected.
        is_updating: whether the query runs in Spark's update mode.
        states: the stateful operators of this package, as in a fingerprint.
        is_real_time: whether the query runs in Spark's real-time mode.
    """

    target: CatalogTable | SparkTable | SharedSink
    rows: DataFrame
    sources: Sequence[CatalogTable]
    is_bounded: bool
    changelog_mode: Mode = Mode.INSERT_ONLY
    is_updating: bool = False
    states: tuple[Json, ...] = ()
    is_real_time: bool = False

    @property
    def target_name(self) -> str:
        """The name of the table for messages, jobs and checkpoints."""
        return self.target.definition.name if isinstance(self.target, CatalogTable) else self.target.name

    @property
    def sink_description(self) -> Json:
        """What the checkpoint requires of the table."""
        if isinstance(self.target, SharedSink):
            return self.target.description
        if isinstance(self.target, SparkTable):
            key = {"key": list(self.target.primary_key)} if self.target.primary_key else {}
            history = {"history": self.target.history.start} if self.target.history is not None else {}
            return {"name": f"table '{self.target.name}'", **key, **history}
        return describe_sink(self.target.definition)


@dataclass(frozen=True)
class CheckedQuery:
    """A continuous query that may start.

    Attributes:
        query: the query.
        name: its name, which is also the name of its checkpoint.
        location: the folder of the checkpoint.
        fingerprint: what the checkpoint requires of the query; None over Spark Connect, which has no access to it.
    """

    query: ContinuousQuery
    name: str
    location: str
    fingerprint: Json | None


def check_job(spark: SparkSession, query: ContinuousQuery, name: str | None = None) -> CheckedQuery:
    """Check that a continuous query can start: its name, checkpoint, tables and topics. Starts nothing.

    The checkpoint is ``<execution.checkpointing.dir>/<pipeline.name>``, so the same statement resumes where it stopped.

    Args:
        name: the name to use instead of 'pipeline.name'.

    Raises:
        MissingOptionError: no checkpoint folder is set.
        InvalidOptionError: the checkpoint folder cannot be used; or see ``check_exactly_once``.
        StatementError: a query of that name is running.
        CheckpointError: the checkpoint belongs to another query; or it is new, and another query has written the table
            with the same transactional id prefix.
        UnsupportedSqlError: a table cannot be read as a stream.
        BrokerError: a topic does not exist, or must not be read or written.
    """
    sink, target = query.target_name, query.target
    name, location = locate(spark, sink, name)
    check_name(spark, name, sink)
    if spark_context(spark) is None:  # only the server can access the checkpoint and the brokers
        check_changelog_modes(query.sources)
        return CheckedQuery(query, name, location, None)
    checkpoint = Checkpoint(spark, location, sink)
    definitions = {source.provider: source.definition for source in query.sources}
    definitions |= {changes_provider(source): source.definition for source in query.sources}
    plan = read_plan(query.rows)
    if query.is_real_time:
        plan = real_time.without_decoders(plan)
    fingerprint = make_fingerprint(plan, query.sink_description, definitions, query.states)
    if query.is_real_time:
        fingerprint |= real_time.describe_tables(query.target_name, query.sources)
    checkpoint.check(fingerprint, any(d.options[opt.MISSING_TOPICS] == opt.IGNORE for d in definitions.values()))
    resumes = checkpoint.has_offsets()
    if not query.is_real_time:
        check_operations(query.rows, query.is_updating, sink)
    check_event_times(query.rows, sink)
    check_sources(query.sources, resumes)
    for write in target.writes if isinstance(target, SharedSink) else [Write(target, query.rows)]:
        if not isinstance(write.target, SparkTable):
            check_target(write.target, write.rows)
            if check_exactly_once(spark, write.target.definition) is not None:
                check_query(write.target.definition, checkpoint.query_id())
        elif write.target.sink is Sink.FILES:
            check_file_sink(spark, write.target, location, resumes)
    return CheckedQuery(query, name, location, fingerprint)


def start_job(spark: SparkSession, checked: CheckedQuery) -> Job:
    """Start a query that was checked.

    Raises:
        InvalidOptionError: the checkpoint folder cannot be written; or see ``check_exactly_once``.
        UnsupportedSqlError: see ``start_query``.
    """
    query, target = checked.query, checked.query.target
    interval = settings.read(spark, settings.CHECKPOINT_INTERVAL)
    transactional_sink = None
    if isinstance(target, CatalogTable):
        transactional_sink = check_exactly_once(spark, target.definition)  # again, after the other queries of a set
    if checked.fingerprint is not None:
        Checkpoint(spark, checked.location, query.target_name).record(checked.fingerprint)
    port = settings.read(spark, settings.METRICS_PORT)
    if port is not None:
        observe(spark, port, settings.read(spark, settings.METRICS_HOST) or "127.0.0.1")
    if query.is_real_time and isinstance(target, CatalogTable):
        with active_session(spark), write_directly(spark, checked.location):
            started = real_time.start(query.rows, target, checked.name, checked.location, interval)
        commit_offsets(spark, started.id, query.sources)
        job = register_job(spark, started)
        watch_end(spark, job, query)
        return job
    writer = query.rows.writeStream.queryName(checked.name).option("checkpointLocation", checked.location)
    ends_exist = query.is_bounded and all(
        end_exists(table.definition) and not table.definition.is_builtin for table in query.sources
    )
    if ends_exist:
        writer = writer.trigger(availableNow=True)
    elif interval is not None:
        writer = writer.trigger(processingTime=f"{interval} milliseconds")
    if spark_context(spark) is not None and any(o.name == _WATERMARK for o in read_plan(query.rows).walk()):
        watch_late_records(spark)
    written = target if isinstance(target, SharedSink) else SharedSink([Write(target, query.rows)])
    claim = claim_file_sinks(spark, written, checked.location)
    state_store = state.configure(spark) if query.states else nullcontext()
    files = write_directly(spark, checked.location)
    with claim, active_session(spark), limit_batches_by_rows(spark), state_store, files:
        job = register_job(spark, start_query(writer, query))
    job.transactional_sink = transactional_sink
    watch_end(spark, job, query)
    if query.is_bounded and not ends_exist:
        stop_at_end(job.query)
    return job


def watch_end(spark: SparkSession, job: Job, query: ContinuousQuery) -> None:
    """Log the error of a job that fails after its statement has returned; report its lineage. Does not wait for it."""
    sources = [source.definition for source in query.sources]
    targets = (
        [write.target for write in query.target.writes] if isinstance(query.target, SharedSink) else [query.target]
    )
    written = [target.definition for target in targets if isinstance(target, CatalogTable)]
    name = job.name or query.target_name
    run = lineage.start_run(name, sources, written, is_streaming=True, run_id=job.query.runId)
    arguments = (spark, job, query.target_name, run)
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
        message = mask_message(error_message(failure)).partition("\n")[0]
        log_fields = {"table": table}
        _LOG.error("INSERT INTO '%s': job '%s' (%s) failed: %s", table, job.id, job.name, message, extra=log_fields)
        if run is not None:
            run.fail(message)
    elif run is not None:
        run.complete() if job.status == FINISHED else run.abort()


def job_ids(spark: SparkSession, jobs: Sequence[Job]) -> DataFrame:
    """Return one row per job, with the column ``job id``."""
    return dataframe(spark, {"job id": pa.string()}, [(job.id,) for job in jobs])


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


def start_query(writer: DataStreamWriter, query: ContinuousQuery) -> StreamingQuery:
    """Start a query whose name and checkpoint are set.

    A query appends its new rows (append mode). If Spark rejects that because rows change, as in an aggregate, an upsert
    table gets the rows that each batch has changed (update mode). Python data sources do not support update mode, so
    these rows are written as one batch per micro-batch.

    Raises:
        UnsupportedSqlError: the rows change, and the table is not an upsert table; Spark does not support the query; or
            see ``check_update_mode``.
    """
    target, name = query.target, query.target_name
    if isinstance(target, SharedSink):
        return start_shared(writer, target)
    if isinstance(target, CatalogTable) and target.definition.is_builtin:
        return start_stream(writer, target)
    if isinstance(target, SparkTable) and target.primary_key:
        return start_merge(writer.outputMode("update" if query.is_updating else "append"), target)
    if query.is_updating and not isinstance(target, SparkTable):
        return _start_updating_query(writer, target.provider)
    try:
        if isinstance(target, SparkTable):
            return start_append(writer.outputMode("append"), target)
        return writer.format(target.provider).outputMode("append").start()
    except AnalysisException as e:
        if e.getCondition() != _UNSUPPORTED_OUTPUT_MODE or "aggregat" not in str(e):
            if is_unsupported_operation(e):  # over Spark Connect; see check_operations
                raise unsupported_operation(e, f"INSERT INTO '{name}'", name) from None
            raise
        if isinstance(target, SparkTable) or not target.definition.is_upsert:
            raise UnsupportedSqlError(
                f"INSERT INTO '{name}': Table sink '{name}' doesn't support consuming update changes which is produced "
                "by an aggregate without a watermark. Write into an 'upsert-kafka' table whose PRIMARY KEY consists of "
                "the columns of the GROUP BY. Or declare WATERMARK FOR a time column of the source, and GROUP BY a "
                "window over it, such as window(ts, '1 minute').",
                table=name,
            ) from e
    check_update_mode(read_plan(query.rows), name)
    return _start_updating_query(writer, target.provider)


def _start_updating_query(writer: DataStreamWriter, provider: str) -> StreamingQuery:
    def write(changes: DataFrame, batch: int) -> None:
        changes.write.format(provider).mode("append").save()

    return writer.outputMode("update").foreachBatch(with_short_errors(write)).start()
