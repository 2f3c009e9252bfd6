"""What readers of committed records saw, against what was written."""

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
    """A number that processes share."""

    value: int


class ReaderProgress(Protocol):
    """What a reader that reads along is told, and tells.

    Attributes:
        wanted: how many records there are to come as of now.
        seen: how many it has seen.
        partitions: how many the topic has as of now.
    """

    wanted: Count
    seen: Count
    partitions: Count


@dataclass
class ObservedRows:
    """What one reader saw.

    Attributes:
        numbers: in the order of reading.
        disorder: keys whose numbers were not ascending in a partition.
        spans: the first and the last number of each key in each partition that it came from.
        stall: the longest time in seconds without a record, while some were wanted.
    """

    numbers: list[int] = field(default_factory=list)
    disorder: set[int] = field(default_factory=set)
    spans: dict[int, dict[int, tuple[int, int]]] = field(default_factory=dict)
    stall: float = 0.0

    def add(self, value: bytes, partition: int = 0) -> None:
        """A record."""
        row = json.loads(value)
        self.numbers.append(row["a"])
        first, last = self.spans.setdefault(row["k"], {}).get(partition, (row["a"], -1))
        if last >= row["a"]:
            self.disorder.add(row["k"])
        self.spans[row["k"]][partition] = first, row["a"]

    def _scattered(self) -> set[int]:
        """Keys that did not move once from one partition to the next, as they may where partitions are added."""
        spans = {key: sorted(places.values()) for key, places in self.spans.items()}
        return {k for k, own in spans.items() if any(one[1] >= next[0] for one, next in pairwise(own))}

    def verdict(self, produced: int) -> dict[str, Any]:
        """What is wrong with it, and the counts."""
        counts = Counter(self.numbers)
        return {
            "produced": produced,
            "count": len(self.numbers),
            "distinct": len(counts),
            "missing": sorted(set(range(produced)) - set(counts))[:20],
            "unexpected": sorted(n for n in counts if n >= produced)[:20],
            "twice": sorted(n for n, c in counts.items() if c > 1)[:20],
            "disorder": sorted(self.disorder | self._scattered()),
        }


def is_correct(verdict: dict[str, Any]) -> bool:
    """produced == count == distinct, in order."""
    wrong = verdict["missing"] or verdict["unexpected"] or verdict["twice"] or verdict["disorder"]
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
    """Read committed records until so many were seen and a second more, or until told how many are to come.

    Args:
        until: how many there should be.
        wait: seconds to wait for them at most.
        stop: gives the number later on, for a reader that reads along.
        watch: what it is told, and tells, meanwhile.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "oracle",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",  # a reader that jumps would see less and say nothing
            "topic.metadata.refresh.interval.ms": 1000,  # partitions may be added
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
    seen, deadline, quiet = ObservedRows(), time.monotonic() + wait, 0.0
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
                quiet = time.monotonic()
        if until is None and stop is not None and stop.poll():
            until = stop.recv()
            deadline = time.monotonic() + wait
        now = time.monotonic()
        if watch is not None:
            watch.seen.value = len(seen.numbers)
            if len(seen.numbers) > before or len(seen.numbers) >= watch.wanted.value:
                waiting = now
            seen.stall = max(seen.stall, now - waiting)
        if until is not None and (now > deadline or (len(seen.numbers) >= until and now - quiet > 1)):
            consumer.close()
            return seen
