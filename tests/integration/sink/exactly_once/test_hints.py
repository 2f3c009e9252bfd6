"""Tasks give the driver hints about their transactions, so that it sends fewer requests."""

from __future__ import annotations

import dataclasses
from contextlib import closing

import pytest

from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.messages import Request
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin, TransactionHint
from kafka_sql.kafka.protocol.transactions import Outcome
from kafka_sql.sink.exactly_once.records import DecidedTransaction
from tests.transaction_writers import WriterHarness, rows
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


@pytest.mark.long
def test_hints_match_the_responses_of_brokers(sink: WriterHarness) -> None:
    driver = sink.driver()
    for batch in range(2):  # the offsets of the first batch start at 0
        prepared = [driver.prepare_rows(batch, task, [(task, key) for key in range(7)]) for task in range(2)]
        with closing(TransactionAdmin(sink.config)) as client:
            for message in prepared:
                described = client.describe([str(message.transaction)])[str(message.transaction)]
                assert described is not None
                assert message.hint.first_record is not None
                assert message.hint.first_record[:2] in described.partitions
                alone = {"id": dataclasses.replace(described, partitions=(message.hint.first_record[:2],))}
                assert client.first_offsets(alone) == {"id": message.hint.first_record}
            driver.committer.commit(batch, prepared)
            owner = driver.committer._owner
            assert owner is not None
            for message in prepared:
                assert message.hint.first_record is not None
                (decided,) = [d for d in owner.decisions[0].transactions if d.id == message.transaction]
                assert batch == 0 or decided.witness == message.hint.first_record
                assert_committed(client, decided)
            host, port = sink.topics.bootstrap.split(":")
            assert {message.hint.coordinator for message in prepared} == {(host, int(port))}


def assert_committed(client: TransactionAdmin, decided: DecidedTransaction) -> None:
    assert decided.witness is not None
    witness, producer = decided.witness, decided.producer
    # the response to EndTxn arrives before the partitions have the marker
    wait_until(lambda: client.outcome(witness, producer) is not Outcome.OPEN, "the marker")
    assert client.outcome(witness, producer) is Outcome.COMMITTED


@pytest.mark.sample(1)
@pytest.mark.parametrize("wrong", [None, ("127.0.0.1", 1), ("no host", 9092)])
def test_a_wrong_coordinator_is_looked_up(sink: WriterHarness, wrong: tuple[str, int] | None) -> None:
    driver = sink.driver()
    driver.run_batch(tasks=2)
    number, pairs = driver.last_batch("done") + 1, [(a, a % 7) for a in rows(2)[len(rows(1)) :]]
    prepared = driver.prepare_rows(number, 0, pairs)
    driver.committer.commit(
        number, [dataclasses.replace(prepared, hint=TransactionHint(wrong, prepared.hint.first_record))]
    )
    assert sink.numbers(2 * len(rows(1))) == rows(2)
    assert sink.open() == []


def test_empty_tasks_do_not_use_up_transactions(sink: WriterHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    started, send = list[int](), Connection.send

    def counting(connection: Connection, request: Request, *arguments: object) -> int:
        started.extend([1] if request.key == ApiKey.INIT_PRODUCER_ID else [])
        return send(connection, request, *arguments)  # type: ignore[arg-type]

    driver = sink.driver()
    driver.run_batch(tasks=2)  # the first transaction on a broker may be retried
    monkeypatch.setattr(Connection, "send", counting)
    expected = [([(0, 0)], 1), ([], 2), ([], 2), ([], 2), ([(1, 1)], 3), ([(2, 2)], 4)]
    prepared = []
    for task, (pairs, count) in enumerate(expected):
        prepared.append(driver.prepare_rows(1, task, pairs))
        assert len(started) == count
    assert [message.rows for message in prepared] == [1, 0, 0, 0, 1, 1]
    assert [message.transaction is None for message in prepared] == [False, True, True, True, False, False]
    monkeypatch.undo()
    driver.committer.commit(1, prepared)
    assert sink.numbers(len(rows(1)) + 3) == sorted([*rows(1), 0, 1, 2])
    assert sink.open() == []
