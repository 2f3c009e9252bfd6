"""What real brokers say seldom: error codes that pass or stay, a task without a query, a limit. The brokers' side is a
double here; the protocol itself is tested on real ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import BrokerError, BrokerUnreachableError, InvalidOptionError, TransactionError
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.protocol import transaction_admin, transaction_outcome, transaction_requests
from kafka_sql.kafka.protocol.transaction_admin import Ending, Transactions
from kafka_sql.kafka.protocol.transaction_outcome import Outcome
from kafka_sql.kafka.protocol.transaction_requests import Described, Producing
from kafka_sql.sink.exactly_once import committer, driver, end_transactions, errors, prepare, timeout, transactional_ids
from kafka_sql.sink.exactly_once.ownership import Owned
from kafka_sql.sink.exactly_once.records import Decided, Decision, Prepared, Writer
from kafka_sql.table.declaration import Column, Table

PLACE = ("t", 0, 5)
ADDRESS = ("broker", 9092)
LOADING, NO_LEADER, UNKNOWN = 14, 5, -1


class Broker:
    """Answers every request with itself; what an answer says is patched in."""

    def __init__(self) -> None:
        self.versions = {transaction_requests.LIST: 0}

    def ask(self, request: Any) -> Any:
        return request


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Transactions:
    given = {"bootstrap.servers": "127.0.0.1:1", "delivery.timeout.ms": "200", "linger.ms": "0"}
    made = Transactions(to_librdkafka(given))
    monkeypatch.setattr(made._brokers, "any", Broker)
    monkeypatch.setattr(made._brokers, "at", lambda _: Broker())
    monkeypatch.setattr(transaction_requests, "read_leaders", lambda _: {PLACE[:2]: ADDRESS})
    monkeypatch.setattr(transaction_requests, "read_brokers", lambda _: [ADDRESS])
    return made


def one_after_another(*answers: Any) -> Callable[..., Any]:
    left = iter(answers)
    return lambda *_: next(left)


def test_a_list_is_asked_for_again_while_a_coordinator_loads(
    client: Transactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_requests, "read_list", one_after_another((LOADING, []), (0, ["a-1", "b-1"])))
    assert client.ongoing("a") == ["a-1"]


def test_an_outcome_is_asked_for_again_while_a_leader_moves(
    client: Transactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_outcome, "seen", one_after_another((NO_LEADER, None), (0, Outcome.COMMITTED)))
    assert client.outcome(PLACE, 7) is Outcome.COMMITTED


def test_producers_are_asked_for_again_while_a_leader_moves(
    client: Transactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    producing = [Producing(7, 0, 12)]
    answers = ({PLACE[:2]: (NO_LEADER, [])}, {PLACE[:2]: (0, producing)})
    monkeypatch.setattr(transaction_requests, "read_describe_producers", one_after_another(*answers))
    described: Any = {"a-1": SimpleNamespace(partitions=(PLACE[:2],), producer=7)}
    assert client.first_offsets(described) == {"a-1": ("t", 0, 12)}


def test_a_cause_that_does_not_pass_is_told_in_time(client: Transactions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_requests, "read_list", lambda _: (LOADING, []))
    words = r"within 0\.2 s \('properties\.delivery\.timeout\.ms'\): Broker: Coord"
    with pytest.raises(BrokerUnreachableError, match=words):
        client.ongoing("a")


def test_another_error_of_a_coordinator_is_told(client: Transactions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_requests, "read_list", lambda _: (UNKNOWN, []))
    with pytest.raises(TransactionError, match=r"ListTransactions: .* \(-1\)"):
        client.ongoing("a")
    refusing: Any = SimpleNamespace(commit=lambda _: {"a-1": UNKNOWN})
    with pytest.raises(TransactionError, match="'a-1' could not be committed: error -1 of its coordinator"):
        end_transactions.commit_all(refusing, [Decided(0, 1, 0, "a-1", 7, 0, PLACE)])


def table(**more: str) -> Definition:
    given = {
        "connector": "kafka",
        "topic": "t",
        "format": "json",
        "properties.bootstrap.servers": "127.0.0.1:1",
        "sink.delivery-guarantee": "exactly-once",
        "sink.transactional-id-prefix": "p",
        **{f"properties.{key.replace('_', '.')}": value for key, value in more.items()},
    }
    return validate_table(Table(("orders",), (Column("a", "BIGINT", "BIGINT"),), given))


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], None]:
    def says(milliseconds: str | None) -> None:
        monkeypatch.setattr(timeout, "_limits", {})
        monkeypatch.setattr(timeout, "broker_setting", lambda *_: milliseconds)

    return says


@pytest.mark.parametrize(
    ("brokers", "given", "found"),
    [
        ("60000", None, 60_000),
        ("3600000", None, 900_000),
        (None, None, 900_000),
        ("60000", "50000", 50_000),
        (None, "3600000", 3_600_000),
    ],
)
def test_how_long_a_transaction_may_take(
    limit: Callable[[str | None], None], brokers: str | None, given: str | None, found: int
) -> None:
    limit(brokers)
    assert timeout.transaction_timeout(table(**{"transaction_timeout_ms": given} if given else {})) == found


def test_a_timeout_beyond_the_brokers_limit(limit: Callable[[str | None], None]) -> None:
    limit("60000")
    with pytest.raises(InvalidOptionError, match=r"'60001' is more than the brokers' .* '60000'\. Lower it"):
        timeout.transaction_timeout(table(transaction_timeout_ms="60001"))


def test_a_timeout_below_the_trigger() -> None:
    timeout.check_trigger(table(transaction_timeout_ms="60000"), 60_000)
    timeout.check_trigger(table(), 10**9)
    with pytest.raises(InvalidOptionError, match=r"less than .*interval' = '60001 ms'"):
        timeout.check_trigger(table(transaction_timeout_ms="60000"), 60_001)


def context(monkeypatch: pytest.MonkeyPatch, **properties: str) -> None:
    told = {key.replace("__", "."): value for key, value in properties.items()}
    found = SimpleNamespace(partitionId=lambda: 3, taskAttemptId=lambda: 11, getLocalProperty=told.get)
    monkeypatch.setattr(prepare.TaskContext, "get", lambda: found)


def test_a_write_outside_of_tasks() -> None:
    with pytest.raises(TransactionError, match="by Spark's tasks only"):
        prepare.current_task("x")


def test_a_task_that_is_not_told_its_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    context(monkeypatch, sql__streaming__queryId="q", spark__jobGroup__id="r")
    with pytest.raises(TransactionError, match="does not tell a task which query and batch"):
        prepare.current_task(None)
    context(monkeypatch)
    with pytest.raises(TransactionError, match="does not tell a task which query and batch"):
        prepare.current_task(None)


def test_which_task_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    context(monkeypatch)
    statement = prepare.current_task("s")
    assert (statement.partition, statement.attempt, statement.query, statement.batch) == (3, 11, None, None)
    context(monkeypatch, sql__streaming__queryId="q", spark__jobGroup__id="r", streaming__sql__batchId="8")
    task = prepare.current_task("s")
    assert (task.query, task.batch) == ("q", 8)
    assert task.run != statement.run


class Drivers:
    """In place of committers: what is done with them, and what they fail with."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.failure: Exception | None = None

    def __call__(self, _: object, writer: Writer) -> Any:
        self.said.append(f"made for {writer.run}")
        return SimpleNamespace(writer=writer, commit=self._commit, close=lambda: self.said.append("closed"))

    def _commit(self, batch: int | None, messages: Sequence[Prepared]) -> None:
        self.said.append(f"commit {batch} of {len(messages)}")
        if self.failure is not None:
            raise self.failure


@pytest.fixture
def drivers(monkeypatch: pytest.MonkeyPatch) -> Drivers:
    made = Drivers()
    monkeypatch.setattr(driver, "Committer", made)
    monkeypatch.setattr(driver, "_committers", {})
    return made


def done(batch: int | None, run: str = "r", query: str | None = "q") -> Prepared:
    return Prepared(0, 1, "p-1", 0, run, query, batch)


def test_one_committer_for_the_batches_of_a_query(drivers: Drivers) -> None:
    driver.commit(table(), [])
    driver.commit(table(), [done(1), None])
    driver.commit(table(), [done(2), done(2)])
    assert drivers.said == ["made for r", "commit 1 of 1", "commit 2 of 2"]
    driver.commit(table(), [done(3, run="later")])
    assert drivers.said[3:] == ["closed", "made for later", "commit 3 of 1"]


def test_a_committer_that_fails_is_not_used_again(drivers: Drivers) -> None:
    drivers.failure = BrokerError("away")
    with pytest.raises(BrokerError):
        driver.commit(table(), [done(1)])
    drivers.failure = None
    driver.commit(table(), [done(1)])
    assert drivers.said == ["made for r", "commit 1 of 1", "closed", "made for r", "commit 1 of 1"]


def test_a_statements_committer_ends_with_it(drivers: Drivers) -> None:
    driver.commit(table(), [done(None, query=None)])
    assert drivers.said == ["made for r", "commit None of 1", "closed"]


def test_what_cannot_be_aborted_is_left_to_the_next_start(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    closed = []

    def away(*_: object) -> None:
        raise BrokerError("away")

    monkeypatch.setattr(committer, "abort_all", away)
    monkeypatch.setattr(transaction_admin.Transactions, "close", lambda _: closed.append(1))
    committer.abort_attempt(table().client, [done(1), None])
    assert "transactions stay open until the next start: [BROKER] away" in caplog.text
    assert len(closed) == 1
    committer.abort_attempt(table().client, [done(1), done(1)])  # all were done: the driver may have decided
    committer.abort_attempt(table().client, [None])
    assert len(closed) == 1


def test_drivers_that_keep_fencing_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    fencing = []

    def fenced(*_: object) -> None:
        fencing.append(1)
        raise committer.Fenced

    writer = Writer("orders", "p", "t", "r", "q")
    one = committer.Committer(table().client, writer)
    monkeypatch.setattr(one, "_commit", fenced)
    monkeypatch.setattr(committer, "fenced", lambda *_: None)
    with pytest.raises(type(errors.contested(writer)), match=r"other drivers keep taking .* = 'p' away"):
        one.commit(1, [done(1)])
    assert len(fencing) == committer._ATTEMPTS


def test_what_was_decided_and_is_still_open_is_committed_and_the_rest_aborted() -> None:
    """As after a decision that was read back too late to be completed at once."""
    run = transactional_ids.short("before")
    decided, undecided = (transactional_ids.incrementing("p", run, 1, task, 0) for task in (0, 1))
    writer = Writer("orders", "p", "t", transactional_ids.short("now"), "q")
    decision = Decision("p", run, "q", "t", 1, (Decided(0, 1, 0, decided, 7, 2, PLACE),))
    of_others = transactional_ids.incrementing("p", transactional_ids.short("later"), 1, 0, 0)
    known = ((decided, 7), (undecided, 8))
    open_ = {key: Described(transaction_requests.ONGOING, producer, 2, 60_000, 0, ()) for key, producer in known}
    ended: list[tuple[str, Any]] = []

    def commit(endings: Any) -> dict[str, int]:
        ended.extend(("commit", ending) for ending in endings)
        return {ending.id: 0 for ending in endings}

    def abort(found: dict[str, Described]) -> list[str]:
        ended.extend(("abort", key) for key in found)
        return list(found)

    one = committer.Committer(table().client, writer)
    one._owned = Owned(writer, cast(Any, None), ("p",), [decision], frozenset({run}))
    one._sweeping = cast(
        Any,
        SimpleNamespace(
            ongoing=lambda _: [decided, undecided, of_others, "p-t-of nobody"],
            describe=lambda ids: {key: open_[key] for key in ids},
            commit=commit,
            abort=abort,
        ),
    )
    one._sweep(set())
    assert ended == [("commit", Ending(decided, 7, 2)), ("abort", undecided)]


def test_what_a_statement_lost_and_what_to_do() -> None:
    writer, lost = Writer("orders", "p", "t", "r", None), [Decided(3, 12, 0, "p-1", 7, 2, None)]
    said = str(errors.decided_lost(writer, None, lost))
    assert "Table 'orders', the statement: the brokers have aborted transactions that were decided" in said
    assert "Missing are 12 rows of 1 transactions: 'p-1' (task 3, 12 rows)." in said
    assert said.endswith("kafka-sql transactions commit --prefix p --accept-missing.")
