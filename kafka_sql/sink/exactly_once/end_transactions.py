"""Commit decided transactions, abort others, and find the outcome of those that have already ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_sql.errors import TransactionError, TransactionInDoubtError
from kafka_sql.kafka.error_codes import FENCED, ErrorCode, error_text
from kafka_sql.kafka.protocol.transaction_admin import EndTxnTarget, TransactionAdmin
from kafka_sql.kafka.protocol.transactions import ONGOING, Outcome
from kafka_sql.sink.exactly_once.records import DecidedTransaction
from kafka_sql.sink.exactly_once.transactional_ids import parse_run, task_prefix

# the transaction was already committed or aborted, by this driver or another one
_ENDED: Final = FENCED | {
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
}


def find_lingering(transactions: TransactionAdmin, prefix: str) -> dict[str, str]:
    """Return the tasks' open transactions under a prefix: the run of each, by transactional id.

    Raises:
        BrokerError: the brokers do not respond.
    """
    ids = transactions.list_ongoing(task_prefix(prefix))
    return {key: run for key in ids if (run := parse_run(prefix, key)) is not None}


def commit_all(
    transactions: TransactionAdmin, decided: Sequence[DecidedTransaction]
) -> tuple[list[DecidedTransaction], list[DecidedTransaction]]:
    """Commit decided transactions. Committing again is not an error.

    Returns:
        the transactions that are committed, and those that the brokers had already aborted.

    Raises:
        TransactionError: a coordinator rejected a commit.
        TransactionInDoubtError: the outcome of a transaction is unknown.
        BrokerError: the brokers do not respond.
    """
    codes = transactions.commit([EndTxnTarget(d.id, d.producer, d.epoch) for d in decided])
    committed = [t for t in decided if _is_committed(transactions, t, codes[t.id])]
    return committed, [t for t in decided if t not in committed]


def _is_committed(transactions: TransactionAdmin, decided: DecidedTransaction, code: int) -> bool:
    if code == ErrorCode.NONE:
        return True
    if code not in _ENDED:
        raise TransactionError(
            f"Transaction '{decided.id}' could not be committed: {error_text(code)}.", transactional_id=decided.id
        )
    witness = decided.witness
    outcome = transactions.outcome(witness, decided.producer) if witness is not None else Outcome.UNKNOWN
    if outcome in (Outcome.COMMITTED, Outcome.ABORTED):
        return outcome is Outcome.COMMITTED
    where = "{}[{}]@{}".format(*witness) if witness is not None else "(location unknown)"
    raise TransactionInDoubtError(
        f"The outcome of transaction '{decided.id}' ({decided.rows} rows) is unknown: the coordinator no longer knows "
        f"it ({ErrorCode(code).name}), and its record {where} is {outcome.value}. If the rows were written, run: "
        "kafka-sql transactions commit --accept-missing. To write the whole batch again: kafka-sql transactions abort "
        "--rewrite.",
        transactional_id=decided.id,
    )


def abort_all(transactions: TransactionAdmin, ids: Sequence[str]) -> list[str]:
    """Abort the transactions that are still open, and fence their producers. Return their ids."""
    descriptions = transactions.describe(ids)
    return transactions.abort({key: d for key, d in descriptions.items() if d and d.state == ONGOING})
