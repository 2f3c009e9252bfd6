"""Commit the offsets of queries in real-time mode to Kafka after each batch, as streams of micro-batches do."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from kafka_sql.catalog.tables import CatalogTable
from kafka_sql.errors import BrokerError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.types import TopicPartition
from kafka_sql.observability.spark_sources import SparkSource, add_sources, remove_sources
from kafka_sql.options import connector as opt
from kafka_sql.source.stream.offset_commits import OffsetCommitter
from kafka_sql.source.stream.stream_offset import flatten
from kafka_sql.spark.query_listeners import add_listener

_LOG = logging.getLogger("kafka_sql.source")
_ATTRIBUTE: Final = "_kafka_sql_real_time_commits"
_FINAL_COMMIT_TIMEOUT: Final = 10.0  # seconds


class OffsetCommits(StreamingQueryListener):
    """Commits the end offsets of each batch, by query id."""

    def __init__(self) -> None:
        """Start without queries."""
        self._sources: dict[str, list[SparkSource]] = {}

    def add(self, query: str, sources: Sequence[CatalogTable]) -> None:
        """Commit the offsets of a query.

        Args:
            sources: the tables that it reads, in the order of its sources.
        """
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
                    table.committer.commit(parse_offsets(source.endOffset))

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


def parse_offsets(text: str) -> dict[TopicPartition, int]:
    """Return the offsets in the JSON of Spark's source: ``{"orders": {"0": 17}}``."""
    return flatten(json.loads(text))


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
