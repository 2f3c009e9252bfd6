"""Test where a query without a checkpoint starts, against logs in memory."""

from __future__ import annotations

import logging

import pytest

from kafka_sql.definition import validate_table
from kafka_sql.errors import MissingOptionError, OffsetError
from kafka_sql.kafka.topic_partition import Offsets
from kafka_sql.options import positions as sentinels
from kafka_sql.source.enumerator import starting_offsets
from kafka_sql.source.enumerator.starting_offsets import clamp_to_log_end, resolve_start_offsets
from kafka_sql.table.table import Column, Table
from tests.unit.source.fake_cluster import FakeCluster, Log, define

A, B, C = ("t", 0), ("t", 1), ("t", 2)
PARTITIONS = [A, B, C]


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster(
        {A: Log(5, 50, timestamps={10: 1000, 20: 2000}), B: Log(0, 7, timestamps={0: 1500}), C: Log(3, 3)}
    )


def starts(cluster: FakeCluster, **options: str) -> list[int]:
    resolved = resolve_start_offsets(define(**options), cluster, PARTITIONS)
    assert resolved.keys() == set(PARTITIONS)
    return [resolved[p] for p in PARTITIONS]


def test_earliest_and_latest(cluster: FakeCluster) -> None:
    assert starts(cluster) == [5, 0, 3]
    assert starts(cluster, scan_startup_mode="latest-offset") == [50, 7, 3]


def test_a_timestamp_starts_at_the_first_record_that_is_not_older(cluster: FakeCluster) -> None:
    timestamp = {"scan_startup_mode": "timestamp", "scan_startup_timestamp__millis": "1500"}
    assert starts(cluster, **timestamp) == [20, 0, 3]


def test_a_relative_timestamp_counts_from_now(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting_offsets, "current_millis", lambda: 11_000)
    timestamp = {"scan_startup_mode": "timestamp", "scan_startup_timestamp__millis": "-10 s"}
    assert starts(cluster, **timestamp) == [10, 0, 3]


def test_committed_offsets_of_the_group(cluster: FakeCluster) -> None:
    cluster.group_offsets["g"] = {A: 9, B: 4, C: 3}
    group = {"scan_startup_mode": "group-offsets", "properties_group_id": "g"}
    assert starts(cluster, **group) == [9, 4, 3]


@pytest.mark.parametrize(("strategy", "offset"), [("earliest", 0), ("smallest", 0), ("latest", 7), ("end", 7)])
def test_partitions_without_a_committed_offset_follow_the_reset_strategy(
    cluster: FakeCluster, strategy: str, offset: int
) -> None:
    cluster.group_offsets["g"] = {A: 9, C: 3}
    group = {"scan_startup_mode": "group-offsets", "properties_group_id": "g"}
    assert starts(cluster, **group, properties_auto_offset_reset=strategy) == [9, offset, 3]


def test_no_committed_offset_and_no_reset_strategy_is_an_error(cluster: FakeCluster) -> None:
    cluster.group_offsets["g"] = {B: 4}
    with pytest.raises(OffsetError, match=r"'db.orders': group 'g' has no valid committed offset for t\[0\], t\[2\], "):
        starts(cluster, scan_startup_mode="group-offsets", properties_group_id="g")


def test_group_offsets_need_a_group(cluster: FakeCluster) -> None:
    with pytest.raises(MissingOptionError, match=r"'properties.group.id' is required when 'scan.startup.mode' is"):
        starts(cluster, scan_startup_mode="group-offsets")


def test_partitions_without_a_specific_offset_start_at_the_committed_or_the_earliest_one(cluster: FakeCluster) -> None:
    specific = {"scan_startup_mode": "specific-offsets"}
    assert starts(cluster, **specific, scan_startup_specific__offsets="partition:0,offset:42") == [42, 0, 3]
    cluster.group_offsets["g"] = {A: 9, B: 4}
    group = {**specific, "properties_group_id": "g"}
    assert starts(cluster, **group, scan_startup_specific__offsets="partition:0,offset:42") == [42, 4, 3]
    sentinel = "partition:0,offset:-1;partition:1,offset:-3;partition:2,offset:-2"
    assert starts(cluster, **group, scan_startup_specific__offsets=sentinel) == [50, 4, 3]


def initializer(partitions: list[tuple[str, int]], client: object) -> Offsets:
    assert partitions == PARTITIONS
    return {A: 11, B: sentinels.LATEST, C: sentinels.EARLIEST}


def test_an_initializer_returns_offsets_and_sentinels(cluster: FakeCluster) -> None:
    options = {"scan_startup_mode": "", "scan_startup_offsets__initializer": f"{__name__}:initializer"}
    assert starts(cluster, **options) == [11, 7, 3]


def test_a_start_after_the_end_of_the_log_is_reset(cluster: FakeCluster, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "kafka_sql")
    assert clamp_to_log_end(define(), cluster, {A: 51, B: 7, C: 0}, None) == {A: 5, B: 7, C: 0}
    assert [r.getMessage() for r in caplog.records] == [
        "table 'db.orders': start offsets are out of range: t[0]@51 (the log ends at 50)"
    ]
    latest = define(properties_auto_offset_reset="latest")
    assert clamp_to_log_end(latest, cluster, {A: 51, B: 8}, None) == {A: 50, B: 7}
    with pytest.raises(OffsetError, match=r"there is no valid start offset for t\[0\]"):
        clamp_to_log_end(define(properties_auto_offset_reset="none"), cluster, {A: 51}, None)


def test_a_start_after_the_end_of_an_empty_range_is_left_unchanged(cluster: FakeCluster) -> None:
    assert clamp_to_log_end(define(), cluster, {A: 60, B: 60, C: 60}, {A: 60, B: 61}) == {A: 60, B: 0, C: 60}


def test_a_start_within_an_open_transaction_is_in_range() -> None:
    cluster = FakeCluster({A: Log(0, 5, open_records=3)})
    assert clamp_to_log_end(define(), cluster, {A: 8}, None) == {A: 8}
    assert clamp_to_log_end(define(), cluster, {A: 9}, None) == {A: 0}


def test_upsert_tables_start_at_the_earliest_offset(cluster: FakeCluster) -> None:
    options = {
        "connector": "upsert-kafka",
        "topic": "t",
        "properties.bootstrap.servers": "h:1",
        "key.format": "raw",
        "value.format": "json",
    }
    columns = (Column("k", "STRING", "STRING", nullable=False), Column("v", "INT", "INT"))
    table = validate_table(Table(("u",), columns, options, primary_key=("k",)))
    assert resolve_start_offsets(table, cluster, PARTITIONS) == {A: 5, B: 0, C: 3}
