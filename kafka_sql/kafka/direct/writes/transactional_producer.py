"""Open a direct producer that leaves its transaction open for the committer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kafka_sql.kafka.client_cache import CachedClient, ClientCache
from kafka_sql.kafka.config.properties import DELIVERY_TIMEOUT, TRANSACTION_TIMEOUT
from kafka_sql.kafka.direct.writes.producer import DirectProducer
from kafka_sql.kafka.direct.writes.producer_state import ProducerState, open_connections
from kafka_sql.kafka.direct.writes.transaction_manager import TransactionManager
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.kafka.protocol.retries import open_request_pool


@contextlib.contextmanager
def open_direct_transaction(
    config: Mapping[str, str], transactional_id: str, topic: str | None, table: str | None = None
) -> Iterator[DirectProducer]:
    """Yield a producer in a transaction; see ``kafka_sql.kafka.librdkafka.producer_clients.open_transaction``.

    Enter it before there are rows: the brokers respond while rows are being encoded.

    Raises:
        TransactionError: the brokers rejected the transaction.
        AuthorizationError: the user may not write with the transactional id.
        BrokerError: the brokers did not respond.
    """
    # a record must not wait longer than its transaction lasts
    delivery_timeout = str(min(int(config[DELIVERY_TIMEOUT]), int(config[TRANSACTION_TIMEOUT])))
    producer_config = {**config, DELIVERY_TIMEOUT: delivery_timeout}
    with _CACHE.lease(producer_config) as connections:
        transaction = TransactionManager(config, connections.coordinators, transactional_id, table)
        state: ProducerState | None = None
        try:
            if connections.had_rows:
                transaction.begin()
            state = ProducerState(producer_config, connections.leaders, connections.any_broker, transaction)
            with contextlib.closing(DirectProducer(state, topic, table)) as producer:
                yield producer
        except BaseException:
            if state is not None and state.pending:
                transaction.fence()
            else:
                transaction.abort()
            raise
        if not transaction.is_idle():
            connections.coordinators.close()
        connections.had_rows = producer.sent > 0
        connections.is_idle = state.is_reusable()


@dataclass
class _Connections(CachedClient):
    """Connections that the next transaction of the process reuses."""

    leaders: ConnectionPool  # to the leaders of partitions
    # to coordinators. Separate, because responses of a coordinator must not wait behind those of a leader on the same
    # broker.
    coordinators: ConnectionPool
    any_broker: ConnectionPool  # for other requests while responses of leaders are awaited
    is_idle: bool = False  # whether no response is outstanding
    # whether the last task had rows. If so, the next one probably has rows too, and begins its transaction before the
    # first row. Brokers remember transactional ids for a week, so tasks without rows must not begin.
    had_rows: bool = True

    def is_reusable(self) -> bool:
        """Return whether another transaction can use the connections."""
        return self.is_idle


def _open(config: Mapping[str, str], stack: contextlib.ExitStack) -> _Connections:
    connections = _Connections(open_connections(config), open_request_pool(config), open_connections(config))
    for pool in (connections.leaders, connections.coordinators, connections.any_broker):
        stack.callback(pool.close)
    return connections


_CACHE: Final = ClientCache(_open)
