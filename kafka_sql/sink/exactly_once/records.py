"""What is said between tasks, drivers and the record of decisions."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TypeVar

from pyspark.sql.datasource import WriterCommitMessage

from kafka_sql.errors import TransactionError
from kafka_sql.kafka.protocol.transaction_admin import Hint
from kafka_sql.sink.write_stats import Figures

A = TypeVar("A")
B = TypeVar("B")
Place = tuple[str, int, int]  # topic, partition, offset


@dataclass
class Prepared(WriterCommitMessage):
    """What a task has prepared.

    Attributes:
        partition: of the task.
        rows: that were acknowledged.
        transaction: its id; None where there were no rows, as the brokers know of no empty transaction.
        digest: of the rows, to tell whether a replayed task was given the same.
        run: of the query, or of the statement: 16 hexadecimal digits.
        query: the continuous query's id; None for a statement.
        batch: the micro-batch's number; None for a statement.
        figures: what the client says of the writing.
        hint: what the driver need not ask for.
    """

    partition: int
    rows: int
    transaction: str | None
    digest: int
    run: str
    query: str | None
    batch: int | None
    figures: Figures = field(default_factory=Figures)
    hint: Hint = field(default_factory=Hint)


@dataclass(frozen=True)
class Writer:
    """Who wants to decide.

    Attributes:
        name: the table, for errors.
        topics: as the table names them.
        run, query: as in ``Prepared``.
    """

    name: str
    prefix: str
    topics: str
    run: str
    query: str | None

    def wrote(self, decision: Decision) -> bool:
        """Whether a decision is one of this query's for this sink, under whichever prefix."""
        return self.query is not None and (decision.query, decision.topics) == (self.query, self.topics)


@dataclass(frozen=True)
class Decided:
    """A task's transaction that is to be committed, whatever happens.

    Attributes:
        witness: one of its records, by which a reader can tell what became of it.
    """

    partition: int
    rows: int
    digest: int
    id: str
    producer: int
    epoch: int
    witness: Place | None


@dataclass(frozen=True)
class Decision:
    """A batch or statement that is to be committed.

    Attributes:
        prefix: 'sink.transactional-id-prefix'.
        run: that decided.
        query: None for a statement.
        topics: that the sink writes to, as the table names them.
        batch: None for a statement.
        transactions: of its tasks that had rows.
        accepted: whether somebody has accepted by hand that what is missing stays missing.
    """

    prefix: str
    run: str
    query: str | None
    topics: str
    batch: int | None
    transactions: tuple[Decided, ...]
    accepted: bool = False

    @property
    def key(self) -> str:
        """Under which it is recorded: a statement's is replaced by the next statement's of the prefix."""
        return json.dumps(["decision", self.prefix, self.query, self.topics if self.query else None])

    def encoded(self) -> bytes:
        """As it is recorded."""
        return zlib.compress(json.dumps(asdict(self), separators=(",", ":")).encode())


@dataclass(frozen=True)
class Claim:
    """Who writes under a prefix.

    Attributes:
        run: the newest writer's.
        query, topics: its query and what it writes to; None for a statement.
        who: words for errors: table, host, process, time.
        superseded: runs that wrote before, newest last; they must not come back.
    """

    prefix: str
    run: str
    query: str | None
    topics: str | None
    who: str
    superseded: tuple[str, ...] = field(default=())

    @property
    def key(self) -> str:
        """Under which it is recorded."""
        return json.dumps(["claim", self.prefix])

    def encoded(self) -> bytes:
        """As it is recorded."""
        return json.dumps(asdict(self), separators=(",", ":")).encode()


def decisions(log: dict[str, bytes]) -> list[Decision]:
    """The decisions of a log."""
    return [_read(_decision, key, value) for key, value in log.items() if _kind(key) == "decision"]


def claims(log: dict[str, bytes]) -> dict[str, Claim]:
    """The claims of a log, by prefix."""
    found = [_read(_claim, key, value) for key, value in log.items() if _kind(key) == "claim"]
    return {claim.prefix: claim for claim in found}


def _kind(key: str) -> str:
    return _read(lambda text: str(json.loads(text)[0]), key, key)


def _read(read: Callable[[A], B], key: str, value: A) -> B:
    """What is recorded under a key, as far as it is of this package.

    Raises:
        TransactionError: somebody else has written into the log. What it says cannot be relied on then.
    """
    try:
        return read(value)
    except (ValueError, TypeError, LookupError, AttributeError, zlib.error, RecursionError) as e:
        raise TransactionError(
            f"The record of decisions (topic '__kafka_sql_transactions') has a record under the key {key[:100]!r} that "
            f"this package did not write ({type(e).__name__}). Only who writes under a prefix should have WRITE on the "
            "topic; a tombstone under the key removes the record."
        ) from e


def _claim(value: bytes) -> Claim:
    found = json.loads(value)
    return Claim(**{**found, "superseded": tuple(found["superseded"])})


def _decision(value: bytes) -> Decision:
    found = json.loads(zlib.decompress(value))
    transactions = tuple(
        Decided(**{**t, "witness": tuple(t["witness"]) if t["witness"] else None}) for t in found["transactions"]
    )
    return Decision(**{**found, "transactions": transactions})
