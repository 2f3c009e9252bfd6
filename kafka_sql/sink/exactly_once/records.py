"""Define the messages between tasks and driver, and the records of the decision log.

The field names of ``Claim``, ``Decision`` and ``DecidedTransaction`` are keys of the stored JSON: do not rename them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from pyspark.sql.datasource import WriterCommitMessage

from kafka_sql.errors import TransactionError
from kafka_sql.kafka.protocol.transaction_admin import TransactionHint
from kafka_sql.sink.write_stats import WriteStats

A = TypeVar("A")
B = TypeVar("B")
RecordLocation = tuple[str, int, int]  # topic, partition, offset


@dataclass
class PreparedTransaction(WriterCommitMessage):
    """The transaction that a task has prepared; its commit message to the driver."""

    partition: int  # index of the task's Spark partition
    rows: int  # number of acknowledged records
    # the transactional id; None if the task had no rows, because brokers have no empty transactions
    transaction: str | None
    digest: int  # checksum of the rows, to detect whether a replayed task has the same rows
    run: str  # id of the query's or statement's run: 16 hexadecimal digits
    query: str | None  # id of the streaming query; None for a statement
    batch: int | None  # id of the micro-batch; None for a statement
    stats: WriteStats = field(default_factory=WriteStats)
    # the coordinator and first record, so that the driver need not ask the brokers for them
    hint: TransactionHint = field(default_factory=TransactionHint)


@dataclass(frozen=True)
class Writer:
    """A run of a query or statement that wants to commit."""

    name: str
    prefix: str  # 'sink.transactional-id-prefix'
    topics: str  # the table's topics, as in its option
    run: str
    query: str | None
    # whether it may write although another query has written the topics under the prefix
    allows_new_checkpoint: bool = False

    def wrote(self, decision: Decision) -> bool:
        """Return whether the decision was made by this query for this sink, under any prefix."""
        return self.query is not None and (decision.query, decision.topics) == (self.query, self.topics)


@dataclass(frozen=True)
class DecidedTransaction:
    """A task's transaction that the driver has decided to commit."""

    partition: int
    rows: int
    digest: int
    id: str
    producer: int
    epoch: int
    # location of one of its records. Reading it shows whether the transaction was committed.
    witness: RecordLocation | None


@dataclass(frozen=True)
class Decision:
    """The decision to commit a batch or statement."""

    prefix: str
    run: str  # the run that decided
    query: str | None
    topics: str
    batch: int | None
    transactions: tuple[DecidedTransaction, ...]  # transactions of the tasks that had rows
    accepted: bool = False  # whether a user accepted missing rows (``kafka-sql transactions commit --accept-missing``)

    @property
    def key(self) -> str:
        """Key of the record. The next statement under the prefix replaces the decision of the previous one."""
        return json.dumps(["decision", self.prefix, self.query, self.topics if self.query else None])

    def encode(self) -> bytes:
        """Return the value of the record: zlib-compressed JSON."""
        return zlib.compress(json.dumps(asdict(self), separators=(",", ":")).encode())


@dataclass(frozen=True)
class Claim:
    """A writer's claim of a prefix."""

    prefix: str
    run: str  # the run of the newest writer
    query: str | None  # None for a statement
    topics: str | None  # None for a statement
    who: str  # description for errors: table, host, process and time
    superseded: tuple[str, ...] = field(default=())  # earlier runs, newest last. They must not claim the prefix again.

    @property
    def key(self) -> str:
        return json.dumps(["claim", self.prefix])

    def encode(self) -> bytes:
        """Return the value of the record: JSON."""
        return json.dumps(asdict(self), separators=(",", ":")).encode()


def parse_decisions(log: dict[str, bytes]) -> list[Decision]:
    """Return the decisions in a log."""
    return [_decode(_decode_decision, key, value) for key, value in log.items() if _record_type(key) == "decision"]


def decided_ids(decisions: Iterable[Decision]) -> set[str]:
    """Return the ids of all transactions that the decisions commit."""
    return {transaction.id for decision in decisions for transaction in decision.transactions}


def parse_claims(log: dict[str, bytes]) -> dict[str, Claim]:
    """Return the claims in a log, by prefix."""
    parsed = [_decode(_decode_claim, key, value) for key, value in log.items() if _record_type(key) == "claim"]
    return {claim.prefix: claim for claim in parsed}


def _record_type(key: str) -> str:
    return _decode(lambda encoded: str(json.loads(encoded)[0]), key, key)


def _decode(decode: Callable[[A], B], key: str, value: A) -> B:
    try:
        return decode(value)
    except (ValueError, TypeError, LookupError, AttributeError, zlib.error, RecursionError) as e:
        raise TransactionError(
            "The decision log (topic '__kafka_sql_transactions') has an invalid record under the key "
            f"{key[:100]!r}, which this package did not write ({type(e).__name__}). To remove it, write a tombstone "
            "with this key. Grant WRITE on the topic only to users that write exactly-once."
        ) from e


def _decode_claim(value: bytes) -> Claim:
    fields = json.loads(value)
    return Claim(**{**fields, "superseded": tuple(fields["superseded"])})


def _decode_decision(value: bytes) -> Decision:
    fields = json.loads(zlib.decompress(value))
    return Decision(**{**fields, "transactions": tuple(_decode_transaction(**t) for t in fields["transactions"])})


def _decode_transaction(witness: list[Any] | None, **fields: Any) -> DecidedTransaction:
    return DecidedTransaction(**fields, witness=(witness[0], witness[1], witness[2]) if witness else None)
