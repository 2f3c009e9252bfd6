"""Read Kafka tables in real-time mode: as streams of Spark's own Kafka source, whose records this package decodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pyspark
from pyspark.sql import SparkSession

from kafka_sql.catalog.catalog_table import CatalogTable, spark_schema
from kafka_sql.catalog.tables import Tables
from kafka_sql.definition import Definition
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.kafka.admin.cluster import cached_cluster
from kafka_sql.kafka.topic_partition import TopicPartition
from kafka_sql.realtime.checks import check_source
from kafka_sql.realtime.connector import add_connector, reader_options
from kafka_sql.realtime.payload_columns import decode_records
from kafka_sql.source.enumerator.partitions import list_partitions
from kafka_sql.source.enumerator.starting_offsets import clamp_to_log_end, resolve_start_offsets
from kafka_sql.spark.context import is_connect, is_pipeline, spark_context
from kafka_sql.spark.plan import Operator, reference
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.checkpoints.checkpoint import Checkpoint, locate
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json
from kafka_sql.sql.jobs.real_time.checks import SPARK_SOURCE, USE_MICRO_BATCHES, check_handler_classes
from kafka_sql.sql.rewrite.query_rewriter import StreamReader

SUFFIX: Final = "__realtime"  # of the temporary views over Spark's source
_MIN_VERSION: Final = (4, 3)


def check_session(spark: SparkSession, sink: str) -> None:
    """Check that the session supports real-time mode.

    Raises:
        UnsupportedSqlError: PySpark is too old, or the session is not a classic one.
    """
    version = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    if version < _MIN_VERSION:
        raise UnsupportedSqlError(
            f"INSERT INTO '{sink}': real-time mode needs PySpark 4.3 or newer, and this is {pyspark.__version__}. "
            f"{USE_MICRO_BATCHES}.",
            table=sink,
        )
    if is_connect(spark) or is_pipeline():
        where = "in a pipeline" if is_pipeline() else "over Spark Connect"
        raise UnsupportedSqlError(
            f"INSERT INTO '{sink}': real-time mode is not supported {where}. {USE_MICRO_BATCHES}.", table=sink
        )


def check_is_kafka_table(spark: SparkSession, sink: str) -> None:
    """Reject a table of Spark as the sink in real-time mode.

    Raises:
        UnsupportedSqlError: the latency mode is real-time.
    """
    if settings.is_real_time(spark):
        raise UnsupportedSqlError(
            f"INSERT INTO '{sink}': real-time mode writes Kafka tables only, and '{sink}' is a table of Spark. "
            f"{USE_MICRO_BATCHES}.",
            table=sink,
        )


def stream_reader(spark: SparkSession, tables: Tables, sink: CatalogTable) -> StreamReader:
    """Return what reads a table as a stream of Spark's own source, for a query that writes ``sink``."""

    def read(entry: CatalogTable) -> CatalogTable:
        """Return the table as a temporary view over Spark's source."""
        check_session(spark, sink.definition.name)
        definition = entry.definition
        check_source(definition)
        check_handler_classes(entry, add_connector(spark_context(spark), sink.definition.name))
        starts = _start_offsets(spark, definition, sink.definition.name)
        reader = spark.readStream.format(SPARK_SOURCE).options(**reader_options(definition, starts))
        rows = decode_records(reader.load(), definition, spark_schema(definition))
        view = "_".join(filter(None, entry.storage_name)) + SUFFIX
        rows.createOrReplaceTempView(view)
        tables.stream_views.add(view)
        # Spark would drop late records in aggregates; windows, which need a watermark, are rejected
        definition = replace(definition, table=replace(definition.table, watermark=None))
        return replace(entry, definition=definition, storage_name=("", view), source_catalog="")

    return read


def _start_offsets(spark: SparkSession, definition: Definition, sink: str) -> dict[TopicPartition, int] | None:
    """Return where a table is read from; None if the query resumes from its checkpoint."""
    _, location = locate(spark, sink)
    if Checkpoint(spark, location, sink).has_offsets():
        return None
    with cached_cluster(definition.client_config) as cluster:
        starts = resolve_start_offsets(definition, cluster, list_partitions(definition, cluster))
        return clamp_to_log_end(definition, cluster, starts, None)


def without_decoders(plan: Operator) -> Operator:
    """Return a plan in which each table is a source, without the operators that decode its records.

    A fingerprint made of it stays the same if a later version decodes records in another way.
    """
    if plan.name == "SubqueryAlias" and plan.detail.endswith(SUFFIX):
        return Operator(plan.name, columns=tuple(map(reference, plan.output)), detail=SPARK_SOURCE)
    return replace(plan, children=tuple(map(without_decoders, plan.children)))


def describe_tables(sink: str, sources: Sequence[CatalogTable]) -> Json:
    """Describe the sink and the sources for a fingerprint; they differ from those of micro-batches."""
    names = [source.definition.name for source in sources]
    return {"sink": _describe(sink), "sources": [_describe(name) for name in names]}


def _describe(name: str) -> Json:
    return {"name": f"table '{name}' in real-time mode"}
