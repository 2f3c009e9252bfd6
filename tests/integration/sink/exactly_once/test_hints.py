"""What a task asks before it has rows, and what it tells the driver, which then need not ask."""

from __future__ import annotations

import dataclasses
from contextlib import closing

import pytest

from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection import Connection, Request
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin, TransactionHint
from kafka_sql.kafka.protocol.transaction_outcome import Outcome
from kafka_sql.sink.exactly_once.records import DecidedTransaction
from tests.chaos.clusters import wait_until
from tests.transaction_writers import WriterHarness, rows

pytestmark = pytest.mark.integration


def test_it_is_what_the_brokers_say(sink: WriterHarness) -> None:
    driver = sink.driver()
    for batch in range(2):  # the first one's offsets begin at 0
        prepared = [driver.prepare_rows(batch, task, [(task, key) for key in range(7)]) for task in range(2)]
        with closing(TransactionAdmin(sink.config)) as client:
            for one in prepared:
                described = client.describe([str(one.transaction)])[str(one.transaction)]
                assert described is not None
                assert one.hint.first_record is not None
                assert one.hint.first_record[:2] in described.partitions
                alone = {"one": dataclasses.replace(described, partitions=(one.hint.first_record[:2],))}
                assert client.first_offsets(alone) == {"one": one.hint.first_record}
            driver.committer.commit(batch, prepared)
            owned = driver.committer._owner
            assert owned is not None
            for one in prepared:
                assert one.hint.first_record is not None
                (decided,) = [d for d in owned.decisions[0].transactions if d.id == one.transaction]
                assert batch == 0 or decided.witness == one.hint.first_record
                assert_committed(client, decided)
            host, port = sink.topics.bootstrap.split(":")
            assert {one.hint.coordinator for one in prepared} == {(host, int(port))}


def assert_committed(client: TransactionAdmin, decided: DecidedTransaction) -> None:
    assert decided.witness is not None
    witness, producer = decided.witness, decided.producer
    # whoever ends a transaction has an answer before its partitions have the marker
    wait_until(lambda: client.outcome(witness, producer) is not Outcome.OPEN, "the marker")
    assert client.outcome(witness, producer) is Outcome.COMMITTED


@pytest.mark.parametrize("wrong", [None, ("127.0.0.1", 1), ("no host", 9092)])
def test_a_coordinator_that_is_not_there_is_looked_for(sink: WriterHarness, wrong: tuple[str, int] | None) -> None:
    driver = sink.driver()
    driver.run_batch(tasks=2)
    number, pairs = driver.last_batch("done") + 1, [(a, a % 7) for a in rows(2)[len(rows(1)) :]]
    told = driver.prepare_rows(number, 0, pairs)
    driver.committer.commit(number, [dataclasses.replace(told, hint=TransactionHint(wrong, told.hint.first_record))])
    assert sink.numbers(2 * len(rows(1))) == rows(2)
    assert sink.open() == []


def test_tasks_without_rows_begin_no_transactions_one_after_another(
    sink: WriterHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, send = list[int](), Connection.send

    def counting(connection: Connection, request: Request, *more: object) -> int:
        begun.extend([1] if request.key == ApiKey.INIT_PRODUCER_ID else [])
        return send(connection, request, *more)  # type: ignore[arg-type]

    driver = sink.driver()
    driver.run_batch(tasks=2)  # the first transaction of a broker may have to begin again
    monkeypatch.setattr(Connection, "send", counting)
    expected = [([(0, 0)], 1), ([], 2), ([], 2), ([], 2), ([(1, 1)], 3), ([(2, 2)], 4)]
    prepared = []
    for task, (pairs, count) in enumerate(expected):
        prepared.append(driver.prepare_rows(1, task, pairs))
        assert len(begun) == count
    assert [one.rows for one in prepared] == [1, 0, 0, 0, 1, 1]
    assert [one.transaction is None for one in prepared] == [False, True, True, True, False, False]
    monkeypatch.undo()
    driver.committer.commit(1, prepared)
    assert sink.numbers(len(rows(1)) + 3) == sorted([*rows(1), 0, 1, 2])
    assert sink.open() == []
