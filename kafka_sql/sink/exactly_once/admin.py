"""List, commit and abort transactions that a crash left open (``kafka-sql transactions``)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Final

from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.decision_log import read_decisions
from kafka_sql.kafka.decision_log_writer import DecisionLogWriter
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin
from kafka_sql.kafka.protocol.transactions import TransactionDescription
from kafka_sql.sink.exactly_once.end_transactions import abort_all, commit_all, find_lingering
from kafka_sql.sink.exactly_once.errors import statement_lost
from kafka_sql.sink.exactly_once.ownership import next_claim
from kafka_sql.sink.exactly_once.records import Claim, Decision, Writer, decided_ids, parse_decisions
from kafka_sql.sink.exactly_once.transactional_ids import driver_id, run_id

_ADMIN_WRITER: Final = "transactions"


@dataclass(frozen=True)
class OpenTransaction:
    """An open transaction of a task.

    Attributes:
        id: the transactional id.
        decided: whether the driver has decided to commit it.
        topics: the topics that it has written to.
        started: when it began.
        aborts: when the brokers will abort it.
    """

    id: str
    decided: bool
    topics: tuple[str, ...]
    started: datetime
    aborts: datetime


def list_transactions(properties: Mapping[str, str], prefix: str) -> list[OpenTransaction]:
    """Return the open transactions under a prefix, including those of running queries.

    Args:
        properties: Kafka client properties: the table's 'properties.*' options without that prefix.

    Raises:
        OptionError: a property is invalid.
        BrokerError: the brokers do not respond.
    """
    config = to_librdkafka(properties)
    with closing(TransactionAdmin(config)) as transactions:
        decided = decided_ids(_decisions_under(config, prefix))
        descriptions = transactions.describe(list(find_lingering(transactions, prefix)))
    return [_describe_open(key, d, key in decided) for key, d in sorted(descriptions.items()) if d is not None]


def commit_transactions(properties: Mapping[str, str], prefix: str, accept_missing: bool = False) -> list[str]:
    """Commit decided transactions under a prefix that are still open. Running queries are not disturbed.

    Args:
        properties: Kafka client properties.
        accept_missing: treat batches and statements as complete even if the brokers aborted part of them.

    Returns:
        the ids of the committed transactions.

    Raises:
        DecidedTransactionLostError: the brokers aborted part of a statement.
        BrokerError: the brokers do not respond.
    """
    config = to_librdkafka(properties)
    with closing(TransactionAdmin(config)) as transactions:
        decisions = _decisions_under(config, prefix)
        lingering = find_lingering(transactions, prefix)
        still_open = [d for decision in decisions for d in decision.transactions if d.id in lingering]
        committed, _ = commit_all(transactions, still_open)
        if accept_missing:
            _claim_prefix(config, transactions, prefix, lambda decision: replace(decision, accepted=True).encode())
            return [d.id for d in committed]
        for statement in [d for d in decisions if d.query is None]:
            _, lost = commit_all(transactions, statement.transactions)
            if lost:
                raise statement_lost(statement, lost)
    return [d.id for d in committed]


def abort_transactions(properties: Mapping[str, str], prefix: str, rewrite: bool = False) -> list[str]:
    """Abort undecided transactions under a prefix. Running queries fail, so that they cannot commit meanwhile.

    Args:
        properties: Kafka client properties.
        rewrite: also delete the last decision, so that the query writes its whole last batch again. Rows of the batch
            that were already committed are then duplicated.

    Returns:
        the ids of the aborted transactions.

    Raises:
        BrokerError: the brokers do not respond.
    """
    config = to_librdkafka(properties)
    with closing(TransactionAdmin(config)) as transactions:
        if not rewrite and not find_lingering(transactions, prefix):
            return []
        superseded = _claim_prefix(
            config, transactions, prefix, (lambda _: None) if rewrite else Decision.encode
        ).superseded
        decided = decided_ids(_decisions_under(config, prefix))
        lingering = find_lingering(transactions, prefix)
        return abort_all(transactions, [t for t, run in lingering.items() if run in superseded and t not in decided])


def _claim_prefix(
    config: Mapping[str, str], transactions: TransactionAdmin, prefix: str, change: Callable[[Decision], bytes | None]
) -> Claim:
    """Claim the prefix, which fences its current writer, and change the earlier decisions."""
    with closing(DecisionLogWriter(config, driver_id(prefix))) as log:
        log.fence_older_writers()
        records = read_decisions(config)
        active_runs = set(find_lingering(transactions, prefix).values())
        claim = next_claim(records, Writer(_ADMIN_WRITER, prefix, "", run_id(uuid.uuid4().hex), None), active_runs)
        log.write(
            {claim.key: claim.encode(), **{d.key: change(d) for d in parse_decisions(records) if d.prefix == prefix}}
        )
    return claim


def _decisions_under(config: Mapping[str, str], prefix: str) -> list[Decision]:
    return [d for d in parse_decisions(read_decisions(config)) if d.prefix == prefix]


def _describe_open(key: str, description: TransactionDescription, decided: bool) -> OpenTransaction:
    topics = tuple(sorted({topic for topic, _ in description.partitions}))
    started = datetime.fromtimestamp(description.start_time_ms / 1000, timezone.utc)
    return OpenTransaction(key, decided, topics, started, started + timedelta(milliseconds=description.timeout_ms))
