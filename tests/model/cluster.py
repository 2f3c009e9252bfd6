"""Simulate the leaders of partitions and the transaction coordinator, as seen by one producer.

The rules are those of Apache Kafka: sequence numbers (``ProducerAppendInfo``, ``ProducerStateEntry``), replication (a
new leader has all acknowledged batches, and any number of the others), and transaction markers.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol.addresses import Address

TOPIC: Final = "t"
REMEMBERED: Final = 5  # batches per producer
_SEQUENCES: Final = 2**31


class Clock:
    """A clock that advances only when the code under test waits. Replaces the module ``time``."""

    def __init__(self) -> None:
        """Start at 1,000 seconds, like the monotonic clock of a machine that was booted a few minutes ago."""
        self.reset()

    def reset(self) -> None:
        """Forget all events."""
        self.now = 1000.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = itertools.count()

    def monotonic(self) -> float:
        """Return the time in seconds."""
        return self.now

    def time(self) -> float:
        """Return the time in seconds."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Advance the time."""
        self.advance(self.now + seconds)

    def at(self, moment: float, event: Callable[[], None]) -> None:
        """Run an event at a time."""
        heapq.heappush(self._events, (max(moment, self.now), next(self._number), event))

    def next_event(self) -> float:
        """Return the time of the next event; infinity if there is none."""
        return self._events[0][0] if self._events else float("inf")

    def advance(self, moment: float) -> None:
        """Advance the time, and run the events until then."""
        while self._events and self._events[0][0] <= moment:
            self.now, _, event = heapq.heappop(self._events)
            event()
        self.now = max(self.now, moment)

    def drain(self) -> None:
        """Run all events."""
        while self._events:
            self.advance(self._events[0][0])


class SentBatch(NamedTuple):
    """A batch as its header and its content describe it."""

    partition: int
    producer_id: int
    epoch: int
    is_transactional: bool
    sequence: int
    records: int
    first_record: int

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record."""
        return (self.sequence + self.records - 1) % _SEQUENCES


class Marker(NamedTuple):
    """The end of a transaction in a log."""

    producer_id: int
    epoch: int
    is_commit: bool


@dataclass
class ProducerEntry:
    """A producer's entry in the state of a leader.

    Attributes:
        epoch: the producer epoch.
        batches: the last batches of this epoch. A transaction marker can also begin an epoch.
        is_open: whether the producer has an open transaction in the partition.
    """

    epoch: int
    batches: list[SentBatch] = field(default_factory=list)
    is_open: bool = False


class Partition:
    """The log of a partition and what its leader knows about producers."""

    def __init__(self, leader: Address) -> None:
        """Start with an empty log."""
        self.leader: Address | None = leader
        self.leader_epoch = 0
        self.log: list[SentBatch | Marker] = []
        self.high_watermark = 0
        self.known_from = 0  # earlier producers have expired
        self.producers: dict[int, ProducerEntry] = {}

    def append(self, batch: SentBatch, rejects_unknown: bool, reports_duplicates: bool) -> tuple[int, int]:
        """Append a batch unless it is a duplicate. Return the error code and the length of the log up to the batch."""
        entry = self.producers.get(batch.producer_id)
        code = ErrorCode.NONE
        if entry is None:
            if rejects_unknown and batch.sequence:
                code = ErrorCode.UNKNOWN_PRODUCER_ID
        elif batch.epoch < entry.epoch:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        elif batch.epoch > entry.epoch:
            if batch.sequence:
                code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        else:
            for known in entry.batches:
                if (known.sequence, known.records) == (batch.sequence, batch.records):
                    return ErrorCode.NONE, self.log.index(known) + 1
            last = entry.batches[-1].last_sequence if entry.batches else -1
            if batch.sequence != (last + 1) % _SEQUENCES:
                code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
                if reports_duplicates and batch.last_sequence <= last:
                    code = ErrorCode.DUPLICATE_SEQUENCE_NUMBER
        if code == ErrorCode.NONE:
            self._add(batch)
        return code, len(self.log)

    def mark(self, marker: Marker) -> None:
        """Append a transaction marker, unless it is outdated."""
        entry = self.producers.get(marker.producer_id)
        if entry is None or marker.epoch >= entry.epoch:
            self._add(marker)
            self.high_watermark = len(self.log)

    def elect(self, leader: Address | None, survivors: int, remembered: int) -> None:
        """Elect another leader.

        Args:
            leader: its address; None if no replica is available.
            survivors: how many of the log's entries above the high watermark it has.
            remembered: how many of each producer's batches it remembers. After a restart, this is only the last one
                (from the snapshot).
        """
        self.leader = leader
        self.leader_epoch += 1
        del self.log[self.high_watermark + survivors :]
        log, self.log = self.log, []
        self.producers.clear()
        for number, item in enumerate(log):
            self._add(item, number >= self.known_from)
        for entry in self.producers.values():
            del entry.batches[:-remembered]

    def expire_producers(self) -> None:
        """Forget all producers."""
        self.known_from = len(self.log)
        self.producers.clear()

    def _add(self, item: SentBatch | Marker, is_known: bool = True) -> None:
        self.log.append(item)
        if not is_known:
            return
        entry = self.producers.setdefault(item.producer_id, ProducerEntry(item.epoch))
        if item.epoch != entry.epoch:
            entry.epoch = item.epoch
            entry.batches.clear()
        if isinstance(item, Marker):
            entry.is_open = False
            return
        entry.batches.append(item)
        del entry.batches[:-REMEMBERED]
        entry.is_open = item.is_transactional
