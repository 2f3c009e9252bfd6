"""Commits to Kafka: counted, logged, and never in the way."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import Future

import pytest

from kafka_sql.errors import BrokerError
from kafka_sql.source.stream.offset_commits import OffsetCommitter

P = ("t", 0)


class Kafka:
    """Takes commits and answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[Mapping[tuple[str, int], int], Future[None]]] = []

    def send(self, offsets: Mapping[tuple[str, int], int]) -> Future[None]:
        self.asked.append((offsets, Future()))
        return self.asked[-1][1]


def test_committed_offsets_are_not_sent_again() -> None:
    kafka = Kafka()
    commits = OffsetCommitter(kafka.send)
    commits.commit({})
    for _ in range(3):
        commits.commit({P: 5})
        kafka.asked[0][1].set_result(None) if not kafka.asked[0][1].done() else None
    assert [offsets for offsets, _ in kafka.asked] == [{P: 5}]
    assert (commits.succeeded, commits.failed, commits.committed) == (1, 0, {P: 5})


def test_one_pending_commit_then_the_newest_offsets() -> None:
    kafka = Kafka()
    commits = OffsetCommitter(kafka.send)
    for offset in (1, 2, 3):
        commits.commit({P: offset})
    kafka.asked[0][1].set_result(None)
    commits.commit({P: 4})
    assert [offsets for offsets, _ in kafka.asked] == [{P: 1}, {P: 4}]


def test_failures_are_counted_and_logged_and_the_next_commit_is_sent(caplog: pytest.LogCaptureFixture) -> None:
    kafka = Kafka()
    commits = OffsetCommitter(kafka.send)
    commits.commit({P: 1})
    kafka.asked[0][1].set_exception(BrokerError("not the coordinator"))
    with caplog.at_level(logging.WARNING):
        commits.commit({P: 2})
    assert "not the coordinator" in caplog.text
    kafka.asked[1][1].set_result(None)
    commits.finish(0)
    assert (commits.succeeded, commits.failed, commits.committed) == (1, 1, {P: 2})


def test_unsent_and_unanswered_commits_are_failures() -> None:
    def refuses(_: Mapping[tuple[str, int], int]) -> Future[None]:
        raise BrokerError("unreachable")

    commits = OffsetCommitter(refuses)
    commits.commit({P: 1})
    assert commits.failed == 1
    silent = OffsetCommitter(Kafka().send)
    silent.commit({P: 1})
    silent.finish(0)
    assert (silent.succeeded, silent.failed) == (0, 1)
