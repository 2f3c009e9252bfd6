"""Test how a stream resumes from its checkpoint."""

from __future__ import annotations

import logging

import pytest

from kafka_sql.errors import OffsetError
from kafka_sql.source.stream.resume import check_checkpoint, find_recreated_topics, resolve_batch_starts, resolve_resume
from tests.unit.source.fake_cluster import FakeCluster, Log, define

A, B, OTHER = ("t", 0), ("t", 1), ("u", 0)
IGNORE = {"scan_missing__topics": "ignore"}


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster({A: Log(2, 10), B: Log(3, 20)})


def test_a_stream_continues_to_the_current_ends(cluster: FakeCluster) -> None:
    assert resolve_resume(define(), cluster, {A: 5, B: 20}, {A: 10, B: 20}) == ({A: 10, B: 20}, {})


def test_new_partitions_start_at_their_earliest_offset(cluster: FakeCluster) -> None:
    assert resolve_batch_starts(define(), cluster, {A: 5}, {A: 10, B: 20}) == {A: 5, B: 3}
    assert resolve_batch_starts(define(), cluster, {A: 5, B: 6, OTHER: 1}, {A: 10, B: 20}) == {A: 5, B: 6}


def test_an_open_transaction_does_not_look_like_a_recreated_topic() -> None:
    cluster = FakeCluster({A: Log(0, 4, open_records=3)})
    assert resolve_resume(define(), cluster, {A: 7}, {A: 4}) == ({A: 7}, {})
    with pytest.raises(OffsetError, match=r"t\[0\]@8: cannot resume .*: the partition ends at 4. The topic was"):
        resolve_resume(define(), cluster, {A: 8}, {A: 4})


def test_a_topic_with_another_id_was_recreated(cluster: FakeCluster) -> None:
    with pytest.raises(OffsetError, match=r"t\[0\]@5: cannot resume .*: the topic has another id"):
        resolve_resume(define(), cluster, {A: 5}, {A: 10}, {"t"})


def test_a_partition_that_no_longer_exists(cluster: FakeCluster) -> None:
    with pytest.raises(OffsetError, match=r"t\[1\]@6: cannot resume .*: the partition no longer exists"):
        resolve_resume(define(), cluster, {A: 5, B: 6}, {A: 10})


def test_tolerated_changes_of_topics_are_logged(cluster: FakeCluster, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "kafka_sql")
    tolerant = define(**IGNORE)
    assert resolve_resume(tolerant, cluster, {A: 5, B: 6}, {A: 10, B: 20}, {"t"}) == ({A: 10, B: 20}, {A: 2, B: 3})
    assert resolve_resume(tolerant, cluster, {A: 11, B: 6}, {A: 10, B: 20}) == ({A: 10, B: 20}, {A: 2})
    assert resolve_resume(tolerant, cluster, {A: 5, B: 6}, {A: 10}) == ({A: 10}, {})
    assert [r.getMessage() for r in caplog.records] == [
        "table 'db.orders': partitions t[0], t[1] were recreated and are read from their earliest offset",
        "table 'db.orders': partitions t[0] were recreated and are read from their earliest offset",
        "table 'db.orders': partitions t[1] no longer exist and are ignored",
    ]


def test_an_open_transaction_of_a_recreated_topic_is_not_mistaken_for_progress() -> None:
    cluster = FakeCluster({A: Log(1, 4, open_records=9)})
    assert resolve_resume(define(**IGNORE), cluster, {A: 7}, {A: 4}, {"t"}) == ({A: 4}, {A: 1})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "offsets of 'u', but the table reads 't'."),
        ({"topic": "", "topic__pattern": "t+"}, "offsets of 'u', but the table reads topics that match the pattern"),
        ({"scan_partitions": "t:0"}, r"offsets of t\[1\], u\[0\], but the table reads the partitions of option"),
    ],
    ids=["topic", "pattern", "partitions"],
)
def test_a_checkpoint_of_another_query(options: dict[str, str], message: str) -> None:
    with pytest.raises(OffsetError, match=message):
        check_checkpoint(define(**options), {A: 1, B: 1, OTHER: 1}, {A: 2, B: 2, OTHER: 2})
    check_checkpoint(define(**options), {A: 2}, {A: 2})


def test_offsets_of_removed_topics_are_dropped_but_not_those_of_another_query() -> None:
    check_checkpoint(define(**IGNORE), {A: 1, OTHER: 1}, {A: 2})
    with pytest.raises(OffsetError, match="the checkpoint has offsets of 'u', but the table reads 't'"):
        check_checkpoint(define(**IGNORE), {OTHER: 1}, {A: 2})
    with pytest.raises(OffsetError, match="the checkpoint has offsets of 'u'"):
        check_checkpoint(define(), {A: 1, OTHER: 1}, {A: 2, OTHER: 2})
    check_checkpoint(define(**IGNORE), {}, {A: 2})


def test_topics_without_a_known_id_count_as_unchanged() -> None:
    assert find_recreated_topics({"t": "1", "u": "2", "v": "3"}, {"t": "1", "u": "9"}) == {"u"}
