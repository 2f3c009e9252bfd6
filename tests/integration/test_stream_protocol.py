"""The reader under Spark's protocol, with crashes at every point of it: each offset is in one committed batch.

Spark's side is played here (MicroBatchExecution's order of calls and logs), so that hundreds of restarts take seconds.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.admin import NewPartitions
from pyspark.sql.streaming.datasource import ReadAllAvailable

from kafka_sql.definition import Definition, define
from kafka_sql.source.readers import StreamReader
from kafka_sql.table import Column, Table
from tests.support import Topics

pytestmark = pytest.mark.integration
SCHEMA = pa.schema([("a", pa.int32())])


class Crash(Exception):
    """The driver is gone."""


class Query:
    """A query's logs, which outlive its drivers."""

    def __init__(self, definition: Definition, chance: random.Random) -> None:
        self.definition, self.chance = definition, chance
        self.offsets: list[str] = []  # the offset log: a batch's end
        self.committed: list[list[tuple[str, int, int]]] = []  # the commit log: with what each batch has read
        self.driver: StreamReader | None = None

    def restart(self) -> None:
        self.driver = StreamReader(self.definition, SCHEMA)
        if len(self.offsets) > len(self.committed):
            self.batch()

    def trigger(self) -> None:
        """One trigger."""
        assert self.driver is not None
        start = json.loads(self.offsets[-1]) if self.offsets else round_trip(self.driver.initialOffset())
        limit = self.driver.getDefaultReadLimit() if self.chance.random() < 0.8 else ReadAllAvailable()
        end = json.dumps(self.driver.latestOffset(start, limit))
        if self.offsets and end == self.offsets[-1]:
            return
        self.offsets.append(end)
        if len(self.offsets) > 1:
            self.driver.commit(json.loads(self.offsets[-2]))
        self.crash()
        self.batch()

    def batch(self) -> None:
        assert self.driver is not None
        known = len(self.offsets) > 1
        start = json.loads(self.offsets[-2]) if known else round_trip(self.driver.initialOffset())
        tasks = self.driver.partitions(start, json.loads(self.offsets[-1]))
        self.crash()
        self.committed.append(
            [(s.topic, s.partition, o) for t in tasks for s in getattr(t, "splits", ()) for o in range(s.start, s.stop)]
        )
        self.crash()

    def crash(self) -> None:
        if self.chance.random() < 0.15:
            raise Crash


def round_trip(offset: Any) -> Any:
    return json.loads(json.dumps(offset))


@pytest.mark.parametrize("mode", ["earliest-offset", "latest-offset"])
@pytest.mark.parametrize("seed", range(3))
def test_every_offset_in_one_committed_batch(topics: Topics, mode: str, seed: int) -> None:
    chance = random.Random(seed)
    topic, partitions = topics.create(2), 2
    options = {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": topics.bootstrap,
        "properties.group.id": topic,
        "scan.startup.mode": mode,
        "scan.max-offsets-per-trigger": "7",
        "scan.parallelism": "3",
        "scan.topic-partition-discovery.interval": "1 ms",
        "format": "json",
    }
    query = Query(define(Table(("t",), (Column("a", "INT", "INT"),), options)), chance)
    counts = Counter({0: 5, 1: 3})
    for partition, count in counts.items():
        topics.put(topic, *[b"{}"] * count, partition=partition)
    first = dict.fromkeys(counts, 0) if mode == "earliest-offset" else dict(counts)
    restarts = 0
    for step in range(40):
        if step:  # the first driver is started before anything else comes, and its first batch may be read again later
            count = chance.randrange(12)
            partition = chance.randrange(partitions)
            topics.put(topic, *[b"{}"] * count, partition=partition)
            counts[partition] += count
        if step in (15, 25):
            partitions += 1
            topics.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)
        try:
            if query.driver is None:
                restarts += 1
                query.restart()
            query.trigger()
        except Crash:
            query.driver = None
            if not query.offsets:  # nothing was kept: the next driver starts anew
                first = dict.fromkeys(counts, 0) if mode == "earliest-offset" else dict(counts)
    query.chance = random.Random()
    query.crash = lambda: None  # type: ignore[method-assign]
    if query.driver is None:
        query.restart()
    before = -1
    while before != len(query.offsets):
        before = len(query.offsets)
        query.trigger()
    read = Counter(place for batch in query.committed for place in batch)
    assert read == Counter((topic, p, o) for p, n in counts.items() for o in range(first.get(p, 0), n))
    assert restarts > 5
