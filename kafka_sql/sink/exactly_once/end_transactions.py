"""Ending decided transactions, and finding out what became of those that could not be ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_sql.errors import TransactionError, TransactionInDoubtError
from kafka_sql.kafka.protocol.transaction_admin import Ending, Transactions
from kafka_sql.kafka.protocol.transaction_outcome import Outcome
from kafka_sql.kafka.protocol.transaction_requests import ONGOING
from kafka_sql.sink.exactly_once.records import Decided
from kafka_sql.sink.exactly_once.transactional_ids import run_of, task_prefix

# fenced, another state, another producer: it was ended before, by the brokers or by somebody, one way or the other
_ENDED: Final = frozenset({47, 48, 49, 90, 105})


def left_open(transactions: Transactions, prefix: str) -> dict[str, str]:
    """The tasks' transactions under a prefix that are open, and the run of each.

    Raises:
        BrokerError: the brokers do not answer.
    """
    ids = transactions.ongoing(task_prefix(prefix))
    return {key: run for key in ids if (run := run_of(prefix, key)) is not None}


def commit_all(transactions: Transactions, decided: Sequence[Decided]) -> tuple[list[Decided], list[Decided]]:
    """Commit what was decided; doing so again is no error.

    Returns:
        those that are committed, and those that the brokers had aborted before.

    Raises:
        TransactionInDoubtError: what became of one cannot be told.
        BrokerError: the brokers do not answer.
    """
    codes = transactions.commit([Ending(d.id, d.producer, d.epoch) for d in decided])
    committed = [one for one in decided if _is_committed(transactions, one, codes[one.id])]
    return committed, [one for one in decided if one not in committed]


def _is_committed(transactions: Transactions, one: Decided, code: int) -> bool:
    if code == 0:
        return True
    if code not in _ENDED:
        raise TransactionError(f"Transaction '{one.id}' could not be committed: error {code} of its coordinator.")
    outcome = transactions.outcome(one.witness, one.producer) if one.witness is not None else Outcome.GONE
    if outcome in (Outcome.COMMITTED, Outcome.ABORTED):
        return outcome is Outcome.COMMITTED
    where = "{}[{}]@{}".format(*one.witness) if one.witness is not None else "of which nothing is known"
    raise TransactionInDoubtError(
        f"Whether transaction '{one.id}' ({one.rows} rows) was committed cannot be told: its coordinator no longer "
        f"knows it (error {code}), and its record {where} is {outcome.value}. If the rows were written: kafka-sql "
        "transactions commit --accept-missing; to have the whole batch written again: kafka-sql transactions abort "
        "--rewrite."
    )


def abort_all(transactions: Transactions, ids: Sequence[str]) -> list[str]:
    """Abort those that are still open, for good; their ids."""
    known = transactions.describe(ids)
    return transactions.abort({key: found for key, found in known.items() if found and found.state == ONGOING})
