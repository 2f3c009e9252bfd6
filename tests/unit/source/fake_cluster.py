"""A cluster in memory: logs with a start, an end, an open transaction, timestamps and committed offsets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from confluent_kafka.admin import OffsetSpec, PartitionMetadata, TopicMetadata

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import TopicNotFoundError
from kafka_sql.kafka.admin.cluster import Cluster, OffsetSpecs
from kafka_sql.kafka.admin.offsets import EARLIEST, LATEST
from kafka_sql.kafka.topic_partition import Offsets, TopicPartition
from kafka_sql.source.dynamic import clusters
from kafka_sql.source.stream import micro_batch
from kafka_sql.table.table import Column, Table


@dataclass
class Log:
    """The log of one partition.

    Attributes:
        start: the first available offset.
        end: the offset after the last record that a reader may read.
        open_records: records of an open transaction after ``end``.
        timestamps: the timestamp of each offset that has one.
    """

    start: int = 0
    end: int = 0
    open_records: int = 0
    timestamps: Mapping[int, int] = field(default_factory=dict)


class FakeCluster(Cluster):
    """Answers a source's requests from logs in memory.

    Attributes:
        logs: the partitions, which tests change.
        group_offsets: committed offsets by group.
        ids: topic ids.
        commits: group and offsets of each commit.
        listings: how often the topics were listed.
        earliest_requests: how often earliest offsets were requested.
    """

    def __init__(self, logs: Mapping[TopicPartition, Log]) -> None:
        self.logs = dict(logs)
        self.group_offsets: dict[str, Offsets] = {}
        self.ids: dict[str, str] = {}
        self.commits: list[tuple[str, Mapping[TopicPartition, int]]] = []
        self.listings = 0
        self.earliest_requests = 0

    def admin(self) -> Any:
        return self

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]:
        return {topic: self.ids[topic] for topic in topics if topic in self.ids}

    def topics(self) -> Mapping[str, TopicMetadata]:
        self.listings += 1
        topics: dict[str, TopicMetadata] = {}
        for name, partition in sorted(self.logs):
            topic = topics.setdefault(name, TopicMetadata())
            topic.partitions = {**(topic.partitions or {}), partition: PartitionMetadata()}
        return topics

    @property
    def reads_committed(self) -> bool:
        return True

    def request_offsets(self, specs: OffsetSpecs, read_committed: bool) -> dict[TopicPartition, Callable[[], int]]:
        def result(partition: TopicPartition, spec: OffsetSpec) -> int:
            if partition not in self.logs:
                raise TopicNotFoundError(f"no {partition}")
            log = self.logs[partition]
            assert spec in (EARLIEST, LATEST)
            return log.start if spec is EARLIEST else log.end + (0 if read_committed else log.open_records)

        return {partition: partial(result, partition, spec) for partition, spec in specs.items()}

    def earliest(self, partitions: Collection[TopicPartition]) -> Offsets:
        self.earliest_requests += bool(partitions)
        return {p: self.logs[p].start for p in partitions}

    def request_earliest(self, partitions: Collection[TopicPartition]) -> Callable[[], Offsets]:
        offsets = self.earliest(partitions)
        return lambda: offsets

    def latest(self, partitions: Collection[TopicPartition]) -> Offsets:
        return {p: self.logs[p].end for p in partitions}

    def latest_if_exists(self, partitions: Collection[TopicPartition]) -> Offsets:
        return {p: self.logs[p].end for p in partitions if p in self.logs}

    def high_watermarks(self, partitions: Collection[TopicPartition]) -> Offsets:
        return {p: self.logs[p].end + self.logs[p].open_records for p in partitions}

    def newest_timestamp(self, partitions: Collection[TopicPartition]) -> Callable[[], int | None]:
        timestamps = [t for p in partitions for t in self.logs[p].timestamps.values()]
        return lambda: max(timestamps, default=None)

    def offsets_for_times(self, times: Mapping[TopicPartition, int]) -> Offsets:
        first = {p: [o for o, t in sorted(self.logs[p].timestamps.items()) if t >= times[p]] for p in times}
        return {p: offsets[0] for p, offsets in first.items() if offsets}

    def committed(self, group: str | None, partitions: Collection[TopicPartition]) -> Offsets:
        return {p: offset for p, offset in self.group_offsets.get(group or "", {}).items() if p in partitions}

    def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> Future[None]:
        self.commits.append((group, offsets))
        future: Future[None] = Future()
        future.set_result(None)
        return future


def use_cluster(monkeypatch: pytest.MonkeyPatch, cluster: FakeCluster) -> None:
    """Plan batches and streams with this cluster."""

    @contextmanager
    def cached_cluster(_: object) -> Iterator[FakeCluster]:
        yield cluster

    monkeypatch.setattr(clusters, "cached_cluster", cached_cluster)
    monkeypatch.setattr(micro_batch, "Cluster", lambda _: cluster)


def define(columns: tuple[Column, ...] = (Column("v", "BINARY", "BYTES"),), **options: str) -> Definition:
    """Define a raw table of topic 't'.

    In option names, ``_`` stands for ``.`` and ``__`` for ``-``. An empty value removes a default option.
    """
    table_options = {
        "connector": "kafka",
        "topic": "t",
        "properties.bootstrap.servers": "h:1",
        "format": "raw",
        "scan.startup.mode": "earliest-offset",
        **{key.replace("__", "-").replace("_", "."): value for key, value in options.items()},
    }
    return validate_table(Table(("db", "orders"), columns, {k: value for k, value in table_options.items() if value}))
