"""What goes wrong with transactions, in words that say what is missing and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_sql.errors import (
    DecidedTransactionLostError,
    PreparedTransactionLostError,
    TransactionError,
    WriterFencedError,
)
from kafka_sql.sink.exactly_once.records import Claim, Decided, Decision, Writer

_SHOWN = 5  # transactions that a message names


def superseded(writer: Writer, now: Claim) -> WriterFencedError:
    """Another writer has claimed the prefix."""
    return WriterFencedError(
        f"Table '{writer.name}': another writer has taken over 'sink.transactional-id-prefix' = '{writer.prefix}': "
        f"{now.who}. This one has decided nothing since. If it is the same query, started again, all is well; else "
        "give each query and statement a prefix of its own."
    )


def overtaken(writer: Writer, batch: int | None, decision: Decision) -> WriterFencedError:
    """The log is further than the checkpoint."""
    return WriterFencedError(
        f"Table '{writer.name}': batch {batch} is to be written, and batch {decision.batch} of query '{writer.query}' "
        "was written already. Another run of the query has gone on, or the checkpoint is an old copy. Let the newest "
        "run go on; to write from an old copy again, give it a query id of its own (delete its file 'metadata')."
    )


def contested(writer: Writer) -> WriterFencedError:
    """Drivers fence each other, and none of them claims the prefix."""
    return WriterFencedError(
        f"Table '{writer.name}': other drivers keep taking 'sink.transactional-id-prefix' = '{writer.prefix}' away "
        "without deciding anything. Let only one of them run."
    )


def written_twice(writer: Writer, batch: int | None) -> TransactionError:
    """Two writes of one batch cannot be told from a batch and its replay."""
    return TransactionError(
        f"Table '{writer.name}' is written a second time in batch {batch} of query '{writer.query}': under "
        "exactly-once, "
        "foreachBatch may write to each topic once a batch. Write a union of both."
    )


def prepared_lost(writer: Writer, count: int, gone: Sequence[tuple[str, str]]) -> PreparedTransactionLostError:
    """Transactions are not open any more, and nothing was decided.

    Args:
        count: of all that were prepared.
        gone: ids and states.
    """
    states = ", ".join(f"'{key}' is {state}" for key, state in gone[:_SHOWN])
    return PreparedTransactionLostError(
        f"Table '{writer.name}': of {count} transactions that were prepared, {len(gone)} are no longer open "
        f"({states}). Nothing of the batch is to be seen. Either it took longer than "
        "'properties.transaction.timeout.ms', or they were aborted by hand."
    )


def decided_lost(writer: Writer, batch: int | None, lost: Sequence[Decided]) -> DecidedTransactionLostError:
    """The brokers have aborted what was decided."""
    which = f"batch {batch}" if batch is not None else "the statement"
    return DecidedTransactionLostError(
        f"Table '{writer.name}', {which}: the brokers have aborted transactions that were decided, before they could "
        f"be committed: 'properties.transaction.timeout.ms' had passed. {_missing(lost)} {_advice(writer)}"
    )


def cut_otherwise(writer: Writer, batch: int | None, lost: Sequence[Decided]) -> DecidedTransactionLostError:
    """A replay cannot fill the gap that the brokers have made."""
    return DecidedTransactionLostError(
        f"Table '{writer.name}', batch {batch}: the brokers have aborted transactions that were decided. The replay is "
        f"cut into other tasks, or they have other rows, so that it cannot tell which are missing. {_missing(lost)} "
        f"{_by_hand(writer.prefix)}"
    )


def statement_lost(statement: Decision, lost: Sequence[Decided]) -> DecidedTransactionLostError:
    """What an earlier statement's dead driver has left is past completing."""
    return DecidedTransactionLostError(
        f"An earlier statement under 'sink.transactional-id-prefix' = '{statement.prefix}' was decided, its driver "
        f"died, and the brokers have aborted a part of it. {_missing(lost)} Its other rows are written. To go on: "
        f"kafka-sql transactions commit --prefix {statement.prefix} --accept-missing."
    )


def _missing(lost: Sequence[Decided]) -> str:
    rows = sum(d.rows for d in lost)
    each = ", ".join(f"'{d.id}' (task {d.partition}, {d.rows} rows)" for d in lost[:_SHOWN])
    return f"Missing are {rows} rows of {len(lost)} transactions: {each}{', ...' if len(lost) > _SHOWN else ''}."


def _advice(writer: Writer) -> str:
    if writer.query is None:
        return f"To go on without them: kafka-sql transactions commit --prefix {writer.prefix} --accept-missing."
    return (
        "Start the query again: where its tasks have the same rows as before, it writes those that are missing, and "
        f"only those. {_by_hand(writer.prefix)}"
    )


def _by_hand(prefix: str) -> str:
    return (
        f"To go on without them: kafka-sql transactions commit --prefix {prefix} --accept-missing. To have the whole "
        f"batch written again, a part of it twice: kafka-sql transactions abort --prefix {prefix} --rewrite."
    )
