"""Check what a continuous query needs, before it starts: changelog modes, topics, permissions, and its name."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.catalog.data_source import arrow_schema
from kafka_sql.definition import Definition
from kafka_sql.errors import AuthorizationError, StatementError, UnsupportedSqlError
from kafka_sql.kafka.admin.cluster import Cluster, cached_cluster
from kafka_sql.options import connector as opt
from kafka_sql.sink.spark_writers import check_sink
from kafka_sql.source.changelog_checks import check_stream_read
from kafka_sql.source.dynamic.clusters import Clusters, table_cluster
from kafka_sql.source.enumerator.partitions import list_partitions
from kafka_sql.source.enumerator.starting_offsets import resolve_start_offsets
from kafka_sql.spark.catalyst import event_times_of_joins
from kafka_sql.spark.plan_reader import read_plan
from kafka_sql.sql.jobs import settings


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


def check_event_times(rows: DataFrame, sink: str) -> None:
    """Check that each input of a join of streams has one event time: Spark would fail in the first micro-batch.

    The rows of a window have two if a query uses its time column: this column and ``window_time``.

    Raises:
        UnsupportedSqlError: an input has several.
    """
    if not any(operator.joins_streams() for operator in read_plan(rows).walk()):
        return
    for times in event_times_of_joins(rows):
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
