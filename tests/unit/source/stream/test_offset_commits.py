"""Test commits of a stream's offsets to Kafka: they are counted and logged, and never block."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import Future

import pytest

from kafka_sql.errors import BrokerError
from kafka_sql.source.stream.offset_commits import OffsetCommitter

P = ("t", 0)


class Kafka:
    """Records commits; the test completes them."""

    def __init__(self) -> None:
        self.requests: list[tuple[Mapping[tuple[str, int], int], Future[None]]] = []

    def send(self, offsets: Mapping[tuple[str, int], int]) -> Future[None]:
        self.requests.append((offsets, Future()))
        return self.requests[-1][1]


def test_committed_offsets_are_not_sent_again() -> None:
    kafka = Kafka()
    committer = OffsetCommitter(kafka.send)
    committer.commit({})
    for _ in range(3):
        committer.commit({P: 5})
        if not kafka.requests[0][1].done():
            kafka.requests[0][1].set_result(None)
    assert [offsets for offsets, _ in kafka.requests] == [{P: 5}]
    assert (committer.succeeded, committer.failed, committer.committed) == (1, 0, {P: 5})


def test_one_pending_commit_then_the_newest_offsets() -> None:
    kafka = Kafka()
    committer = OffsetCommitter(kafka.send)
    for offset in (1, 2, 3):
        committer.commit({P: offset})
    kafka.requests[0][1].set_result(None)
    committer.commit({P: 4})
    assert [offsets for offsets, _ in kafka.requests] == [{P: 1}, {P: 4}]


def test_failures_are_counted_and_logged_and_the_next_commit_is_sent(caplog: pytest.LogCaptureFixture) -> None:
    kafka = Kafka()
    committer = OffsetCommitter(kafka.send)
    committer.commit({P: 1})
    kafka.requests[0][1].set_exception(BrokerError("not the coordinator"))
    with caplog.at_level(logging.WARNING):
        committer.commit({P: 2})
    assert "not the coordinator" in caplog.text
    kafka.requests[1][1].set_result(None)
    committer.finish(0)
    assert (committer.succeeded, committer.failed, committer.committed) == (1, 1, {P: 2})


def test_unsent_and_unanswered_commits_are_failures() -> None:
    def fail(_: Mapping[tuple[str, int], int]) -> Future[None]:
        raise BrokerError("unreachable")

    committer = OffsetCommitter(fail)
    committer.commit({P: 1})
    assert committer.failed == 1
    silent = OffsetCommitter(Kafka().send)
    silent.commit({P: 1})
    silent.finish(0)
    assert (silent.succeeded, silent.failed) == (0, 1)
