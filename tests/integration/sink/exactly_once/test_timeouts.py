"""Brokers abort timed-out transactions: before and after the decision, all of a batch or part of it."""

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
            break  # otherwise a transaction timed out while its task was writing, because the machine is busy
    assert isinstance(e.value, PreparedTransactionLostError)
    assert re.search(r"2 are no longer open .* (Prepare|Complete)Abort.*transaction.timeout.ms", str(e.value))
    assert sink.numbers(0) == []
    sink.driver().run_batch(tasks=2)
    assert sink.numbers(sink.size) == rows(1, sink.size)


def test_a_decided_batch_that_timed_out_completely_is_written_again(
    sink: WriterHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_short_timeout(sink, lambda driver: crash_after_decision(monkeypatch, driver, 2))
    sink.await_timeout()
    sink.driver().run_batch(tasks=3)
    assert sink.numbers(sink.size) == rows(1, sink.size)


def time_out_partially(sink: WriterHarness, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let part of a decided batch time out. Return the error of the driver."""

    def first_only(client: Any, decided: Any) -> Any:
        if end_transactions.commit_all(client, decided[:1])[1]:
            raise TooBusyError  # all transactions timed out: try again with a longer timeout
        sink.await_timeout()
        return end_transactions.commit_all(client, decided)

    with monkeypatch.context() as patched:
        patched.setattr(committer, "commit_all", first_only)
        with pytest.raises(DecidedTransactionLostError) as e:
            with_short_timeout(sink, lambda driver: driver.run_batch(tasks=3))
    return str(e.value)


@pytest.mark.long
def test_a_partial_timeout_after_the_decision_stops_the_query_and_is_completed(
    sink: WriterHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = time_out_partially(sink, monkeypatch)
    assert "batch 0: the brokers aborted decided transactions" in message
    assert f"'{task_prefix(sink.prefix)}" in message
    assert "Restart the query" in message
    before = len(sink.topics.consume(sink.topic, rows_of_first_task(sink), 3, **{"isolation.level": "read_committed"}))
    assert f"Missing: {sink.size - before} rows of 2 transactions" in message
    sink.driver().run_batch(tasks=3)
    assert sink.numbers(sink.size) == rows(1, sink.size)
    assert sink.open() == []


def rows_of_first_task(sink: WriterHarness) -> int:
    """Return the number of rows of the first of three tasks."""
    return sum(a % 7 % 3 == 0 for a in range(sink.size))


@pytest.mark.long
def test_missing_rows_that_a_replay_cannot_identify_stop_the_query_until_accepted(
    sink: WriterHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    time_out_partially(sink, monkeypatch)
    for _ in range(2):
        with pytest.raises(DecidedTransactionLostError, match=r"different tasks or rows.*--accept-missing.*--rewrite"):
            sink.driver().run_batch(tasks=2)
    assert sink.open() == []
    commit_transactions(sink.properties, sink.prefix, accept_missing=True)
    driver = sink.driver()
    driver.run_batch(tasks=2)
    driver.run_batch(tasks=2)
    assert sink.numbers(rows_of_first_task(sink) + sink.size)[-sink.size :] == rows(2, sink.size)[sink.size :]


def test_missing_rows_can_be_rewritten_with_the_whole_batch(
    sink: WriterHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    time_out_partially(sink, monkeypatch)
    abort_transactions(sink.properties, sink.prefix, rewrite=True)
    sink.driver().run_batch(tasks=2)
    assert sorted(set(sink.numbers(rows_of_first_task(sink) + sink.size))) == rows(1, sink.size)


@pytest.mark.long
def test_the_witness_record_shows_the_outcome(sink: WriterHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a newer producer uses the transactional id, the coordinator no longer knows the earlier transaction."""
    from kafka_sql.kafka.librdkafka.producer_clients import open_transaction

    crash_in_commit(monkeypatch, commit_first_only, lambda: sink.driver().run_batch(tasks=3))
    (decision,) = [d for d in parse_decisions(read_decisions(sink.config)) if d.prefix == sink.prefix]
    for transaction in decision.transactions[:2]:  # the first is committed; this aborts the second
        with open_transaction({**sink.config, "transaction.timeout.ms": "60000"}, transaction.id, sink.topic):
            pass
    client = TransactionAdmin(sink.config)
    committed, lost = end_transactions.commit_all(client, decision.transactions[:2])
    client.close()
    assert ([d.partition for d in committed], [d.partition for d in lost]) == ([0], [1])
    sink.driver().run_batch(tasks=3)
    assert sink.numbers(sink.size) == rows(1, sink.size)


def test_an_unknown_outcome_stops_the_query(sink: WriterHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    with_short_timeout(sink, lambda driver: crash_after_decision(monkeypatch, driver, 2))
    sink.await_timeout()
    from confluent_kafka import TopicPartition

    deleted = [TopicPartition(sink.topic, p, -1) for p in range(3)]
    for future in sink.topics.admin.delete_records(deleted).values():
        future.result(30)
    with pytest.raises(
        TransactionInDoubtError, match=r"is unknown: the coordinator no longer knows it .* is unavailable"
    ):
        sink.driver().run_batch(tasks=2)
