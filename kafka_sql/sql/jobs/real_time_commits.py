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
from kafka_sql.options import connector as opt
from kafka_sql.runtime.query_listeners import add_listener
from kafka_sql.source.stream.offset_commits import OffsetCommitter

_LOG = logging.getLogger("kafka_sql.source")
_ATTRIBUTE: Final = "_kafka_sql_real_time_commits"
_FINAL_COMMIT_TIMEOUT: Final = 10.0  # seconds


class OffsetCommits(StreamingQueryListener):
    """Commits the end offsets of each batch, by query id."""

    def __init__(self) -> None:
        """Start without queries."""
        self._committers: dict[str, list[OffsetCommitter | None]] = {}

    def add(self, query: str, sources: Sequence[CatalogTable]) -> None:
        """Commit the offsets of a query.

        Args:
            sources: the tables that it reads, in the order of its sources.
        """
        self._committers[query] = [_create_committer(source) for source in sources]

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing: the query is added when ``start`` has returned."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Commit the end of the batch."""
        committers = self._committers.get(str(event.progress.id), [])
        sources = event.progress.sources
        if len(sources) == len(committers):
            for source, committer in zip(sources, committers, strict=True):
                if committer is not None:
                    committer.commit(parse_offsets(source.endOffset))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Do nothing: there is nothing to commit."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Wait a limited time for the last commit."""
        for committer in self._committers.pop(str(event.id), []):
            if committer is not None:
                committer.finish(_FINAL_COMMIT_TIMEOUT)


def commit_offsets(spark: SparkSession, query: str, sources: Sequence[CatalogTable]) -> None:
    """Commit the offsets of a query with an id after each of its batches."""
    commits: OffsetCommits | None = spark.__dict__.get(_ATTRIBUTE)
    if commits is None:
        commits = spark.__dict__[_ATTRIBUTE] = OffsetCommits()
        add_listener(spark, commits)
    commits.add(query, sources)


def parse_offsets(text: str) -> dict[TopicPartition, int]:
    """Return the offsets in the JSON of Spark's source: ``{"orders": {"0": 17}}``."""
    offsets = json.loads(text)
    return {(topic, int(p)): offset for topic, partitions in offsets.items() for p, offset in partitions.items()}


def _create_committer(entry: CatalogTable) -> OffsetCommitter | None:
    """Return what commits a table's offsets; None if the table does not say so, or the client cannot be created."""
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
