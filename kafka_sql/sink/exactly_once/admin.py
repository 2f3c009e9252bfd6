"""What a crash left open, by hand: list it, commit what was decided, abort the rest."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Final

from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.decision_log import read_log
from kafka_sql.kafka.decision_log_writer import LogWriter
from kafka_sql.kafka.protocol.transaction_admin import Transactions
from kafka_sql.kafka.protocol.transaction_requests import Described
from kafka_sql.sink.exactly_once.end_transactions import abort_all, commit_all, left_open
from kafka_sql.sink.exactly_once.errors import statement_lost
from kafka_sql.sink.exactly_once.ownership import next_claim
from kafka_sql.sink.exactly_once.records import Claim, Decision, Writer, decisions
from kafka_sql.sink.exactly_once.transactional_ids import driver_id, short

_HAND: Final = "transactions"


@dataclass(frozen=True)
class OpenTransaction:
    """A transaction that a task left open, or has just prepared.

    Attributes:
        id: the transactional id.
        decided: whether it is to be committed.
        topics: that it has written to.
        started: when it was begun.
        aborts: when the brokers abort it.
    """

    id: str
    decided: bool
    topics: tuple[str, ...]
    started: datetime
    aborts: datetime


def list_transactions(properties: Mapping[str, str], prefix: str) -> list[OpenTransaction]:
    """The open transactions under a prefix; those of a query that runs are among them while it writes.

    Args:
        properties: Kafka's client properties, as 'properties.*' of a table without that prefix.

    Raises:
        OptionError: a property is none.
        BrokerError: the brokers do not answer.
    """
    config = to_librdkafka(properties)
    with closing(Transactions(config)) as transactions:
        decided = {d.id for decision in _of(config, prefix) for d in decision.transactions}
        found = transactions.describe(list(left_open(transactions, prefix)))
    return [_shown(key, d, key in decided) for key, d in sorted(found.items()) if d is not None]


def commit_transactions(properties: Mapping[str, str], prefix: str, accept_missing: bool = False) -> list[str]:
    """Commit what was decided under a prefix and is still open; disturbs no query that runs.

    Args:
        accept_missing: batches and statements that lost a part after they were decided count as written.

    Returns:
        the ids of the transactions that were committed.

    Raises:
        DecidedTransactionLostError: the brokers have aborted a part of a statement.
        BrokerError: the brokers do not answer.
    """
    config = to_librdkafka(properties)
    with closing(Transactions(config)) as transactions:
        known = _of(config, prefix)
        open_ = left_open(transactions, prefix)
        late = [d for decision in known for d in decision.transactions if d.id in open_]
        committed, _ = commit_all(transactions, late)
        if accept_missing:
            _take_over(config, transactions, prefix, lambda decision: replace(decision, accepted=True).encoded())
            return [d.id for d in committed]
        for statement in [d for d in known if d.query is None]:
            _, lost = commit_all(transactions, statement.transactions)
            if lost:
                raise statement_lost(statement, lost)
    return [d.id for d in committed]


def abort_transactions(properties: Mapping[str, str], prefix: str, rewrite: bool = False) -> list[str]:
    """Abort what was not decided under a prefix; ends a query that runs under it, so that it cannot decide meanwhile.

    Args:
        rewrite: also forget the last decision, so that a query writes its last batch again as a whole. What of it was
            committed is then there twice.

    Returns:
        the ids of the transactions that were aborted.

    Raises:
        BrokerError: the brokers do not answer.
    """
    config = to_librdkafka(properties)
    with closing(Transactions(config)) as transactions:
        if not rewrite and not left_open(transactions, prefix):
            return []
        ended = _take_over(config, transactions, prefix, (lambda _: None) if rewrite else Decision.encoded).superseded
        decided = {d.id for decision in _of(config, prefix) for d in decision.transactions}
        open_ = left_open(transactions, prefix)
        return abort_all(transactions, [t for t, run in open_.items() if run in ended and t not in decided])


def _take_over(
    config: Mapping[str, str], transactions: Transactions, prefix: str, change: Callable[[Decision], bytes | None]
) -> Claim:
    """Claim the prefix, which ends whoever writes under it, and change what was decided until then."""
    with closing(LogWriter(config, driver_id(prefix))) as log:
        log.fence()
        found = read_log(config)
        at_work = set(left_open(transactions, prefix).values())
        mine = next_claim(found, Writer(_HAND, prefix, "", short(uuid.uuid4().hex), None), at_work)
        log.write({mine.key: mine.encoded(), **{d.key: change(d) for d in decisions(found) if d.prefix == prefix}})
    return mine


def _of(config: Mapping[str, str], prefix: str) -> list[Decision]:
    return [d for d in decisions(read_log(config)) if d.prefix == prefix]


def _shown(key: str, found: Described, decided: bool) -> OpenTransaction:
    topics = tuple(sorted({topic for topic, _ in found.partitions}))
    started = datetime.fromtimestamp(found.started / 1000, timezone.utc)
    return OpenTransaction(key, decided, topics, started, started + timedelta(milliseconds=found.timeout))
