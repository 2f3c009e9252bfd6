"""Rare broker responses: retriable and fatal error codes, tasks without a query, timeout limits.

The brokers are test doubles here; the protocol itself is tested with real brokers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import BrokerError, BrokerUnreachableError, InvalidOptionError, TransactionError
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol import metadata, transaction_admin, transactions
from kafka_sql.kafka.protocol.metadata import Metadata, TopicMetadata
from kafka_sql.kafka.protocol.transaction_admin import EndTxnTarget, TransactionAdmin
from kafka_sql.kafka.protocol.transactions import ActiveProducer, Outcome, TransactionDescription
from kafka_sql.sink.exactly_once import committer, driver, end_transactions, errors, prepare, transactional_ids
from kafka_sql.sink.exactly_once.ownership import PrefixOwner
from kafka_sql.sink.exactly_once.records import DecidedTransaction, Decision, PreparedTransaction, Writer
from kafka_sql.table.table import Column, Table

FIRST_RECORD = ("t", 0, 5)
ADDRESS = ("broker", 9092)
LOADING, NO_LEADER = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.LEADER_NOT_AVAILABLE
UNKNOWN = ErrorCode.UNKNOWN_SERVER_ERROR


class Broker:
    """Returns each request as its response; the parsers are patched."""

    def ask(self, request: Any, seconds: float | None = None) -> Any:
        return request

    def send(self, request: Any) -> int:
        return 1

    def receive(self, request: Any, correlation_id: int, seconds: float | None = None) -> Any:
        return request


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> TransactionAdmin:
    properties = {"bootstrap.servers": "127.0.0.1:1", "delivery.timeout.ms": "200", "linger.ms": "0"}
    admin = TransactionAdmin(to_librdkafka(properties))
    monkeypatch.setattr(admin._connections, "any_connection", Broker)
    monkeypatch.setattr(admin._connections, "connect_to", lambda _: Broker())
    response = Metadata({1: ADDRESS}, {"t": TopicMetadata(0, [ADDRESS])})
    monkeypatch.setattr(metadata, "read_metadata", lambda _: response)
    return admin


def respond_in_order(*responses: Any) -> Callable[..., Any]:
    remaining = iter(responses)
    return lambda *_: next(remaining)


def test_list_is_retried_while_a_coordinator_loads(client: TransactionAdmin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "read_list_transactions", respond_in_order((LOADING, []), (0, ["a-1", "b-1"])))
    assert client.list_ongoing("a") == ["a-1"]


def test_outcome_is_retried_while_a_leader_moves(client: TransactionAdmin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "parse_outcome", respond_in_order((NO_LEADER, None), (0, Outcome.COMMITTED)))
    assert client.outcome(FIRST_RECORD, 7) is Outcome.COMMITTED


def test_describe_producers_is_retried_while_a_leader_moves(
    client: TransactionAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    producing = [ActiveProducer(7, 0, 12)]
    responses = ({FIRST_RECORD[:2]: (NO_LEADER, [])}, {FIRST_RECORD[:2]: (0, producing)})
    monkeypatch.setattr(transactions, "read_describe_producers", respond_in_order(*responses))
    descriptions: Any = {"a-1": SimpleNamespace(partitions=(FIRST_RECORD[:2],), producer_id=7)}
    assert client.first_offsets(descriptions) == {"a-1": ("t", 0, 12)}


def test_a_lasting_retriable_error_is_raised_after_the_timeout(
    client: TransactionAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "read_list_transactions", lambda _: (LOADING, []))
    message = r"ListTransactions within 0\.2 s: .*the coordinator is loading.*'properties\.delivery\.timeout\.ms'"
    with pytest.raises(BrokerUnreachableError, match=message):
        client.list_ongoing("a")


def test_a_fatal_error_of_a_coordinator_is_raised(client: TransactionAdmin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "read_list_transactions", lambda _: (UNKNOWN, []))
    with pytest.raises(TransactionError, match=r"ListTransactions: .* \(UNKNOWN_SERVER_ERROR\)"):
        client.list_ongoing("a")
    rejecting: Any = SimpleNamespace(commit=lambda _: {"a-1": UNKNOWN})
    with pytest.raises(TransactionError, match=r"'a-1' could not be committed: .* \(UNKNOWN_SERVER_ERROR\)"):
        end_transactions.commit_all(rejecting, [DecidedTransaction(0, 1, 0, "a-1", 7, 0, FIRST_RECORD)])


def table(**properties: str) -> Definition:
    options = {
        "connector": "kafka",
        "topic": "t",
        "format": "json",
        "properties.bootstrap.servers": "127.0.0.1:1",
        "sink.delivery-guarantee": "exactly-once",
        "sink.transactional-id-prefix": "p",
        **{f"properties.{key.replace('_', '.')}": value for key, value in properties.items()},
    }
    return validate_table(Table(("orders",), (Column("a", "BIGINT", "BIGINT"),), options))


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], None]:
    def set_limit(milliseconds: str | None) -> None:
        monkeypatch.setattr(driver, "_broker_limits", {})
        monkeypatch.setattr(driver, "broker_setting", lambda *_: milliseconds)
        monkeypatch.setattr(driver.TransactionAdmin, "require_support", lambda _: None)

    return set_limit


@pytest.mark.parametrize(
    ("brokers", "option", "expected"),
    [
        ("60000", None, 60_000),
        ("3600000", None, 900_000),
        (None, None, 900_000),
        ("60000", "50000", 50_000),
        (None, "3600000", 3_600_000),
    ],
)
def test_transaction_timeout_is_the_option_or_the_limit(
    limit: Callable[[str | None], None], brokers: str | None, option: str | None, expected: int
) -> None:
    limit(brokers)
    assert driver.transaction_timeout(table(**{"transaction_timeout_ms": option} if option else {})) == expected


def test_a_timeout_beyond_the_brokers_limit(limit: Callable[[str | None], None]) -> None:
    limit("60000")
    with pytest.raises(InvalidOptionError, match=r"'60001' exceeds the brokers' .* '60000'\. Lower it"):
        driver.transaction_timeout(table(transaction_timeout_ms="60001"))


def test_a_timeout_below_the_trigger_interval_is_rejected() -> None:
    driver.check_trigger_interval(table(transaction_timeout_ms="60000"), 60_000)
    driver.check_trigger_interval(table(), 10**9)
    with pytest.raises(InvalidOptionError, match=r"less than .*interval' = '60001 ms'"):
        driver.check_trigger_interval(table(transaction_timeout_ms="60000"), 60_001)


def context(monkeypatch: pytest.MonkeyPatch, **properties: str) -> None:
    local = {key.replace("__", "."): value for key, value in properties.items()}
    context = SimpleNamespace(partitionId=lambda: 3, taskAttemptId=lambda: 11, getLocalProperty=local.get)
    monkeypatch.setattr(prepare.TaskContext, "get", lambda: context)


def test_a_write_outside_tasks_is_rejected() -> None:
    with pytest.raises(TransactionError, match="only supported inside Spark tasks"):
        prepare.current_task("x")


def test_a_task_without_query_and_batch_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    context(monkeypatch, sql__streaming__queryId="q", spark__jobGroup__id="r")
    with pytest.raises(TransactionError, match="query id or batch id is missing from the task's local properties"):
        prepare.current_task(None)
    context(monkeypatch)
    with pytest.raises(TransactionError, match="query id or batch id is missing from the task's local properties"):
        prepare.current_task(None)


def test_current_task_of_a_statement_and_of_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    context(monkeypatch)
    statement = prepare.current_task("s")
    assert (statement.partition, statement.attempt, statement.query, statement.batch) == (3, 11, None, None)
    context(monkeypatch, sql__streaming__queryId="q", spark__jobGroup__id="r", streaming__sql__batchId="8")
    task = prepare.current_task("s")
    assert (task.query, task.batch) == ("q", 8)
    assert task.run != statement.run


class RecordingCommitters:
    """Replaces the committers: records their calls, and fails if asked to."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.failure: Exception | None = None

    def __call__(self, _: object, writer: Writer) -> Any:
        self.calls.append(f"created for {writer.run}")
        return SimpleNamespace(writer=writer, commit=self._commit, close=lambda: self.calls.append("closed"))

    def _commit(self, batch: int | None, messages: Sequence[PreparedTransaction]) -> None:
        self.calls.append(f"commit {batch} of {len(messages)}")
        if self.failure is not None:
            raise self.failure


@pytest.fixture
def committers(monkeypatch: pytest.MonkeyPatch) -> RecordingCommitters:
    recording = RecordingCommitters()
    monkeypatch.setattr(driver, "Committer", recording)
    monkeypatch.setattr(driver, "_committers", {})
    return recording


def prepared_transaction(batch: int | None, run: str = "r", query: str | None = "q") -> PreparedTransaction:
    return PreparedTransaction(0, 1, "p-1", 0, run, query, batch)


def test_one_committer_for_the_batches_of_a_query(committers: RecordingCommitters) -> None:
    driver.commit(table(), [])
    driver.commit(table(), [prepared_transaction(1), None])
    driver.commit(table(), [prepared_transaction(2), prepared_transaction(2)])
    assert committers.calls == ["created for r", "commit 1 of 1", "commit 2 of 2"]
    driver.commit(table(), [prepared_transaction(3, run="later")])
    assert committers.calls[3:] == ["closed", "created for later", "commit 3 of 1"]


def test_a_failed_committer_is_not_reused(committers: RecordingCommitters) -> None:
    committers.failure = BrokerError("away")
    with pytest.raises(BrokerError):
        driver.commit(table(), [prepared_transaction(1)])
    committers.failure = None
    driver.commit(table(), [prepared_transaction(1)])
    assert committers.calls == ["created for r", "commit 1 of 1", "closed", "created for r", "commit 1 of 1"]


def test_a_statement_closes_its_committer(committers: RecordingCommitters) -> None:
    driver.commit(table(), [prepared_transaction(None, query=None)])
    assert committers.calls == ["created for r", "commit None of 1", "closed"]


def test_failed_aborts_are_left_to_the_next_start(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    closed = []

    def unavailable(*_: object) -> None:
        raise BrokerError("away")

    monkeypatch.setattr(driver, "abort_all", unavailable)
    monkeypatch.setattr(transaction_admin.TransactionAdmin, "close", lambda _: closed.append(1))
    driver.abort(table(), [prepared_transaction(1), None])
    assert "transactions stay open until the next start: [BROKER] away" in caplog.text
    assert len(closed) == 1
    # all tasks succeeded: the driver may have decided
    driver.abort(table(), [prepared_transaction(1), prepared_transaction(1)])
    driver.abort(table(), [None])
    assert len(closed) == 1


def test_drivers_that_repeatedly_fence_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    fencing = []

    def fenced(*_: object) -> None:
        fencing.append(1)
        raise committer.LogWriterFenced

    writer = Writer("orders", "p", "t", "r", "q")
    contender = committer.Committer(table().client_config, writer)
    monkeypatch.setattr(contender, "_commit", fenced)
    monkeypatch.setattr(committer, "fencing_error", lambda *_: None)
    with pytest.raises(
        type(errors.fencing_contention(writer)), match=r"other drivers repeatedly fence .* = 'p' without"
    ):
        contender.commit(1, [prepared_transaction(1)])
    assert len(fencing) == committer._CLAIM_ATTEMPTS


def test_decided_open_transactions_are_committed_and_others_aborted() -> None:
    """A crash between decision and commit leaves such transactions."""
    run = transactional_ids.run_id("before")
    decided, undecided = (transactional_ids.incrementing_id("p", run, 1, task, 0) for task in (0, 1))
    writer = Writer("orders", "p", "t", transactional_ids.run_id("now"), "q")
    decision = Decision("p", run, "q", "t", 1, (DecidedTransaction(0, 1, 0, decided, 7, 2, FIRST_RECORD),))
    unknown_run = transactional_ids.incrementing_id("p", transactional_ids.run_id("later"), 1, 0, 0)
    descriptions = {
        transactional_id: TransactionDescription(transactions.ONGOING, producer_id, 2, 60_000, 0, ())
        for transactional_id, producer_id in ((decided, 7), (undecided, 8))
    }
    calls: list[tuple[str, Any]] = []

    def commit(targets: Any) -> dict[str, int]:
        calls.extend(("commit", target) for target in targets)
        return {target.transactional_id: 0 for target in targets}

    def abort(descriptions: dict[str, TransactionDescription]) -> list[str]:
        calls.extend(("abort", transactional_id) for transactional_id in descriptions)
        return list(descriptions)

    contender = committer.Committer(table().client_config, writer)
    owner = PrefixOwner(writer, cast(Any, None), ("p",), [decision], frozenset({run}))
    contender._cleanup_transactions = cast(
        Any,
        SimpleNamespace(
            list_ongoing=lambda _: [decided, undecided, unknown_run, "p-t-unparsable"],
            describe=lambda ids: {key: descriptions[key] for key in ids},
            commit=commit,
            abort=abort,
        ),
    )
    contender._abort_lingering(owner, set())
    assert calls == [("commit", EndTxnTarget(decided, 7, 2)), ("abort", undecided)]


def test_message_about_lost_transactions_of_a_statement() -> None:
    writer, lost = Writer("orders", "p", "t", "r", None), [DecidedTransaction(3, 12, 0, "p-1", 7, 2, None)]
    message = str(errors.decided_lost(writer, None, lost))
    assert "Table 'orders', the statement: the brokers aborted decided transactions" in message
    assert "Missing: 12 rows of 1 transactions: 'p-1' (task 3, 12 rows)." in message
    assert message.endswith("kafka-sql transactions commit --prefix p --accept-missing.")
