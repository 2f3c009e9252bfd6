"""Test the range of a batch read: where it ends, what it lost, and its splits."""

from __future__ import annotations

import logging

import pytest

from kafka_sql.errors import DataLossError, MissingOptionError, OffsetError
from kafka_sql.kafka.split import Split
from kafka_sql.source.data_loss import clamp_to_log_start
from kafka_sql.source.enumerator import stopping_offsets
from kafka_sql.source.enumerator.splits import make_splits, plan_batch, resolve_batch_range
from kafka_sql.source.enumerator.stopping_offsets import end_exists, resolve_stop_offsets
from tests.unit.source.fake_cluster import FakeCluster, Log, define, use_cluster

A, B = ("t", 0), ("t", 1)
PARTITIONS = [A, B]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    fake = FakeCluster({A: Log(5, 50, timestamps={10: 1000, 20: 2000}), B: Log(0, 7)})
    use_cluster(monkeypatch, fake)
    monkeypatch.setattr(stopping_offsets, "Cluster", lambda _: fake)
    return fake


def stops(cluster: FakeCluster, **options: str) -> dict[tuple[str, int], int] | None:
    return resolve_stop_offsets(define(**options), cluster, PARTITIONS)


def test_bounded_modes(cluster: FakeCluster) -> None:
    assert stops(cluster) is None
    assert stops(cluster, scan_bounded_mode="latest-offset") == {A: 50, B: 7}
    timestamp = {"scan_bounded_mode": "timestamp", "scan_bounded_timestamp__millis": "1001"}
    assert stops(cluster, **timestamp) == {A: 20, B: 7}
    specific = {"scan_bounded_mode": "specific-offsets"}
    assert stops(cluster, **specific, scan_bounded_specific__offsets="partition:0,offset:99") == {A: 99, B: 0}
    group = {"scan_bounded_mode": "group-offsets", "properties_group_id": "g"}
    cluster.group_offsets["g"] = {A: 6, B: 1}
    assert stops(cluster, **group) == {A: 6, B: 1}


def test_a_bounded_end_at_group_offsets_needs_a_group_with_all_offsets(cluster: FakeCluster) -> None:
    with pytest.raises(MissingOptionError, match=r"is required when 'scan.bounded.mode' is 'group-offsets'"):
        stops(cluster, scan_bounded_mode="group-offsets")
    cluster.group_offsets["g"] = {A: 6}
    with pytest.raises(OffsetError, match=r"partition t\[1\] should stop at committed offset"):
        stops(cluster, scan_bounded_mode="group-offsets", properties_group_id="g")


def test_whether_the_end_exists(cluster: FakeCluster) -> None:
    assert end_exists(define(scan_bounded_mode="latest-offset"))
    specific = {"scan_bounded_mode": "specific-offsets"}
    assert end_exists(define(**specific, scan_bounded_specific__offsets="partition:0,offset:50"))
    assert not end_exists(define(**specific, scan_bounded_specific__offsets="partition:0,offset:51"))


def test_a_batch_reads_to_the_current_end(cluster: FakeCluster) -> None:
    assert plan_batch(define()) == [Split("t", 0, 5, 50), Split("t", 1, 0, 7)]
    assert plan_batch(define(scan_startup_mode="latest-offset")) == []


def test_a_batch_may_end_at_an_offset_that_does_not_exist_yet(cluster: FakeCluster) -> None:
    specific = {"scan_bounded_mode": "specific-offsets"}
    table = define(**specific, scan_bounded_specific__offsets="partition:0,offset:51;partition:1,offset:7")
    assert plan_batch(table) == [Split("t", 0, 5, 51, end_may_not_exist=True), Split("t", 1, 0, 7)]


def test_a_bounded_read_from_the_latest_offset_covers_what_comes_later(cluster: FakeCluster) -> None:
    table = define(
        scan_startup_mode="latest-offset",
        scan_bounded_mode="specific-offsets",
        scan_bounded_specific__offsets="partition:0,offset:60;partition:1,offset:9",
    )
    assert resolve_batch_range(table, cluster, PARTITIONS) == ({A: 50, B: 7}, {A: 60, B: 9})


def test_partitions_without_offsets_to_read_have_no_split() -> None:
    assert make_splits({A: 5, B: 3}, {A: 5, B: 4}) == [Split("t", 1, 3, 4)]
    assert make_splits({A: 6}, {A: 5}) == []


def test_deleted_offsets_are_data_loss(cluster: FakeCluster) -> None:
    with pytest.raises(DataLossError) as e:
        clamp_to_log_start(define(), cluster, {A: 2, B: 0}, {A: 50, B: 7})
    assert "t[0]@2: the earliest available offset is 5, 3 offsets are lost. Set 'scan.fail-on-data-loss'" in str(
        e.value
    )


def test_tolerated_data_loss_moves_the_start_and_is_logged(
    cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka_sql")
    tolerant = define(scan_fail__on__data__loss="false")
    assert clamp_to_log_start(tolerant, cluster, {A: 2, B: 1}, {A: 50, B: 7}) == {A: 5, B: 1}
    assert clamp_to_log_start(tolerant, cluster, {A: 2}, {A: 4}) == {A: 4}  # all of the range was deleted
    messages = [r.getMessage() for r in caplog.records]
    assert [m.rpartition(", ")[2] for m in messages] == ["3 offsets are lost.", "2 offsets are lost."]


def test_deleted_offsets_outside_the_range_are_not_lost(cluster: FakeCluster) -> None:
    assert clamp_to_log_start(define(), cluster, {A: 5}, {A: 50}) == {A: 5}
    assert clamp_to_log_start(define(), cluster, {A: 2}, {A: 2}) == {A: 2}
    assert clamp_to_log_start(define(), cluster, {A: 2, B: 0}, {B: 7}) == {A: 2, B: 0}
