"""Start queries in Spark's real-time mode, over Spark's own Kafka connector.

The offsets of each batch are committed to Kafka, as streams of micro-batches do.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from pyspark.sql.streaming.query import StreamingQuery

from kafka_sql.catalog.catalog_table import CatalogTable, spark_schema
from kafka_sql.errors import BrokerError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.observability.metrics import SparkSource, add_sources, remove_sources
from kafka_sql.options import connector as opt
from kafka_sql.realtime.connector import add_connector, writer_options
from kafka_sql.realtime.payload_columns import encode_rows
from kafka_sql.source.stream.offset_commits import OffsetCommitter
from kafka_sql.source.stream.stream_offset import flatten
from kafka_sql.spark.context import spark_context
from kafka_sql.spark.data_sources import active_session
from kafka_sql.spark.streaming_queries import add_listener
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.job_plan import JobPlan
from kafka_sql.sql.jobs.real_time.checks import check_handler_classes
from kafka_sql.sql.jobs.registry import Job, register_job
from kafka_sql.sql.jobs.start_settings import write_directly

_LOG = logging.getLogger("kafka_sql.source")
_ATTRIBUTE: Final = "_kafka_sql_real_time_commits"
_FINAL_COMMIT_TIMEOUT: Final = 10.0  # seconds


DEFAULT_BATCH_DURATION: Final = 5 * 60_000  # milliseconds, Spark's default


def start(spark: SparkSession, plan: JobPlan) -> Job:
    """Start a query that was checked."""
    entry = plan.sink
    assert isinstance(entry, CatalogTable)
    definition, interval = entry.definition, settings.read(spark, settings.CHECKPOINT_INTERVAL)
    with active_session(spark), write_directly(spark, plan.checkpoint):
        loader = add_connector(spark_context(spark), definition.name)
        check_handler_classes(entry, loader)
        records = encode_rows(plan.stream, definition, spark_schema(definition))
        writer: Any = records.writeStream.queryName(plan.name or "")
        writer = writer.option("checkpointLocation", plan.checkpoint)
        writer = writer.format("kafka").options(**writer_options(definition)).outputMode("update")
        query: StreamingQuery = writer.trigger(realTime=f"{interval or DEFAULT_BATCH_DURATION} milliseconds").start()
    commit_offsets(spark, query.id, plan.sources)
    return register_job(spark, query)


class OffsetCommits(StreamingQueryListener):
    """Commits the end offsets of each batch, by query id."""

    def __init__(self) -> None:
        """Start without queries."""
        self._sources: dict[str, list[SparkSource]] = {}

    def add(self, query: str, sources: Sequence[CatalogTable]) -> None:
        """Commit the offsets of a query."""
        self._sources[query] = [SparkSource(s.definition.name, _create_committer(s)) for s in sources]
        add_sources(query, self._sources[query])

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing: the query is added when ``start`` has returned."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Commit the end of the batch."""
        known = self._sources.get(str(event.progress.id), [])
        sources = event.progress.sources
        if len(sources) == len(known):
            for source, table in zip(sources, known, strict=True):
                if table.committer is not None:
                    table.committer.commit(flatten(json.loads(source.endOffset)))  # {"orders": {"0": 17}}

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Do nothing: there is nothing to commit."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Wait a limited time for the last commit."""
        sources = self._sources.pop(str(event.id), [])
        remove_sources(str(event.id), sources)
        for source in sources:
            if source.committer is not None:
                source.committer.finish(_FINAL_COMMIT_TIMEOUT)


def commit_offsets(spark: SparkSession, query: str, sources: Sequence[CatalogTable]) -> None:
    """Commit the offsets of a query with an id after each of its batches."""
    commits: OffsetCommits | None = spark.__dict__.get(_ATTRIBUTE)
    if commits is None:
        commits = spark.__dict__[_ATTRIBUTE] = OffsetCommits()
        add_listener(spark, commits)
    commits.add(query, sources)


def _create_committer(entry: CatalogTable) -> OffsetCommitter | None:
    """Return what commits a table's offsets; None if its options disable that, or the client cannot be created."""
    definition = entry.definition
    group = definition.options.get(opt.GROUP_ID)
    if group is None or definition.options.get(opt.COMMIT_OFFSETS) is False:
        return None
    try:
        cluster = Cluster(definition.client_config)
    except BrokerError as e:
        _LOG.warning("could not commit offsets to Kafka; the query continues from its checkpoint: %s", e)
        return None
    return OffsetCommitter(lambda offsets: cluster.commit(group, offsets))
