"""Test a stream from micro-batch to micro-batch, against logs in memory."""

from __future__ import annotations

import time

import pytest

from kafka_sql.errors import DataLossError, OffsetError
from kafka_sql.kafka.split import Split
from kafka_sql.source.stream import micro_batch
from kafka_sql.source.stream.micro_batch import MicroBatchStream
from kafka_sql.source.stream.stream_offset import StreamOffset
from tests.unit.source.fake_cluster import FakeCluster, Log, define, use_cluster

A, B = ("t", 0), ("t", 1)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    fake = FakeCluster({A: Log(5, 50), B: Log(0, 10)})
    fake.ids["t"] = "id-1"
    use_cluster(monkeypatch, fake)
    return fake


def stream(**options: str) -> MicroBatchStream:
    return MicroBatchStream(define(scan_topic__partition__discovery_interval="1 ms", **options))


def splits(stream: MicroBatchStream, start: StreamOffset, end: StreamOffset) -> list[tuple[int, int, int]]:
    return [(s.partition, s.start, s.stop) for s in stream.plan_splits(start, end)]


def test_batches_cover_each_offset_once(cluster: FakeCluster) -> None:
    reader = stream()
    start = reader.initial_offset()
    assert start == StreamOffset({}, {A: 5, B: 0}, {}, {"t": "id-1"})
    first = reader.latest_offset(start, is_limited=True)
    assert first == StreamOffset({A: 50, B: 10}, {A: 5, B: 0}, {}, {"t": "id-1"})
    assert splits(reader, start, first) == [(0, 5, 50), (1, 0, 10)]
    assert reader.latest_offset(first, is_limited=True) is first
    cluster.logs[A].end = 60
    second = reader.latest_offset(first, is_limited=True)
    assert second == StreamOffset({A: 60, B: 10}, {}, {}, {"t": "id-1"})
    assert splits(reader, first, second) == [(0, 50, 60)]


def test_the_start_of_the_log_is_requested_with_the_end_of_the_batch(cluster: FakeCluster) -> None:
    reader = stream()
    first = reader.latest_offset(reader.initial_offset(), is_limited=True)
    cluster.logs[A].end, cluster.logs[A].start = 60, 55
    second = reader.latest_offset(first, is_limited=True)
    cluster.earliest_requests = 0
    with pytest.raises(DataLossError, match=r"t\[0\]@50: the earliest available offset is 55, 5 offsets are lost"):
        splits(reader, first, second)
    assert cluster.earliest_requests == 0
    cluster.logs[A].start = 40
    assert splits(reader, first, second) == [(0, 50, 60)]  # a batch that is planned again
    assert cluster.earliest_requests == 1


def test_the_start_of_the_log_is_requested_again_for_another_batch(cluster: FakeCluster) -> None:
    reader = stream()
    first = reader.latest_offset(reader.initial_offset(), is_limited=True)
    cluster.logs[A].end = 60
    second = reader.latest_offset(first, is_limited=True)  # reads only partition 0
    cluster.logs[B].start = 3
    with pytest.raises(DataLossError, match=r"t\[1\]@2: the earliest available offset is 3"):
        splits(reader, StreamOffset({A: 50, B: 2}, {}, {}, {"t": "id-1"}), second)


def test_a_stream_on_an_empty_topic_waits(cluster: FakeCluster) -> None:
    cluster.logs = {A: Log()}
    reader = stream()
    first = reader.latest_offset(reader.initial_offset(), is_limited=True)
    assert first.offsets == {A: 0}
    assert reader.latest_offset(first, is_limited=True) is first


def test_a_stream_without_topics_has_no_batch(cluster: FakeCluster) -> None:
    cluster.logs = {}
    reader = stream(topic="", topic__pattern="t.*")
    start = reader.initial_offset()
    assert reader.latest_offset(start, is_limited=True) is start


def test_new_partitions_are_read_from_their_earliest_offset(cluster: FakeCluster) -> None:
    reader = stream(scan_startup_mode="latest-offset")
    first = reader.latest_offset(reader.initial_offset(), is_limited=True)
    cluster.logs["t", 2] = Log(3, 9)
    time.sleep(0.002)  # longer than the discovery interval
    second = reader.latest_offset(first, is_limited=True)
    assert second.starts == {("t", 2): 3}
    assert splits(reader, first, second) == [(2, 3, 9)]


def test_pyspark_4_1_asks_for_the_end_before_the_start(cluster: FakeCluster) -> None:
    reader = stream(scan_startup_mode="latest-offset")
    end = reader.latest_offset_unlimited()
    cluster.logs[A].end = 70
    assert end.offsets == {A: 50, B: 10}
    assert reader.initial_offset().starts == {A: 50, B: 10}


def test_a_bounded_stream_ends_at_its_stop_offsets(cluster: FakeCluster) -> None:
    bounded = {
        "scan_bounded_mode": "specific-offsets",
        "scan_bounded_specific__offsets": "partition:0,offset:30;partition:1,offset:12",
    }
    reader = stream(**bounded)
    start = reader.initial_offset()
    assert start.stops == {A: 30, B: 12}
    first = reader.latest_offset(start, is_limited=True)
    assert (first.offsets, first.stops) == ({A: 30, B: 10}, {A: 30, B: 12})
    assert reader.latest_offset_unlimited().offsets == {A: 30, B: 10}
    cluster.logs[A].end, cluster.logs[B].end = 99, 99
    second = reader.latest_offset(first, is_limited=True)
    assert second.offsets == {A: 30, B: 12}
    assert reader.latest_offset(second, is_limited=True) is second


def test_a_restarted_bounded_stream_continues_to_the_stops_of_its_checkpoint(cluster: FakeCluster) -> None:
    restarted = stream(scan_bounded_mode="latest-offset")
    checkpoint = StreamOffset({A: 20, B: 10}, {}, {A: 30, B: 10}, {"t": "id-1"})
    end = restarted.latest_offset(checkpoint, is_limited=True)
    assert (end.offsets, end.stops) == ({A: 30, B: 10}, {A: 30, B: 10})


def test_a_bounded_stream_that_had_ended_gets_new_stops(cluster: FakeCluster) -> None:
    restarted = stream(scan_bounded_mode="latest-offset")
    checkpoint = StreamOffset({A: 30, B: 10}, {}, {A: 30, B: 10}, {"t": "id-1"})
    end = restarted.latest_offset(checkpoint, is_limited=True)
    assert (end.offsets, end.stops) == ({A: 50, B: 10}, {A: 50, B: 10})
    cluster.logs[A].end = 90
    assert restarted.latest_offset(end, is_limited=True) is end


def test_the_maximum_of_a_batch_is_shared_in_proportion(cluster: FakeCluster) -> None:
    reader = stream(scan_max__offsets__per__trigger="11")
    start = reader.initial_offset()
    first = reader.latest_offset(start, is_limited=True)
    assert first.offsets == {A: 14, B: 2}
    assert reader.latest_offset(start, is_limited=False).offsets == {A: 50, B: 10}
    assert splits(reader, start, first) == [(0, 5, 14), (1, 0, 2)]


def test_bytes_limit_a_batch(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []

    def bytes_per_offset(positions: dict[tuple[str, int], int]) -> dict[tuple[str, int], float]:
        measured.append(positions)
        return {A: 100.0}  # nothing is known of B: the largest size applies

    monkeypatch.setattr(cluster, "bytes_per_offset", bytes_per_offset)
    reader = stream(scan_max__bytes__per__trigger="1100 b")
    first = reader.latest_offset(reader.initial_offset(), is_limited=True)
    assert first.offsets == {A: 14, B: 2}
    assert measured == [{A: 5, B: 0}]


def test_a_batch_waits_for_a_minimum_of_offsets(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(micro_batch.time, "monotonic", lambda: now[0])
    reader = stream(scan_min__offsets__per__trigger="20", scan_max__trigger__delay="60 s")
    first = reader.latest_offset(reader.initial_offset(), is_limited=True)
    cluster.logs[A].end += 19
    assert reader.latest_offset(first, is_limited=True) is first
    now[0] += 59.9
    assert reader.latest_offset(first, is_limited=True) is first
    now[0] += 0.1
    delayed = reader.latest_offset(first, is_limited=True)
    assert delayed.offsets == {A: 69, B: 10}
    cluster.logs[B].end += 20
    assert reader.latest_offset(delayed, is_limited=True).offsets == {A: 69, B: 30}


def test_available_now_ends_at_the_ends_of_its_start_and_does_not_wait(cluster: FakeCluster) -> None:
    reader = stream(scan_min__offsets__per__trigger="1000")
    reader.prepare_available_now()
    cluster.logs[A].end = 99
    first = reader.latest_offset(reader.initial_offset(), is_limited=True)
    assert first.offsets == {A: 50, B: 10}
    assert reader.latest_offset(first, is_limited=True) is first


def test_offsets_are_committed_for_the_group(cluster: FakeCluster) -> None:
    reader = stream(properties_group_id="g")
    first = reader.latest_offset(reader.initial_offset(), is_limited=True)
    reader.commit(first)
    reader.stop()
    assert cluster.commits == [("g", {A: 50, B: 10})]
    report = reader.report()
    assert report is not None
    assert report["offsets"] == {"t": {"0": 50, "1": 10}}
    assert (report["table"], report["commitsSucceeded"], report["commitsFailed"]) == ("db.orders", 1, 0)
    assert report["committedOffsets"] == {"t": {"0": 50, "1": 10}}


@pytest.mark.parametrize(
    "options",
    [{}, {"properties_group_id": "g", "commit_offsets_on_checkpoint": "false"}],
    ids=["no group", "disabled"],
)
def test_offsets_are_not_committed(cluster: FakeCluster, options: dict[str, str]) -> None:
    reader = stream(**options)
    reader.commit(reader.latest_offset(reader.initial_offset(), is_limited=True))
    reader.stop()
    assert cluster.commits == []
    assert "commitsSucceeded" not in (reader.report() or {})


def test_the_report_has_the_newest_timestamp_of_partitions_read_to_their_end(cluster: FakeCluster) -> None:
    cluster.logs[A].timestamps, cluster.logs[B].timestamps = {49: 7000}, {9: 9000}
    reader = stream()
    assert reader.report() is None
    first = reader.latest_offset(reader.initial_offset(), is_limited=True)
    assert (reader.report() or {})["maxTimestamp"] == 9000
    cluster.logs[A].timestamps, cluster.logs[A].end = {50: 8000}, 51
    reader.latest_offset(first, is_limited=True)
    assert (reader.report() or {})["maxTimestamp"] == 8000  # B was not read


def test_a_recreated_topic_is_noticed_when_a_batch_is_planned_and_when_it_is_read(cluster: FakeCluster) -> None:
    reader = stream()
    start = reader.initial_offset()
    first = reader.latest_offset(start, is_limited=True)
    cluster.ids["t"] = "id-2"
    restarted = stream()
    with pytest.raises(OffsetError, match="the topic has another id"):
        restarted.latest_offset(first, is_limited=True)
    with pytest.raises(OffsetError, match="the topic has another id"):
        stream().plan_splits(start, first)


def test_a_recreated_topic_is_read_from_its_start_if_topics_may_be_missing(cluster: FakeCluster) -> None:
    reader = stream(scan_missing__topics="ignore")
    checkpoint = StreamOffset({A: 40, B: 10}, {}, {}, {"t": "id-0"})
    end = reader.latest_offset(checkpoint, is_limited=True)
    assert end == StreamOffset({A: 50, B: 10}, {A: 5, B: 0}, {}, {"t": "id-1"})
    assert reader.plan_splits(checkpoint, end) == [Split("t", 0, 5, 50), Split("t", 1, 0, 10)]
