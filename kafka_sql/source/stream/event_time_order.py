"""Choose the end of a limited micro-batch by event time: the oldest records of all partitions are read first.

Spark's watermark follows the latest event time of all partitions. A partition whose records are older than those of the
others would lose them as late rows if each partition was read in proportion to its backlog. Here, the partitions are
merged by event time instead. Within a partition, a record counts as at least as late as those before it, because
records are read in the order of their offsets. So after each batch,

    the latest event time that was read <= the event time of each unread record, or of one before it in its partition

and a record is late only if it is late among the records of its own partition, as with Flink's watermarks by partition.
This needs no state but the offsets of the checkpoint: it also holds if the latest event times of a partition before its
offset are not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from kafka_sql.kafka.split import Split
from kafka_sql.kafka.topic_partition import TopicPartition
from kafka_sql.source.stream.rate_limits import allocate, compute_backlogs

Numbers: TypeAlias = npt.NDArray[np.int64]

UNKNOWN_TIME: Final = np.iinfo(np.int64).min  # of a record without an event time
_LAST: Final = np.iinfo(np.int64).max
_FIRST_READ, _LARGEST_READ = 500, 50_000  # offsets of a partition to read ahead


@dataclass(frozen=True)
class EventTimes:
    """The event times of consecutive records of a partition."""

    offsets: Numbers
    # microseconds since 1970-01-01, or another number that grows with the time; ``UNKNOWN_TIME`` for none
    times: Numbers
    sizes: Numbers  # bytes of key and value


@dataclass
class _Partition:
    """The records of a partition that have been read ahead."""

    start: int  # the offset from which on no record has been admitted to a batch
    end: int  # the offset up to which records have been read
    ends: Numbers = field(default_factory=lambda: np.empty(0, np.int64))  # the offset after each record
    # the latest event time up to each record, in units of the allowed drift
    keys: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    sizes: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    latest: int = UNKNOWN_TIME
    next_read: int = _FIRST_READ

    def skip_to(self, start: int) -> None:
        count = int(np.searchsorted(self.ends, start, "right"))
        self.ends, self.keys, self.sizes = self.ends[count:], self.keys[count:], self.sizes[count:]
        self.start = start

    def append(self, records: EventTimes, max_drift: int) -> None:
        times = np.maximum(np.maximum.accumulate(records.times), self.latest)
        self.latest = int(times[-1])
        keys = times // max_drift if max_drift else times
        self.ends = np.concatenate((self.ends, records.offsets + 1))
        self.keys = np.concatenate((self.keys, keys))
        self.sizes = np.concatenate((self.sizes, records.sizes))

    def horizon(self, stop: int) -> int:
        """Return a lower bound of the keys of records that have not been read ahead."""
        if self.end >= stop:
            return int(_LAST)
        return int(self.keys[-1]) if len(self.keys) else int(UNKNOWN_TIME)

    def end_of(self, count: int, stop: int) -> int:
        """Return the offset at which the first ``count`` records end; after all of them, gaps are skipped, too."""
        if count == len(self.ends):
            return min(self.end, stop)
        return int(self.ends[count - 1]) if count else self.start


class EventTimeOrder:
    """Chooses the ends of a stream's micro-batches. Keeps the records that were read ahead from batch to batch.

    Attributes:
        locate: adds to a split what its reader must know about the cluster.
    """

    def __init__(self, read: Callable[[Split], Iterable[EventTimes]], max_drift: int = 0) -> None:
        """
        Args:
            max_drift: by how much a partition may be ahead of another one, in the unit of the event times. Records
                within it are read from all partitions in proportion.
        """
        self._read, self._max_drift = read, max_drift
        self.locate: Callable[[Split], Split] = lambda split: split
        self._partitions: dict[TopicPartition, _Partition] = {}

    def admit(
        self,
        starts: Mapping[TopicPartition, int],
        stops: Mapping[TopicPartition, int],
        max_offsets: int,
        max_bytes: int | None = None,
    ) -> dict[TopicPartition, int]:
        """Return where a batch ends in each partition that has records to read.

        At least one offset is admitted, at most ``max_offsets``, and about ``max_bytes``.

        Args:
            stops: the offsets up to which records exist.
        """
        backlogs = compute_backlogs(starts, stops)
        self._partitions = {p: self._resume(p, starts[p]) for p in backlogs}
        limit = self._read_ahead(stops, max_offsets, max_bytes)
        return self._merge(stops, limit, sum(starts.values()))

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget what was read of partitions whose topic was recreated."""
        for partition in partitions:
            self._partitions.pop(partition, None)

    def _resume(self, partition: TopicPartition, start: int) -> _Partition:
        state = self._partitions.get(partition)
        if state is None or not state.start <= start <= state.end:
            return _Partition(start, start)
        state.skip_to(start)
        return state

    def _read_ahead(self, stops: Mapping[TopicPartition, int], max_offsets: int, max_bytes: int | None) -> int:
        """Read until the batch is known; return how many offsets it has at most."""
        while True:
            horizons = {p: state.horizon(stops[p]) for p, state in self._partitions.items()}
            horizon = min(horizons.values())
            limit = self._limit_up_to(horizon, stops, max_offsets, max_bytes)
            if limit is not None:
                return limit
            for partition, value in horizons.items():
                if value == horizon:
                    self._read_more(partition, stops[partition])

    def _limit_up_to(
        self, horizon: int, stops: Mapping[TopicPartition, int], max_offsets: int, max_bytes: int | None
    ) -> int | None:
        """Return how many offsets the batch has; None if more records must be read ahead to know them."""
        offsets = size = 0
        for partition, state in self._partitions.items():
            count = int(np.searchsorted(state.keys, horizon, "right"))
            offsets += state.end_of(count, stops[partition]) - state.start
            size += int(state.sizes[:count].sum()) if max_bytes is not None else 0
        if max_bytes is not None and size > max_bytes:
            _, sizes, offset_counts = self._sort_up_to(horizon)
            admitted = int(np.searchsorted(sizes, max_bytes, "right"))
            return min(max_offsets, int(offset_counts[admitted - 1]) if admitted else 1)
        return max_offsets if offsets >= max_offsets or horizon == _LAST else None

    def _sort_up_to(self, horizon: int) -> tuple[Numbers, Numbers, Numbers]:
        """Return the keys of the oldest records in order, and how many bytes and offsets there are up to each."""
        states = [(s, int(np.searchsorted(s.keys, horizon, "right"))) for s in self._partitions.values()]
        keys = np.concatenate([s.keys[:n] for s, n in states])
        order = np.argsort(keys, kind="stable")
        sizes = np.concatenate([s.sizes[:n] for s, n in states])[order].cumsum()
        offsets = np.concatenate([np.diff(s.ends[:n], prepend=s.start) for s, n in states])[order].cumsum()
        return keys[order], sizes, offsets

    def _read_more(self, partition: TopicPartition, stop: int) -> None:
        state = self._partitions[partition]
        end = min(state.end + state.next_read, stop)
        for records in self._read(self.locate(Split(*partition, state.end, end))):
            if len(records.offsets):
                state.append(records, self._max_drift)
        state.end, state.next_read = end, min(2 * state.next_read, _LARGEST_READ)

    def _merge(self, stops: Mapping[TopicPartition, int], limit: int, turn: int) -> dict[TopicPartition, int]:
        """Return where the ``limit`` oldest offsets end in each partition."""
        horizon = min(state.horizon(stops[p]) for p, state in self._partitions.items())
        keys, _, offset_counts = self._sort_up_to(horizon)
        position = int(np.searchsorted(offset_counts, limit, "right"))
        last_key = int(keys[position]) if position < len(keys) else horizon
        ends, candidates = {}, {}
        for partition, state in self._partitions.items():
            stop = stops[partition]
            before = int(np.searchsorted(state.keys, last_key, "left"))
            through = int(np.searchsorted(state.keys, last_key, "right"))
            ends[partition] = min(state.end_of(before, stop), stop)
            rest = min(state.end_of(through, stop), stop) - ends[partition]
            if rest > 0:
                candidates[partition] = rest
        remaining = limit - sum(ends[p] - state.start for p, state in self._partitions.items())
        shares = allocate(candidates, remaining, turn) if remaining > 0 else {}
        return {p: end + shares.get(p, 0) for p, end in ends.items()}
