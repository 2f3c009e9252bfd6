"""A direct producer that leaves an open transaction behind, as ``kafka_sql.kafka.librdkafka.transaction`` has it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kafka_sql.kafka.client_cache import Kept
from kafka_sql.kafka.config.properties import DELIVERY_TIMEOUT, SOCKET_TIMEOUT, TRANSACTION_TIMEOUT
from kafka_sql.kafka.direct.producer import DirectProducer
from kafka_sql.kafka.direct.producer_state import Session, connections
from kafka_sql.kafka.direct.transaction_manager import Transaction
from kafka_sql.kafka.librdkafka.client import patience
from kafka_sql.kafka.protocol.connection_pool import Brokers


@contextlib.contextmanager
def open_direct_transaction(
    config: Mapping[str, str], transactional_id: str, topic: str, table: str | None = None
) -> Iterator[DirectProducer]:
    """A producer inside a transaction that is its own; see ``kafka_sql.kafka.librdkafka.transaction.open_transaction``.

    Enter it before there are rows: the brokers are asked while they are made.

    Raises:
        TransactionError: the brokers refuse the transaction.
        AuthorizationError: the user may not write under the transactional id.
        BrokerError: they do not answer.
    """
    # a record waits no longer than its transaction
    wait = str(min(int(config[DELIVERY_TIMEOUT]), int(config[TRANSACTION_TIMEOUT])))
    mine = {**config, DELIVERY_TIMEOUT: wait}
    with _KEPT.use(mine) as lines:
        transaction = Transaction(config, lines.coordinators, transactional_id, table)
        try:
            if lines.had_rows:
                transaction.begin()
            session = Session(
                mine,
                lines.leaders,
                transaction.sender,
                transaction.announce,
                transaction.enlist,
                transaction.coordinator,
            )
            producer = DirectProducer(session, topic, table)
            yield producer
        except BaseException:
            transaction.abort()
            raise
        if not transaction.silent():
            lines.coordinators.close()
        lines.had_rows = producer.sent > 0
        lines.silent = session.rested()


@dataclass
class _Lines:
    """Connections that a process keeps for its next transaction.

    Attributes:
        leaders: of partitions.
        coordinators: whose answers must not wait behind those of a leader that is the same broker.
        silent: whether no answer is on its way.
        had_rows: whether the last task had; then this one probably has, too, and need not wait for them to begin.
            Brokers remember what has begun for a week, so many tasks without rows must not all begin.
    """

    leaders: Brokers
    coordinators: Brokers
    silent: bool = False
    had_rows: bool = True

    def rested(self) -> bool:
        """Whether another transaction can use them."""
        return self.silent

    def renew(self) -> None:
        """Begin another one."""
        self.silent = False


def _lines(config: Mapping[str, str], stack: contextlib.ExitStack) -> _Lines:
    # a coordinator answers at once, or its connection is forgotten
    silence = str(min(int(config[SOCKET_TIMEOUT]), int(patience(config) * 1000)))
    lines = _Lines(connections(config), Brokers({**config, SOCKET_TIMEOUT: silence}))
    for brokers in (lines.leaders, lines.coordinators):
        stack.callback(brokers.close)
    return lines


_KEPT: Final = Kept(_lines)
