"""``kafka-sql transactions``: which open transactions it lists, commits and aborts, with a fake cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.errors import DecidedTransactionLostError
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol.transactions import ONGOING, Outcome, TransactionDescription
from kafka_sql.sink.exactly_once import admin, transactional_ids
from kafka_sql.sink.exactly_once.records import DecidedTransaction, Decision, Writer, parse_claims, parse_decisions

PROPERTIES = {"bootstrap.servers": "h:1"}
RUN = transactional_ids.run_id("run")
DECIDED, UNDECIDED = (transactional_ids.incrementing_id("p", RUN, 1, task, 0) for task in (0, 1))


class Cluster:
    """Open transactions by id, and the records of the decision log."""

    def __init__(self, *decisions: Decision) -> None:
        self.open = {
            key: TransactionDescription(ONGOING, producer, 2, 60_000, 1_700_000_000_000, (("u", 1), ("t", 0), ("t", 1)))
            for producer, key in enumerate((DECIDED, UNDECIDED), 7)
        }
        self.log: dict[str, bytes] = {decision.key: decision.encode() for decision in decisions}
        self.committed: list[str] = []
        self.codes: dict[str, ErrorCode] = {}

    def close(self) -> None:
        """Both clients are closed after each command."""

    def list_ongoing(self, prefix: str) -> list[str]:
        return [key for key in self.open if key.startswith(prefix)]

    def describe(self, ids: Sequence[str]) -> dict[str, TransactionDescription | None]:
        return {key: self.open.get(key) for key in ids}

    def commit(self, targets: Sequence[Any]) -> dict[str, int]:
        codes = {target.transactional_id: self.codes.get(target.transactional_id, ErrorCode.NONE) for target in targets}
        self.committed += [key for key, code in codes.items() if code == ErrorCode.NONE]
        return {**codes}

    def outcome(self, *_: object) -> Outcome:
        return Outcome.ABORTED

    def abort(self, descriptions: Mapping[str, TransactionDescription]) -> list[str]:
        return sorted(descriptions)

    def fence_older_writers(self) -> None:
        """There are no other writers."""

    def write(self, records: Mapping[str, bytes | None]) -> None:
        for key, value in records.items():
            if value is None:
                self.log.pop(key, None)
            else:
                self.log[key] = value


def decision(query: str | None = "q", prefix: str = "p", transaction: str = DECIDED) -> Decision:
    transactions = (DecidedTransaction(0, 5, 0, transaction, 7, 2, ("t", 0, 3)),)
    return Decision(prefix, RUN, query, "t", 1 if query else None, transactions)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    fake = Cluster(decision())
    monkeypatch.setattr(admin, "TransactionAdmin", lambda _: fake)
    monkeypatch.setattr(admin, "DecisionLogWriter", lambda *_: fake)
    monkeypatch.setattr(admin, "read_decisions", lambda _: dict(fake.log))
    return fake


def test_list(cluster: Cluster) -> None:
    decided, undecided = admin.list_transactions(PROPERTIES, "p")
    assert (decided.id, decided.decided, decided.topics) == (DECIDED, True, ("t", "u"))
    assert decided.started == datetime(2023, 11, 14, 22, 13, 20, tzinfo=timezone.utc)
    assert (decided.aborts - decided.started).total_seconds() == 60
    assert (undecided.id, undecided.decided) == (UNDECIDED, False)


def test_a_decision_under_another_prefix_does_not_count(cluster: Cluster) -> None:
    unrelated = decision(prefix="other")
    cluster.log = {unrelated.key: unrelated.encode()}
    assert [t.decided for t in admin.list_transactions(PROPERTIES, "p")] == [False, False]


def test_commit_ends_only_decided_transactions_and_claims_nothing(cluster: Cluster) -> None:
    assert admin.commit_transactions(PROPERTIES, "p") == [DECIDED]
    assert cluster.committed == [DECIDED]
    assert parse_claims(cluster.log) == {}


def test_commit_of_an_ended_transaction_does_nothing(cluster: Cluster) -> None:
    del cluster.open[DECIDED]
    assert admin.commit_transactions(PROPERTIES, "p") == []
    assert cluster.committed == []


def test_missing_rows_of_a_statement_are_an_error_unless_accepted(cluster: Cluster) -> None:
    statement = decision(query=None)
    cluster.log = {statement.key: statement.encode()}
    cluster.codes = {DECIDED: ErrorCode.INVALID_TXN_STATE}
    with pytest.raises(DecidedTransactionLostError, match="Missing: 5 rows of 1 transactions") as raised:
        admin.commit_transactions(PROPERTIES, "p")
    assert raised.value.transactional_id == "p"
    assert admin.commit_transactions(PROPERTIES, "p", accept_missing=True) == []
    (accepted,) = parse_decisions(cluster.log)
    assert (accepted.accepted, accepted.transactions) == (True, statement.transactions)


def test_abort_claims_the_prefix_and_keeps_decided_transactions(cluster: Cluster) -> None:
    assert admin.abort_transactions(PROPERTIES, "p") == [UNDECIDED]
    claim = parse_claims(cluster.log)["p"]
    assert claim.superseded == (RUN,)
    assert "'transactions'" in claim.who
    assert parse_decisions(cluster.log) == [decision()]


def test_abort_with_rewrite_deletes_the_decision(cluster: Cluster) -> None:
    assert admin.abort_transactions(PROPERTIES, "p", rewrite=True) == [DECIDED, UNDECIDED]
    assert parse_decisions(cluster.log) == []


def test_abort_without_open_transactions_does_not_fence(cluster: Cluster) -> None:
    cluster.open = {}
    assert admin.abort_transactions(PROPERTIES, "p") == []
    assert parse_claims(cluster.log) == {}
    assert admin.abort_transactions(PROPERTIES, "p", rewrite=True) == []
    assert list(parse_claims(cluster.log)) == ["p"]


def test_abort_ignores_runs_that_appear_after_the_claim(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    late = transactional_ids.incrementing_id("p", transactional_ids.run_id("late"), 1, 0, 0)

    def write(records: Mapping[str, bytes | None]) -> None:
        cluster.log.update({key: value for key, value in records.items() if value is not None})
        cluster.open[late] = cluster.open[UNDECIDED]

    monkeypatch.setattr(admin, "DecisionLogWriter", lambda *_: _log_writer(cluster, write))
    assert admin.abort_transactions(PROPERTIES, "p") == [UNDECIDED]


def _log_writer(cluster: Cluster, write: Any) -> Any:
    return SimpleNamespace(close=cluster.close, fence_older_writers=cluster.fence_older_writers, write=write)


def test_writers_are_distinguished_by_query_and_topics() -> None:
    writer = Writer("orders", "p", "t", RUN, "q")
    assert writer.wrote(decision(prefix="earlier"))
    assert not writer.wrote(decision(query="other"))
    assert not Writer("orders", "p", "t", RUN, None).wrote(decision(query=None))
