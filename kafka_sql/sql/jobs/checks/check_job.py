"""Check that a continuous query can start: its checkpoint, its operations, its tables and topics."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.catalog_table import CatalogTable, changes_provider
from kafka_sql.catalog.data_source import arrow_schema
from kafka_sql.definition import Definition
from kafka_sql.errors import AuthorizationError, InvalidOptionError, StatementError, UnsupportedSqlError
from kafka_sql.kafka.admin.cluster import Cluster, cached_cluster
from kafka_sql.options import connector as opt
from kafka_sql.sink.exactly_once.driver import check_query, check_trigger_interval
from kafka_sql.sink.spark_writers import check_sink
from kafka_sql.source.changelog_checks import check_stream_read
from kafka_sql.source.dynamic.clusters import Clusters, table_cluster
from kafka_sql.source.enumerator.partitions import list_partitions
from kafka_sql.source.enumerator.starting_offsets import resolve_start_offsets
from kafka_sql.spark.catalyst import elements, event_times, has_equality, joins_of_streams
from kafka_sql.spark.context import is_connect
from kafka_sql.spark.plan_reader import read_plan
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.checkpoints.checkpoint import Checkpoint, locate
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json, make_fingerprint
from kafka_sql.sql.jobs.checks.unsupported_operations import check_operations
from kafka_sql.sql.jobs.job_plan import JobMode, JobPlan
from kafka_sql.sql.jobs.real_time.source import describe_tables, without_decoders
from kafka_sql.sql.jobs.registry import session_jobs
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
        return replace(plan, name=name, checkpoint=location)
    checkpoint = Checkpoint(spark, location, sink)
    fingerprint = _make_fingerprint(plan)
    missing_topics = [source.definition.options[opt.MISSING_TOPICS] for source in plan.sources]
    checkpoint.check(fingerprint, opt.IGNORE in missing_topics)
    if plan.mode is JobMode.MICRO_BATCH:
        check_operations(plan.stream, plan.uses_update_mode, sink)
    check_joins(plan.stream, sink)
    resumes = checkpoint.has_offsets()
    check_sources(plan.sources, resumes)
    for write in plan.writes:
        if not isinstance(write.target, SparkTable):
            check_target(write.target, write.rows)
            if check_exactly_once(spark, write.target.definition) is not None:
                check_query(write.target.definition, checkpoint.query_id())
        elif write.target.sink is Sink.FILES:
            check_file_sink(spark, write.target, location, resumes)
    return replace(plan, name=name, checkpoint=location, fingerprint=fingerprint)


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


def check_name(spark: SparkSession, name: str, sink: str) -> None:
    """Check that no query is running under a name, which is also the name of its checkpoint.

    Raises:
        StatementError: one is.
    """
    running = [query for query in spark.streams.active if query.name == name]
    if running:
        raise StatementError(
            f"INSERT INTO '{sink}': job '{running[0].id}' is running under the name '{name}', which is also the name "
            f"of its checkpoint. SET another '{settings.PIPELINE_NAME.key}', or STOP JOB '{running[0].id}'.",
            table=sink,
        )


def check_changelog_modes(sources: Iterable[CatalogTable]) -> None:
    """Check that the tables can be read as streams.

    Raises:
        UnsupportedSqlError: a table is a changelog whose stream would return changes as rows.
    """
    for source in sources:
        check_stream_read(source.definition)


def check_sources(sources: Iterable[CatalogTable], resumes: bool) -> None:
    """Check that the topics of tables exist and can be read, and where the query starts.

    Args:
        resumes: whether the query continues from a checkpoint, so that the startup mode does not apply.

    Raises:
        BrokerError: a cluster does not respond, a topic does not exist, a start offset cannot be resolved, or the user
            may not read.
    """
    for definition in {source.provider: source.definition for source in sources}.values():
        if definition.is_builtin:
            continue
        with table_cluster(definition) as cluster:
            if isinstance(cluster, Clusters) and not resumes:
                cluster.check_streams()
            partitions = list_partitions(definition, cluster)
            if not resumes:
                resolve_start_offsets(definition, cluster, partitions)
            _check_operation(definition, cluster, {topic for topic, _ in partitions}, "READ")


def check_target(entry: CatalogTable, rows: DataFrame) -> None:
    """Check that rows can be written to a table. Its topics are created if 'sink.topic.create' is true.

    Raises:
        BrokerError: the cluster does not respond, a topic does not exist or differs from its declaration, or the user
            may not write.
        SchemaError, InvalidOptionError: see ``check_sink``.
    """
    definition = entry.definition
    if definition.is_builtin:
        return
    check_sink(definition, arrow_schema(rows.schema))
    with cached_cluster(definition.client_config) as cluster:
        _check_operation(definition, cluster, opt.topics(definition.options) or (), "WRITE")


def check_joins(rows: DataFrame, sink: str) -> None:
    """Check the joins of streams, at which Spark would fail in the first micro-batch.

    A join has an equality, and each input one event time. The rows of a window have two if a query uses its time
    column: this column and ``window_time``.

    Raises:
        UnsupportedSqlError: a join has no equality, or an input several event times.
    """
    if not any(operator.joins_streams() for operator in read_plan(rows).walk()):
        return
    for join in joins_of_streams(rows):
        if not has_equality(rows.sparkSession, join):
            raise UnsupportedSqlError(
                f"INSERT INTO '{sink}': a CROSS JOIN of streams, or a JOIN of streams without an equality of columns "
                "of both sides, is not supported in a continuous query. Add an equality to ON, such as a.id = b.id.",
                table=sink,
            )
        for times in map(event_times, elements(join.children())):
            if len(times) > 1:
                raise UnsupportedSqlError(
                    f"INSERT INTO '{sink}': an input of a join of streams has several event times, "
                    f"{' and '.join(times)}, and Spark supports only one. Use one of these columns in the query, or "
                    "join a subquery that copies the other one: SELECT *, ts + INTERVAL '0' SECOND AS copy FROM ...",
                    table=sink,
                )


def _check_operation(definition: Definition, cluster: Cluster, topics: Collection[str], operation: str) -> None:
    for topic, state in cluster.describe_topics(topics).items():
        if state.allowed_operations and operation not in state.allowed_operations:
            raise AuthorizationError(
                f"Table '{definition.name}': the user is not allowed to {operation.lower()} topic '{topic}'. Grant "
                f"the user {operation} on the topic.",
                topic=topic,
            )
