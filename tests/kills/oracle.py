"""Compare what readers of committed records saw with what was written."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing.connection import Connection
from typing import Any, Protocol

from confluent_kafka import Consumer, TopicPartition


class Count(Protocol):
    """A number in shared memory."""

    value: int


class ReaderProgress(Protocol):
    """State that a concurrent reader shares with the test.

    Attributes:
        expected: number of records expected so far.
        seen: number of records read so far.
        partitions: current number of partitions of the topic.
    """

    expected: Count
    seen: Count
    partitions: Count


@dataclass
class ObservedRows:
    """Rows that a reader saw.

    Attributes:
        numbers: numbers in the order of reading.
        disorder: keys whose numbers were not ascending within a partition.
        spans: key -> partition -> first and last number.
        stall: longest time in seconds without a record after the first one, while records were expected.
    """

    numbers: list[int] = field(default_factory=list)
    disorder: set[int] = field(default_factory=set)
    spans: dict[int, dict[int, tuple[int, int]]] = field(default_factory=dict)
    stall: float = 0.0

    def add(self, value: bytes, partition: int = 0) -> None:
        """Add a record."""
        row = json.loads(value)
        self.numbers.append(row["a"])
        first, last = self.spans.setdefault(row["k"], {}).get(partition, (row["a"], -1))
        if last >= row["a"]:
            self.disorder.add(row["k"])
        self.spans[row["k"]][partition] = first, row["a"]

    def _scattered(self) -> set[int]:
        """Return keys that moved back and forth. They may move only once, when partitions are added."""
        spans = {key: sorted(partitions.values()) for key, partitions in self.spans.items()}
        return {key for key, ranges in spans.items() if any(a[1] >= b[0] for a, b in pairwise(ranges))}

    def verdict(self, produced: int) -> dict[str, Any]:
        """Return counts, and what is wrong."""
        counts = Counter(self.numbers)
        return {
            "produced": produced,
            "count": len(self.numbers),
            "distinct": len(counts),
            "missing": sorted(set(range(produced)) - set(counts))[:20],
            "unexpected": sorted(n for n in counts if n >= produced)[:20],
            "duplicates": sorted(n for n, c in counts.items() if c > 1)[:20],
            "disorder": sorted(self.disorder | self._scattered()),
        }


def is_correct(verdict: dict[str, Any]) -> bool:
    """Return whether a verdict shows no errors: produced == count == distinct, in order."""
    wrong = verdict["missing"] or verdict["unexpected"] or verdict["duplicates"] or verdict["disorder"]
    return not wrong and verdict["produced"] == verdict["count"] == verdict["distinct"]


def read_committed(
    bootstrap: str,
    topic: str,
    partitions: int,
    until: int | None,
    wait: float,
    stop: Connection | None,
    watch: ReaderProgress | None = None,
) -> ObservedRows:
    """Read committed records until the expected number was read, plus one second in which duplicates may arrive.

    Args:
        bootstrap: bootstrap servers.
        topic: the topic.
        partitions: its number of partitions.
        until: expected number of records; None if ``stop`` sends it later.
        wait: maximum time in seconds to wait for them.
        stop: receives the expected number, for a concurrent reader.
        watch: shared state of a concurrent reader.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "oracle",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",  # a silent reset would skip records
            "topic.metadata.refresh.interval.ms": 1000,  # partitions may be added
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
    seen, deadline, last_record = ObservedRows(), time.monotonic() + wait, 0.0
    waiting = time.monotonic()
    while True:
        if watch is not None and watch.partitions.value > partitions:
            added = range(partitions, watch.partitions.value)
            consumer.incremental_assign([TopicPartition(topic, p, 0) for p in added])
            partitions = watch.partitions.value
        before = len(seen.numbers)
        for message in consumer.consume(500, 0.2):
            if message.error() is None:
                seen.add(message.value() or b"", message.partition())
                last_record = time.monotonic()
        if until is None and stop is not None and stop.poll():
            until = stop.recv()
            deadline = time.monotonic() + wait
        now = time.monotonic()
        if watch is not None:
            watch.seen.value = len(seen.numbers)
            if len(seen.numbers) > before or len(seen.numbers) >= watch.expected.value:
                waiting = now
            if before:  # the first driver has to compile the kernels
                seen.stall = max(seen.stall, now - waiting)
        if until is not None and (now > deadline or (len(seen.numbers) >= until and now - last_record > 1)):
            consumer.close()
            return seen
