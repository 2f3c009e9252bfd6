"""Run a streaming INSERT in Spark's real-time mode: read and write with Spark's own Kafka connector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as with_fields
from typing import Any, Final

import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kafka_sql.catalog.catalog_table import spark_schema
from kafka_sql.catalog.tables import CatalogTable, Tables
from kafka_sql.definition import Definition
from kafka_sql.errors import InvalidOptionError, UnsupportedSqlError
from kafka_sql.kafka.admin.cluster import cached_cluster
from kafka_sql.realtime.checks import check_handler_class, check_sink, check_source
from kafka_sql.realtime.client_properties import java_properties
from kafka_sql.realtime.connector_options import reader_options, writer_options
from kafka_sql.realtime.jars import add_connector
from kafka_sql.realtime.payload_columns import decode_records, encode_rows
from kafka_sql.source.enumerator.partitions import list_partitions
from kafka_sql.source.enumerator.starting_offsets import clamp_to_log_end, resolve_start_offsets
from kafka_sql.spark.context import is_pipeline, spark_context
from kafka_sql.spark.jar import load_class
from kafka_sql.spark.plan import OPERATOR_NAMES, Operator, read_plan, reference
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.checkpoints.checkpoint import Checkpoint, locate
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json
from kafka_sql.sql.jobs.real_time.operators import prepare_operators
from kafka_sql.sql.rewrite.query import StreamReader

SUFFIX: Final = "__realtime"  # of the temporary views over Spark's source
DEFAULT_BATCH_DURATION: Final = 5 * 60_000  # milliseconds, Spark's default
_SPARK_SOURCE: Final = "kafka"
_MIN_VERSION: Final = (4, 3)
# Spark's key and default, in milliseconds
_MIN_BATCH_DURATION: Final = ("spark.sql.streaming.realTimeMode.minBatchDuration", "5000")
_USE_MICRO_BATCHES: Final = "SET 'execution.latency-mode' = 'micro-batch' to run it in micro-batches"
# operators of analyzed plans; Spark allows more, which the tests do not cover
_SUPPORTED_OPERATORS: Final = frozenset(
    ("Filter", "Generate", "Join", "Project", "SubqueryAlias", "StreamingRelationV2", "Union", "View", "WithCTE")
) | {"CTERelationRef", "CTERelationDef"}  # joins are checked in real_time_operators
_AGGREGATES: Final = frozenset(("Aggregate", "Distinct"))
_WINDOW: Final = "PreciseTimestampConversion"  # Spark's function that computes a window's start and end
_SHUFFLE_PARTITIONS: Final = "spark.sql.shuffle.partitions"
_OPERATOR_DESCRIPTIONS: Final = {
    **OPERATOR_NAMES,
    "Aggregate": "an aggregate, a deduplication or a Top-N",
    "EventTimeWatermark": "a watermark",
    "Expand": "a sliding window",
    "Sort": "ORDER BY",
    "Window": "a window function",
}
_UNSUPPORTED_FUNCTIONS: Final = {
    "PythonUDF": "a Python function",
    "ScalarSubquery": "a subquery",
    "ListQuery": "a subquery",
}


def check_session(spark: SparkSession, sink: str) -> None:
    """Check that the session supports real-time mode.

    Raises:
        UnsupportedSqlError: PySpark is too old, or the session is not a classic one.
    """
    version = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    if version < _MIN_VERSION:
        raise UnsupportedSqlError(
            f"INSERT INTO '{sink}': real-time mode needs PySpark 4.3 or newer, and this is {pyspark.__version__}. "
            f"{_USE_MICRO_BATCHES}.",
            table=sink,
        )
    if spark_context(spark) is None or is_pipeline():
        where = "in a pipeline" if is_pipeline() else "over Spark Connect"
        raise UnsupportedSqlError(
            f"INSERT INTO '{sink}': real-time mode is not supported {where}. {_USE_MICRO_BATCHES}.", table=sink
        )


def check_is_kafka_table(spark: SparkSession, sink: str) -> None:
    """Reject a table of Spark as the sink in real-time mode.

    Raises:
        UnsupportedSqlError: the latency mode is real-time.
    """
    if settings.is_real_time(spark):
        raise UnsupportedSqlError(
            f"INSERT INTO '{sink}': real-time mode writes Kafka tables only, and '{sink}' is a table of Spark. "
            f"{_USE_MICRO_BATCHES}.",
            table=sink,
        )


def stream_reader(spark: SparkSession, tables: Tables, sink: CatalogTable) -> StreamReader | None:
    """Return what reads a table as a stream of Spark's own source, as a temporary view; None in micro-batches."""
    if not settings.is_real_time(spark):
        return None

    def read(entry: CatalogTable) -> CatalogTable:
        check_session(spark, sink.definition.name)
        _, location = locate(spark, sink.definition.name)
        resumes = Checkpoint(spark, location, sink.definition.name).has_offsets()
        definition = entry.definition
        check_source(definition)
        loader = add_connector(spark_context(spark), sink.definition.name)
        _check_handler_classes(entry, loader)
        starts = None
        if not resumes:
            with cached_cluster(definition.client_config) as cluster:
                partitions = list_partitions(definition, cluster)
                starts = resolve_start_offsets(definition, cluster, partitions)
                starts = clamp_to_log_end(definition, cluster, starts, None)
        reader = spark.readStream.format("kafka").options(**reader_options(definition, starts))
        rows = decode_records(reader.load(), definition, spark_schema(definition))
        view = "_".join(filter(None, entry.storage_name)) + SUFFIX
        rows.createOrReplaceTempView(view)
        tables.stream_views.add(view)
        # Spark would drop late records in aggregates; windows, which need a watermark, are rejected
        table = with_fields(definition.table, watermark=None)
        definition = with_fields(definition, table=table)
        return with_fields(entry, definition=definition, storage_name=("", view), source_catalog="")

    return read


def check_query(entry: CatalogTable, rows: DataFrame) -> None:
    """Check that real-time mode supports the table to write, and the operators of a query.

    Raises:
        UnsupportedSqlError: an operator or a function is not supported, or the session has too few cores.
        UnsupportedOptionError, SchemaError: see ``check_sink``.
        InvalidOptionError: the duration of a batch is too short.
    """
    check_sink(entry.definition)
    _check_interval(rows.sparkSession, entry.definition.name)
    plan = read_plan(rows)
    _check_plan(plan, entry.definition)
    if _has_aggregate(plan):
        _check_cores(rows.sparkSession, entry.definition.name)


def prepare_query(rows: DataFrame, states: Sequence[Json], sink: str) -> DataFrame:
    """Return a query as Spark runs it in real-time mode.

    Args:
        rows: the rows, with row kinds if they are deleted.
        states: the stateful operators of this package in the query.
        sink: the table that the query writes, for errors.

    Raises:
        UnsupportedSqlError: it has such operators; or see ``prepare_operators``.
    """
    if states:
        raise UnsupportedSqlError(
            f"INSERT INTO '{sink}': an aggregate function with DISTINCT, or another aggregate whose old rows are kept, "
            f"is not supported in real-time mode. {_USE_MICRO_BATCHES}.",
            table=sink,
        )
    return prepare_operators(rows, sink)


def _check_interval(spark: SparkSession, sink: str) -> None:
    interval = settings.read(spark, settings.CHECKPOINT_INTERVAL)
    minimum = int(spark.conf.get(*_MIN_BATCH_DURATION) or 0)
    if interval is not None and interval < minimum:
        key = settings.CHECKPOINT_INTERVAL.key
        raise InvalidOptionError(
            f"INSERT INTO '{sink}': '{key}' is {interval} ms, but a batch of real-time mode takes at least {minimum} "
            f"ms (Spark's '{_MIN_BATCH_DURATION[0]}'). It does not delay records: SET a longer one, or RESET '{key}'.",
            option=key,
            table=sink,
        )


def _check_cores(spark: SparkSession, sink: str) -> None:
    """Check that the tasks of an aggregate can run beside those of the sources. Only a local session's cores are fixed.

    Raises:
        UnsupportedSqlError: they cannot.
    """
    context = spark.sparkContext
    partitions = int(spark.conf.get(_SHUFFLE_PARTITIONS) or 0)
    if str(context.master).startswith("local") and partitions >= context.defaultParallelism:
        raise UnsupportedSqlError(
            f"INSERT INTO '{sink}': in real-time mode, each of the {partitions} partitions of an aggregate "
            f"('{_SHUFFLE_PARTITIONS}') and each partition of the sources needs a core, and the session has "
            f"{context.defaultParallelism}. SET 'parallelism.default' to fewer, start the session with more, such as "
            f"local[8], or {_USE_MICRO_BATCHES}.",
            table=sink,
        )


def _has_aggregate(plan: Operator) -> bool:
    return any(operator.name in _AGGREGATES for operator in plan.walk())


def _check_plan(plan: Operator, definition: Definition) -> None:
    is_aggregated = _has_aggregate(plan)
    supported = _SUPPORTED_OPERATORS | (_AGGREGATES if definition.is_upsert else frozenset())
    for operator in plan.walk():
        unsupported = None
        if not operator.children and operator.detail != _SPARK_SOURCE:
            unsupported = f"the source '{operator.detail or operator.name}'"
        elif operator.name not in supported:
            unsupported = _OPERATOR_DESCRIPTIONS.get(operator.name, f"the operator {operator.name}")
        for column in (*operator.columns, *operator.keys, *filter(None, (operator.condition,))):
            for part in column.walk():
                unsupported = unsupported or _UNSUPPORTED_FUNCTIONS.get(part.name)
                if is_aggregated and part.name == _WINDOW:
                    unsupported = unsupported or "an aggregate over windows, whose rows are final,"
        if unsupported is not None:
            raise UnsupportedSqlError(
                f"INSERT INTO '{definition.name}': {unsupported} is not supported in real-time mode, which runs "
                "projections, filters, UNION ALL, LATERAL VIEW and joins with tables, and, into an 'upsert-kafka' "
                f"table, aggregates, deduplication and Top-N. {_USE_MICRO_BATCHES}.",
                table=definition.name,
            )


def without_decoders(plan: Operator) -> Operator:
    """Return a plan for a fingerprint, in which the tables are sources: how they are decoded does not matter."""
    if plan.name == "SubqueryAlias" and plan.detail.endswith(SUFFIX):
        return Operator(plan.name, columns=tuple(map(reference, plan.output)), detail=_SPARK_SOURCE)
    return with_fields(plan, children=tuple(map(without_decoders, plan.children)))


def describe_tables(sink: str, sources: Sequence[CatalogTable]) -> Json:
    """Describe the sink and the sources for a fingerprint; they differ from those of micro-batches."""
    names = [source.definition.name for source in sources]
    return {"sink": _describe(sink), "sources": [_describe(name) for name in names]}


def _describe(name: str) -> Json:
    return {"name": f"table '{name}' in real-time mode"}


def start(rows: DataFrame, entry: CatalogTable, name: str, location: str, interval: int | None) -> StreamingQuery:
    """Start a query in real-time mode.

    Args:
        rows: the rows in the table's columns.
        interval: the duration of a batch in milliseconds.

    Raises:
        UnsupportedOptionError: a property has no equivalent.
    """
    definition = entry.definition
    loader = add_connector(spark_context(rows.sparkSession), definition.name)
    _check_handler_classes(entry, loader)
    records = encode_rows(rows, definition, spark_schema(definition))
    writer: Any = records.writeStream.queryName(name).option("checkpointLocation", location)
    writer = writer.format("kafka").options(**writer_options(definition)).outputMode("update")
    writer = writer.trigger(realTime=f"{interval or DEFAULT_BATCH_DURATION} milliseconds")
    query: StreamingQuery = writer.start()
    return query


def _check_handler_classes(entry: CatalogTable, loader: Any) -> None:
    for key, value in java_properties(entry.definition).items():
        if key.endswith(".class"):
            check_handler_class(entry.definition, key, value, load_class(loader, value) is not None)
