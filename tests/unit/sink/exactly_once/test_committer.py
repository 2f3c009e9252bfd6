"""Test two-phase commits of batches, with simulated transactions and a decision log in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from kafka_sql.errors import CheckpointError, PreparedTransactionLostError, TransactionError
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol.transaction_admin import EndTxnTarget, TransactionHint
from kafka_sql.kafka.protocol.transactions import ONGOING, TransactionDescription
from kafka_sql.sink.exactly_once import committer as module
from kafka_sql.sink.exactly_once.committer import Committer
from kafka_sql.sink.exactly_once.ownership import PrefixOwner
from kafka_sql.sink.exactly_once.records import Decision, PreparedTransaction, Writer, parse_decisions

CONFIG = {"bootstrap.servers": "h:1", "delivery.timeout.ms": "1000"}
RUN = "0123456789abcdef"
WRITER = Writer("orders", "p", "t", RUN, "q")


class Transactions:
    """The transactions of a cluster, and the decision log."""

    def __init__(self) -> None:
        self.states: dict[str, str] = {}
        self.log: dict[str, bytes] = {}
        self.requested_offsets: list[set[str]] = []
        self.coordinators: dict[str, Any] = {}

    def prepare(self, *partitions: int, batch: int | None = 1) -> list[PreparedTransaction]:
        """Begin transactions, as the tasks of a batch do; return their commit messages."""
        messages = []
        for partition in partitions:
            id = f"p-t-{RUN}-{batch or 0}-{partition}-0"
            self.states[id] = ONGOING
            hint = TransactionHint(("broker", 1), ("t", partition, 100 + partition))
            messages.append(PreparedTransaction(partition, 1, id, 7, RUN, "q", batch, hint=hint))
        return messages

    def decisions(self) -> list[Decision]:
        return parse_decisions(self.log)

    # the methods of TransactionAdmin

    def close(self) -> None:
        pass

    def set_coordinators(self, coordinators: Mapping[str, Any]) -> None:
        self.coordinators.update(coordinators)

    def list_ongoing(self, prefix: str) -> list[str]:
        return [id for id, state in self.states.items() if state == ONGOING and id.startswith(prefix)]

    def describe(self, ids: Iterable[str]) -> dict[str, TransactionDescription | None]:
        return {
            id: TransactionDescription(self.states[id], 1, 0, 1000, 0, ()) if id in self.states else None for id in ids
        }

    def first_offsets(self, descriptions: Mapping[str, TransactionDescription]) -> dict[str, tuple[str, int, int]]:
        self.requested_offsets.append(set(descriptions))
        return dict.fromkeys(descriptions, ("t", 0, 5))

    def commit(self, targets: Iterable[EndTxnTarget]) -> dict[str, int]:
        codes = {}
        for target in targets:
            self.states[target.transactional_id] = "CompleteCommit"
            codes[target.transactional_id] = int(ErrorCode.NONE)
        return codes

    def abort(self, descriptions: Mapping[str, TransactionDescription]) -> list[str]:
        self.states.update(dict.fromkeys(descriptions, "CompleteAbort"))
        return list(descriptions)

    # the methods of DecisionLogWriter

    def announce_write(self) -> None:
        pass

    def write(self, records: Mapping[str, bytes | None]) -> None:
        self.log.update({key: value for key, value in records.items() if value is not None})
        for key in [key for key, value in records.items() if value is None]:
            self.log.pop(key, None)


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> Transactions:
    fake: Any = Transactions()

    def claim(config: object, writer: Writer, *_: object) -> PrefixOwner:
        return PrefixOwner(writer, fake, ("p",), fake.decisions(), frozenset({RUN}))

    monkeypatch.setattr(module, "TransactionAdmin", lambda _: fake)
    monkeypatch.setattr(module, "claim_prefix", claim)
    monkeypatch.setattr(module, "read_decisions", lambda _: dict(fake.log))
    monkeypatch.setattr(module, "fencing_error", lambda *_: None)
    return fake  # type: ignore[no-any-return]


def test_the_first_batch_asks_the_brokers_for_offsets_and_later_ones_use_the_hints(transactions: Transactions) -> None:
    committer = Committer(CONFIG, WRITER)
    locations = []
    for batch in (1, 2, 3):
        committer.commit(batch, transactions.prepare(0, 1, batch=batch))
        (decision,) = transactions.decisions()
        assert decision.batch == batch
        locations.append([t.witness for t in decision.transactions])
    asked = {f"p-t-{RUN}-1-{partition}-0" for partition in (0, 1)}
    assert transactions.requested_offsets == [asked, set(), set()]
    assert locations == [[("t", 0, 5)] * 2, *[[("t", 0, 100), ("t", 1, 101)]] * 2]
    assert set(transactions.coordinators.values()) == {("broker", 1)}
    assert set(transactions.states.values()) == {"CompleteCommit"}


def test_tasks_without_rows_need_no_decision(transactions: Transactions) -> None:
    Committer(CONFIG, WRITER).commit(1, [PreparedTransaction(0, 0, None, 0, RUN, "q", 1)])
    assert transactions.log == {}


def test_failed_task_attempts_are_aborted(transactions: Transactions) -> None:
    messages = transactions.prepare(0, 1)
    lingering = f"p-t-{RUN}-1-0-9"
    other_run = "p-t-fedcba9876543210-1-0-0"
    transactions.states.update({lingering: ONGOING, other_run: ONGOING})
    Committer(CONFIG, WRITER).commit(1, messages)
    assert [transactions.states[str(m.transaction)] for m in messages] == ["CompleteCommit"] * 2
    assert (transactions.states[lingering], transactions.states[other_run]) == ("CompleteAbort", ONGOING)


def test_a_rejected_query_leaves_no_transaction_open(
    transactions: Transactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reject(*_: object) -> PrefixOwner:
        raise CheckpointError("the checkpoint is new")

    monkeypatch.setattr(module, "claim_prefix", reject)
    messages = transactions.prepare(0, 1)
    with pytest.raises(CheckpointError):
        Committer(CONFIG, WRITER).commit(1, messages)
    assert set(transactions.states.values()) == {"CompleteAbort"}
    assert transactions.log == {}


def test_nothing_is_committed_if_a_prepared_transaction_is_lost(transactions: Transactions) -> None:
    first, second = transactions.prepare(0, 1)
    transactions.states[str(second.transaction)] = "CompleteAbort"
    with pytest.raises(PreparedTransactionLostError, match=r"of 2 prepared transactions, 1 are no longer open \(.*Com"):
        Committer(CONFIG, WRITER).commit(1, [first, second])
    assert transactions.log == {}
    assert transactions.states[str(first.transaction)] == "CompleteAbort"


def test_a_batch_is_written_once(transactions: Transactions) -> None:
    committer = Committer(CONFIG, WRITER)
    committer.commit(1, transactions.prepare(0))
    with pytest.raises(TransactionError, match="is written a second time in batch 1"):
        committer.commit(1, transactions.prepare(2))


def test_a_replay_of_a_decided_batch_only_completes_it(
    transactions: Transactions, caplog: pytest.LogCaptureFixture
) -> None:
    Committer(CONFIG, WRITER).commit(1, transactions.prepare(0, 1))
    run = "fedcba9876543210"
    replay = PreparedTransaction(0, 5, f"p-t-{run}-1-0-0", 7, run, "q", 1)
    transactions.states[str(replay.transaction)] = ONGOING
    committer = Committer(CONFIG, Writer("orders", "p", "t", run, "q"))
    committer.commit(1, [replay])
    assert transactions.states[str(replay.transaction)] == "CompleteAbort"
    assert "batch 1 was written with 2 rows before a crash. The replay has 5 rows" in caplog.text


def test_a_statement_leaves_no_decision(transactions: Transactions) -> None:
    Committer(CONFIG, Writer("orders", "p", "t", RUN, None)).commit(None, transactions.prepare(0, batch=None))
    assert transactions.log == {}
    assert list(transactions.states.values()) == ["CompleteCommit"]
