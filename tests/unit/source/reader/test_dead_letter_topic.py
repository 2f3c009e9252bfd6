"""Test which reads write dead letters."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from kafka_sql.definition import Definition
from kafka_sql.source.reader import dead_letters
from kafka_sql.source.reader.dead_letters import DeadLetterTopic, batch_dead_letter_topic, stream_dead_letter_topic
from tests.unit.source.fake_cluster import define

LOGGING = {"error__handling_mode": "log"}


def with_target() -> Definition:
    return define(**LOGGING, error__handling_log_target="dead")


def run_in_task(monkeypatch: pytest.MonkeyPatch, attempt: int, query: str | None = "q") -> None:
    properties = {"sql.streaming.queryId": query}
    task = SimpleNamespace(attemptNumber=lambda: attempt, getLocalProperty=properties.get)
    monkeypatch.setattr(dead_letters.TaskContext, "get", lambda: task)


def test_a_batch_read_writes_only_if_its_statement_sets_the_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    for attempt in (0, 1):
        run_in_task(monkeypatch, attempt, None)
        table = with_target()
        assert batch_dead_letter_topic(table) is None
        other_hint = frozenset({"error-handling.mode", "scan.startup.mode"})
        assert batch_dead_letter_topic(replace(table, statement_options=other_hint)) is None
        hint = frozenset({"error-handling.log.target"})
        assert batch_dead_letter_topic(replace(table, statement_options=hint)) == DeadLetterTopic("dead")


def test_without_a_topic_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    run_in_task(monkeypatch, 0)
    assert batch_dead_letter_topic(define(**LOGGING)) is None
    assert stream_dead_letter_topic(define(**LOGGING), is_first_batch=True) is None


@pytest.mark.parametrize(
    ("is_first_batch", "attempt", "is_repeat"), [(False, 0, False), (True, 0, True), (False, 1, True)]
)
def test_a_stream_may_have_written_what_it_reads_again_after_a_restart_or_in_another_attempt(
    monkeypatch: pytest.MonkeyPatch, is_first_batch: bool, attempt: int, is_repeat: bool
) -> None:
    run_in_task(monkeypatch, attempt)
    assert stream_dead_letter_topic(with_target(), is_first_batch) == DeadLetterTopic("dead", "q", is_repeat)


def test_without_a_query_id_dead_letters_cannot_be_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    run_in_task(monkeypatch, 1, None)
    assert stream_dead_letter_topic(with_target(), is_first_batch=True) == DeadLetterTopic("dead")
