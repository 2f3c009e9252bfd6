"""Build the errors of exactly-once writes. Each message names what is missing and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_sql.errors import (
    CheckpointError,
    DecidedTransactionLostError,
    PreparedTransactionLostError,
    TransactionError,
    WriterFencedError,
)
from kafka_sql.sink.exactly_once.records import Claim, DecidedTransaction, Decision, Writer

_ALLOWED = "'sink.allow-new-checkpoint' = 'true'"
_MAX_SHOWN = 5  # transactions that a message lists


def superseded(writer: Writer, claim: Claim) -> WriterFencedError:
    return WriterFencedError(
        f"Table '{writer.name}': another writer has taken over 'sink.transactional-id-prefix' = '{writer.prefix}': "
        f"{claim.who}. This writer has committed nothing since then. If the other writer is a restart of the same "
        "query, nothing needs to be done. Otherwise set a different prefix for each query and statement.",
        table=writer.name,
    )


def log_ahead_of_checkpoint(writer: Writer, batch: int | None, decision: Decision) -> WriterFencedError:
    return WriterFencedError(
        f"Table '{writer.name}': cannot write batch {batch}, because batch {decision.batch} of query '{writer.query}' "
        "was already written. Either a newer run of the query has continued, or the checkpoint is an old copy. Use the "
        "newest run. To write again from an old copy, give it a new query id (delete its file 'metadata') and set "
        f"{_ALLOWED}.",
        table=writer.name,
    )


def new_checkpoint(writer: Writer, decision: Decision, claim: Claim | None) -> CheckpointError:
    earlier = claim.who if claim is not None else f"query {decision.query}"
    return CheckpointError(
        f"Table '{writer.name}': the checkpoint is new, but topic '{writer.topics}' was already written under "
        f"'sink.transactional-id-prefix' = '{writer.prefix}' by {earlier}. The rows of that query would be written a "
        "second time. To continue it, use its checkpoint. For a different query, set a different prefix. To write the "
        f"rows again, set {_ALLOWED}, for example with the hint INSERT INTO {writer.name} /*+ OPTIONS({_ALLOWED}) */.",
        table=writer.name,
        topic=writer.topics,
    )


def fencing_contention(writer: Writer) -> WriterFencedError:
    return WriterFencedError(
        f"Table '{writer.name}': other drivers repeatedly fence 'sink.transactional-id-prefix' = '{writer.prefix}' "
        "without committing anything. Run only one of them.",
        table=writer.name,
    )


def batch_written_twice(writer: Writer, batch: int | None) -> TransactionError:
    return TransactionError(
        f"Table '{writer.name}' is written a second time in batch {batch} of query '{writer.query}'. With "
        "exactly-once, foreachBatch may write to each topic once per batch. Write a union of both DataFrames.",
        table=writer.name,
    )


def prepared_lost(writer: Writer, count: int, lost: Sequence[tuple[str, str]]) -> PreparedTransactionLostError:
    """Return the error for prepared transactions that are no longer open, of a batch that was not committed.

    Args:
        count: number of all prepared transactions.
        lost: ids and states of those that are no longer open.
    """
    states = ", ".join(f"'{key}' is {state}" for key, state in lost[:_MAX_SHOWN])
    return PreparedTransactionLostError(
        f"Table '{writer.name}': of {count} prepared transactions, {len(lost)} are no longer open ({states}). "
        "No row of the batch was committed. Either the batch took longer than 'properties.transaction.timeout.ms', or "
        "the transactions were aborted manually.",
        table=writer.name,
    )


def decided_lost(writer: Writer, batch: int | None, lost: Sequence[DecidedTransaction]) -> DecidedTransactionLostError:
    write = f"batch {batch}" if batch is not None else "the statement"
    return DecidedTransactionLostError(
        f"Table '{writer.name}', {write}: the brokers aborted decided transactions before they were committed, because "
        "'properties.transaction.timeout.ms' had expired. "
        f"{_missing_rows(lost)} {_recovery_advice(writer)}",
        table=writer.name,
    )


def replay_differs(
    writer: Writer, batch: int | None, lost: Sequence[DecidedTransaction]
) -> DecidedTransactionLostError:
    return DecidedTransactionLostError(
        f"Table '{writer.name}', batch {batch}: the brokers aborted decided transactions. The replay has different "
        "tasks or rows, so the missing rows cannot be identified. "
        f"{_missing_rows(lost)} {_admin_commands(writer.prefix)}",
        table=writer.name,
    )


def statement_lost(statement: Decision, lost: Sequence[DecidedTransaction]) -> DecidedTransactionLostError:
    return DecidedTransactionLostError(
        f"An earlier statement under 'sink.transactional-id-prefix' = '{statement.prefix}' was decided, but its driver "
        f"died and the brokers aborted part of it. {_missing_rows(lost)} Its other rows are written. To continue: "
        f"kafka-sql transactions commit --prefix {statement.prefix} --accept-missing.",
        transactional_id=statement.prefix,
    )


def _missing_rows(lost: Sequence[DecidedTransaction]) -> str:
    rows = sum(d.rows for d in lost)
    details = ", ".join(f"'{d.id}' (task {d.partition}, {d.rows} rows)" for d in lost[:_MAX_SHOWN])
    return f"Missing: {rows} rows of {len(lost)} transactions: {details}{', ...' if len(lost) > _MAX_SHOWN else ''}."


def _recovery_advice(writer: Writer) -> str:
    if writer.query is None:
        return f"To continue without them: kafka-sql transactions commit --prefix {writer.prefix} --accept-missing."
    return (
        "Restart the query: if its tasks have the same rows as before, it writes only the missing rows. "
        f"{_admin_commands(writer.prefix)}"
    )


def _admin_commands(prefix: str) -> str:
    return (
        f"To continue without them: kafka-sql transactions commit --prefix {prefix} --accept-missing. To write the "
        f"whole batch again, part of it twice: kafka-sql transactions abort --prefix {prefix} --rewrite."
    )
