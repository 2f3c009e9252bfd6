"""Transactions that the brokers abort, before the decision and after it, in whole and in part."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kafka_sql.errors import (
    BrokerError,
    DecidedTransactionLostError,
    PreparedTransactionLostError,
    TransactionInDoubtError,
)
from kafka_sql.kafka.decision_log import read_decisions
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin
from kafka_sql.sink.exactly_once import committer, end_transactions
from kafka_sql.sink.exactly_once.admin import abort_transactions, commit_transactions
from kafka_sql.sink.exactly_once.records import parse_decisions
from kafka_sql.sink.exactly_once.transactional_ids import task_prefix
from tests.transaction_writers import (
    SHORT,
    TooBusyError,
    WriterHarness,
    commit_first_only,
    crash_after_decision,
    crash_in_commit,
    rows,
    with_short_timeout,
)

pytestmark = pytest.mark.integration


def test_a_transaction_that_timed_out_before_the_decision(sink: WriterHarness) -> None:
    prepared = []

    def wait(point: str) -> None:
        if point == "prepared":
            prepared.append(point)
            sink.await_timeout()

    for timeout in (SHORT, 4 * SHORT, 16 * SHORT):
        with pytest.raises(BrokerError) as e:
            sink.driver(timeout=timeout).run_batch(wait, tasks=2)
        if prepared:
            break  # else the machine is so busy that a transaction has timed out under its task
    assert isinstance(e.value, PreparedTransactionLostError)
    assert re.search(r"2 are no longer open .* (Prepare|Complete)Abort.*transaction.timeout.ms", str(e.value))
    assert sink.numbers(0) == []
    sink.driver().run_batch(tasks=2)
    assert sink.numbers(sink.size) == rows(1, sink.size)


def test_a_decided_batch_that_timed_out_as_a_whole_is_written_again(
    sink: WriterHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_short_timeout(sink, lambda driver: crash_after_decision(monkeypatch, driver, 2))
    sink.await_timeout()
    sink.driver().run_batch(tasks=3)
    assert sink.numbers(sink.size) == rows(1, sink.size)


def times_out_in_part(sink: WriterHarness, monkeypatch: pytest.MonkeyPatch) -> str:
    """A driver that lives, and is told; the words."""

    def first_only(client: Any, decided: Any) -> Any:
        if end_transactions.commit_all(client, decided[:1])[1]:
            raise TooBusyError  # lost as a whole: the next life writes it again
        sink.await_timeout()
        return end_transactions.commit_all(client, decided)

    with monkeypatch.context() as patched:
        patched.setattr(committer, "commit_all", first_only)
        with pytest.raises(DecidedTransactionLostError) as e:
            with_short_timeout(sink, lambda driver: driver.run_batch(tasks=3))
    return str(e.value)


def test_what_timed_out_after_the_decision_stops_the_query_and_is_filled_in(
    sink: WriterHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = times_out_in_part(sink, monkeypatch)
    assert "batch 0: the brokers aborted decided transactions" in message
    assert f"'{task_prefix(sink.prefix)}" in message
    assert "Start the query again" in message
    before = len(sink.topics.take(sink.topic, message_rows(sink), 3, **{"isolation.level": "read_committed"}))
    assert f"Missing: {sink.size - before} rows of 2 transactions" in message
    sink.driver().run_batch(tasks=3)
    assert sink.numbers(sink.size) == rows(1, sink.size)
    assert sink.open() == []


def message_rows(sink: WriterHarness) -> int:
    """How many rows the first of three tasks has."""
    return sum(a % 7 % 3 == 0 for a in range(sink.size))


def test_a_gap_that_a_replay_cannot_fill_stops_the_query_until_somebody_says(
    sink: WriterHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    times_out_in_part(sink, monkeypatch)
    for _ in range(2):
        with pytest.raises(DecidedTransactionLostError, match=r"different tasks or rows.*--accept-missing.*--rewrite"):
            sink.driver().run_batch(tasks=2)
    assert sink.open() == []
    commit_transactions(sink.properties, sink.prefix, accept_missing=True)
    driver = sink.driver()
    driver.run_batch(tasks=2)
    driver.run_batch(tasks=2)
    assert sink.numbers(message_rows(sink) + sink.size)[-sink.size :] == rows(2, sink.size)[sink.size :]


def test_a_gap_may_be_written_again_as_a_whole(sink: WriterHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    times_out_in_part(sink, monkeypatch)
    abort_transactions(sink.properties, sink.prefix, rewrite=True)
    sink.driver().run_batch(tasks=2)
    assert sorted(set(sink.numbers(message_rows(sink) + sink.size))) == rows(1, sink.size)


def test_a_doubt_is_settled_by_the_witness(sink: WriterHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """An id that the coordinator has given to a newer producer says nothing of the transaction before."""
    from kafka_sql.kafka.librdkafka.transaction import open_transaction

    crash_in_commit(monkeypatch, commit_first_only, lambda: sink.driver().run_batch(tasks=3))
    (decision,) = [d for d in parse_decisions(read_decisions(sink.config)) if d.prefix == sink.prefix]
    for one in decision.transactions[:2]:  # the first was committed, this aborts the second
        with open_transaction({**sink.config, "transaction.timeout.ms": "60000"}, one.id, sink.topic):
            pass
    client = TransactionAdmin(sink.config)
    committed, lost = end_transactions.commit_all(client, decision.transactions[:2])
    client.close()
    assert ([d.partition for d in committed], [d.partition for d in lost]) == ([0], [1])
    sink.driver().run_batch(tasks=3)
    assert sink.numbers(sink.size) == rows(1, sink.size)


def test_a_doubt_without_a_witness_stops_the_query(sink: WriterHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    with_short_timeout(sink, lambda driver: crash_after_decision(monkeypatch, driver, 2))
    sink.await_timeout()
    from confluent_kafka import TopicPartition

    deleted = [TopicPartition(sink.topic, p, -1) for p in range(3)]
    for future in sink.topics.admin.delete_records(deleted).values():
        future.result(30)
    with pytest.raises(TransactionInDoubtError, match=r"is unknown: the coordinator no longer knows it .* is gone"):
        sink.driver().run_batch(tasks=2)
