"""Test the order of micro-batches by event time, against a simulation of Spark's watermark."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.kafka.split import Split
from kafka_sql.kafka.topic_partition import TopicPartition
from kafka_sql.source.stream.event_time_order import UNKNOWN_TIME, EventTimeOrder, EventTimes

A, B, C = ("t", 0), ("t", 1), ("u", 0)
Logs = dict[TopicPartition, dict[int, int]]  # the event time of each offset that has a record


class Reader:
    """Reads event times from logs in memory, in batches of up to seven records.

    Attributes:
        reads: how many offsets were read of each partition.
    """

    def __init__(self, logs: Logs, size: int = 10) -> None:
        self.logs, self.size = logs, size
        self.reads: dict[TopicPartition, int] = {}

    def read(self, split: Split) -> Iterator[EventTimes]:
        partition = split.topic, split.partition
        self.reads[partition] = self.reads.get(partition, 0) + split.stop - split.start
        records = sorted((o, t) for o, t in self.logs[partition].items() if split.start <= o < split.stop)
        for i in range(0, len(records), 7):
            offsets, times = np.array(records[i : i + 7], np.int64).T
            yield EventTimes(offsets, times, np.full(len(times), self.size))


def log(*times: int, start: int = 0) -> dict[int, int]:
    return dict(enumerate(times, start))


def batches(
    order: EventTimeOrder,
    logs: Logs,
    limit: int,
    stops: Mapping[TopicPartition, int] | None = None,
    max_bytes: int | None = None,
) -> list[dict[TopicPartition, int]]:
    """Return the ends of all batches of a stream that starts at offset 0."""
    ends = dict.fromkeys(logs, 0)
    stops = stops or {p: max(records, default=-1) + 1 for p, records in logs.items()}
    result = []
    while any(ends[p] < stops[p] for p in logs):
        ends = ends | order.admit(ends, stops, limit, max_bytes)
        result.append(ends)
        assert len(result) < 10_000
    return result


def late_rows(logs: Logs, ends: list[dict[TopicPartition, int]], delay: int) -> set[tuple[TopicPartition, int]]:
    """Return the records that Spark drops: those behind the latest event time of earlier batches minus the delay."""
    late, latest = set(), UNKNOWN_TIME + delay
    for start, end in itertools.pairwise([dict.fromkeys(logs, 0), *ends]):
        batch = [(p, o, logs[p][o]) for p in logs for o in range(start[p], end[p]) if o in logs[p]]
        late |= {(p, o) for p, o, time in batch if UNKNOWN_TIME < time < latest - delay}
        latest = max([latest, *(time for _, _, time in batch)])
    return late


def late_in_own_partition(logs: Logs, delay: int) -> set[tuple[TopicPartition, int]]:
    late = set()
    for partition, records in logs.items():
        latest = UNKNOWN_TIME + delay
        for offset, time in sorted(records.items()):
            if UNKNOWN_TIME < time < latest - delay:
                late.add((partition, offset))
            latest = max(latest, time)
    return late


def test_the_oldest_records_of_all_partitions_are_first() -> None:
    logs = {A: log(10, 20, 30, 40), B: log(25, 26, 27, 50)}
    order = EventTimeOrder(Reader(logs).read)
    assert batches(order, logs, 3) == [{A: 2, B: 1}, {A: 3, B: 3}, {A: 4, B: 4}]


def test_records_of_the_same_time_are_shared_in_proportion() -> None:
    logs = {A: log(*[5] * 30), B: log(*[5] * 10)}
    assert batches(EventTimeOrder(Reader(logs).read), logs, 20) == [{A: 15, B: 5}, {A: 30, B: 10}]


def test_records_within_the_drift_are_shared_in_proportion() -> None:
    logs = {A: log(*range(40)), B: log(*range(20, 40))}
    assert batches(EventTimeOrder(Reader(logs).read, 40), logs, 30)[0] == {A: 20, B: 10}
    assert batches(EventTimeOrder(Reader(logs).read, 20), logs, 30)[0] == {A: 25, B: 5}
    assert batches(EventTimeOrder(Reader(logs).read), logs, 30)[0] == {A: 25, B: 5}


def test_a_record_is_as_old_as_the_latest_one_before_it() -> None:
    logs = {A: log(10, 40, 5, 6), B: log(20, 30, 50)}
    assert batches(EventTimeOrder(Reader(logs).read), logs, 3)[0] == {A: 1, B: 2}


def test_a_partition_without_unread_records_does_not_hold_others_back() -> None:
    logs: Logs = {A: log(1), B: log(100, 200, 300), C: {}}
    assert batches(EventTimeOrder(Reader(logs).read), logs, 2) == [{A: 1, B: 1, C: 0}, {A: 1, B: 3, C: 0}]


def test_records_without_a_time_are_read() -> None:
    logs = {A: log(*[UNKNOWN_TIME] * 5), B: log(1, UNKNOWN_TIME, 3)}
    assert batches(EventTimeOrder(Reader(logs).read), logs, 4) == [{A: 4, B: 0}, {A: 5, B: 3}]


def test_offsets_without_records_are_read() -> None:
    logs: Logs = {A: {5: 10, 2_000: 30}, B: {3: 20}}
    stops = {A: 3_000, B: 1_000}
    result = batches(EventTimeOrder(Reader(logs).read), logs, 100, stops)
    assert result[0] == {A: 100, B: 0}  # a gap that is larger than the limit is read in parts
    assert result[-1] == stops


def test_a_limit_of_bytes() -> None:
    logs = {A: log(*range(0, 100, 2)), B: log(*range(1, 100, 2))}
    order = EventTimeOrder(Reader(logs, size=100).read)
    assert batches(order, logs, 1_000, max_bytes=1_050)[:2] == [{A: 5, B: 5}, {A: 10, B: 10}]
    assert batches(order, logs, 4, max_bytes=1_050)[0] == {A: 2, B: 2}
    assert batches(order, logs, 1_000, max_bytes=1)[0] == {A: 1, B: 0}  # a large record is read


def test_each_record_is_read_ahead_once_and_not_much_more_than_the_batch() -> None:
    logs = {("t", p): log(*range(p * 10_000, (p + 1) * 10_000)) for p in range(10)}
    reader = Reader(logs)
    order = EventTimeOrder(reader.read)
    ends = order.admit(dict.fromkeys(logs, 0), dict.fromkeys(logs, 10_000), 100)
    assert (ends[A], sum(ends.values())) == (100, 100)
    assert sum(reader.reads.values()) == 10 * 500
    batches(order, logs, 1_000)
    assert reader.reads == dict.fromkeys(logs, 10_000)


def test_a_recreated_partition_is_read_again() -> None:
    logs = {A: log(1, 2, 3), B: log(100, 200, 300)}
    reader = Reader(logs)
    order = EventTimeOrder(reader.read)
    stops = dict.fromkeys(logs, 3)
    assert order.admit({A: 0, B: 0}, stops, 2) == {A: 2, B: 0}
    reader.logs[A] = log(500, 600, 700)
    order.forget([A])
    assert order.admit({A: 0, B: 0}, stops, 2) == {A: 0, B: 2}
    assert order.admit({A: 3, B: 0}, {A: 2, B: 3}, 2) == {B: 2}  # a partition that has become shorter


TIMES = st.lists(st.integers(0, 60) | st.just(UNKNOWN_TIME), max_size=40)


@given(
    st.lists(TIMES, min_size=1, max_size=5), st.integers(1, 30), st.integers(0, 20), st.booleans(), st.integers(1, 9)
)
def test_rows_are_late_only_in_their_own_partition(
    partitions: list[list[int]], limit: int, delay: int, restarts: bool, step: int
) -> None:
    logs = {("t", p): {i * step: time for i, time in enumerate(times)} for p, times in enumerate(partitions)}
    stops = {p: max(records, default=-1) + 1 for p, records in logs.items()}
    ends, history = dict.fromkeys(logs, 0), []
    order = EventTimeOrder(Reader(logs).read)
    while any(ends[p] < stops[p] for p in logs):
        if restarts:
            order = EventTimeOrder(Reader(logs).read)
        admitted = order.admit(ends, stops, limit)
        count = sum(end - ends[p] for p, end in admitted.items())
        assert 0 < count <= limit
        ends = ends | admitted
        history.append(ends)
    assert late_rows(logs, history, delay) <= late_in_own_partition(logs, delay)
