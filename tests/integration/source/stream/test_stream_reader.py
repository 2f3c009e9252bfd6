"""Test the stream reader with crashes at every point of Spark's protocol: each offset is in one committed batch.

The test simulates Spark (MicroBatchExecution's order of calls and logs), so that hundreds of restarts take seconds.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.source.spark_readers import StreamReader
from kafka_sql.table.table import Column, Table
from tests.topics import Topics

pytestmark = pytest.mark.integration
ReadAllAvailable = pytest.importorskip(
    "pyspark.sql.streaming.datasource", reason="limits need PySpark 4.2"
).ReadAllAvailable
SCHEMA = pa.schema([("a", pa.int32())])


class Crash(Exception):
    """The driver has crashed."""


class Query:
    """A query with its logs, which survive crashes of its drivers."""

    def __init__(self, definition: Definition, rng: random.Random, produce: Callable[[], None]) -> None:
        self.definition, self.rng, self.produce = definition, rng, produce
        self.offsets: list[str] = []  # the offset log: the end of each batch
        self.committed: list[
            list[tuple[str, int, int]]
        ] = []  # the commit log, with the offsets that each batch has read
        self.driver: StreamReader | None = None
        self.crashes = 0

    def restart(self) -> None:
        self.driver = StreamReader(self.definition, SCHEMA)
        if len(self.offsets) > len(self.committed):
            self.batch()

    def trigger(self) -> None:
        """Run one trigger."""
        assert self.driver is not None
        start = json.loads(self.offsets[-1]) if self.offsets else round_trip(self.driver.initialOffset())
        self.produce()  # records arrive at any time
        limit = self.driver.getDefaultReadLimit() if self.rng.random() < 0.8 else ReadAllAvailable()
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
        has_previous = len(self.offsets) > 1
        start = json.loads(self.offsets[-2]) if has_previous else round_trip(self.driver.initialOffset())
        tasks = self.driver.partitions(start, json.loads(self.offsets[-1]))
        self.crash()
        self.committed.append(
            [(s.topic, s.partition, o) for t in tasks for s in getattr(t, "splits", ()) for o in range(s.start, s.stop)]
        )
        self.crash()

    def crash(self) -> None:
        first = len(self.offsets) == 1 and self.crashes == 0  # Spark does not store the start of the first batch
        if first or self.rng.random() < 0.15:
            self.crashes += 1
            raise Crash


def round_trip(offset: Any) -> Any:
    return json.loads(json.dumps(offset))


@pytest.mark.sample(2)
@pytest.mark.parametrize("mode", ["earliest-offset", "latest-offset"])
@pytest.mark.parametrize("seed", range(3))
def test_every_offset_in_one_committed_batch(topics: Topics, mode: str, seed: int) -> None:
    rng = random.Random(seed)
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
    counts: Counter[int] = Counter()

    def produce() -> None:
        partition, count = rng.randrange(partitions), rng.randrange(12)
        topics.produce(topic, *[b"{}"] * count, partition=partition)
        counts[partition] += count

    for _ in range(3):
        produce()
    first = Counter[int]() if mode == "earliest-offset" else counts.copy()
    query = Query(validate_table(Table(("t",), (Column("a", "INT", "INT"),), options)), rng, produce)
    for step in range(40):
        if step in (15, 25):
            partitions += 1
            topics.add_partitions(topic, partitions)
        try:
            if query.driver is None:
                query.restart()
            query.trigger()
        except Crash:
            query.driver = None
    query.crash = query.produce = lambda: None  # type: ignore[method-assign]
    if query.driver is None:
        query.restart()
    before = -1
    while before != len(query.offsets):
        before = len(query.offsets)
        query.trigger()
    read = Counter(offset for batch in query.committed for offset in batch)
    assert read == Counter((topic, p, o) for p, n in counts.items() for o in range(first[p], n))
    assert query.crashes > 5
