"""Keep identity, sequence numbers and connections of a producer, which the next task of the process reuses."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final

from kafka_sql.kafka.client_cache import CachedClient
from kafka_sql.kafka.config.properties import CONNECT_TIMEOUT, DELIVERY_TIMEOUT, SOCKET_TIMEOUT
from kafka_sql.kafka.delivery_errors import delivery_error
from kafka_sql.kafka.direct.writes.batch import NO_PRODUCER, ProducerIdAndEpoch
from kafka_sql.kafka.direct.writes.send_queue import SendQueue
from kafka_sql.kafka.direct.writes.transaction_manager import TransactionManager
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol import produce, transactions
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.kafka.protocol.errors import raise_if_retriable
from kafka_sql.kafka.protocol.retries import block_limit, request_timeout, retry_until
from kafka_sql.kafka.topic_partition import TopicPartition

_UNUSED_TIMEOUT_MS: Final = 60_000  # InitProducerId requires a transaction timeout, even without a transaction


@dataclass
class ProducerState(CachedClient):
    """A producer: idempotent unless 'enable.idempotence' is 'false', or transactional."""

    config: Mapping[str, str] = field(repr=False)
    connections: ConnectionPool  # to the leaders of partitions
    any_broker: ConnectionPool  # for other requests while responses of leaders are awaited
    transaction: TransactionManager | None = None  # None outside of transactions
    queues: dict[TopicPartition, SendQueue] = field(default_factory=dict)
    pending: int = 0  # number of batches that are not acknowledged
    _producer: ProducerIdAndEpoch | None = None

    def is_reusable(self) -> bool:
        """Return whether all batches are acknowledged."""
        return not self.pending

    def producer_id_and_epoch(self) -> ProducerIdAndEpoch:
        """Return the producer's identity; NO_PRODUCER if it is not idempotent.

        May wait for the transaction coordinator, or for a new producer id.

        Raises:
            BrokerUnreachableError: no broker responded in time.
            AuthorizationError: the user lacks the ACL for idempotent writes.
            BrokerError: the brokers rejected the client or the transaction, or are too old.
        """
        if self.transaction is not None:
            return self.transaction.producer_id_and_epoch()
        if self._producer is None:
            is_idempotent = self.config.get("enable.idempotence", "true") == "true"
            self._producer = self.new_producer_id() if is_idempotent else NO_PRODUCER
        return self._producer

    def new_producer_id(self) -> ProducerIdAndEpoch:
        """Request a producer id for idempotent writes; see ``producer_id_and_epoch``."""
        brokers, seconds = self.any_broker if self.pending else self.connections, request_timeout(self.config)
        return retry_until(
            lambda: _init_producer_id(brokers, seconds),
            brokers,
            block_limit(self.config),
            ApiKey.INIT_PRODUCER_ID.title,
        )


def open_producer_state(config: Mapping[str, str], stack: ExitStack) -> ProducerState:
    """Return a producer outside of transactions, with a new id if it is idempotent.

    Raises:
        BrokerError: as ``ProducerState.producer_id_and_epoch``.
    """
    state = ProducerState(config, open_connections(config), open_connections(config))
    stack.callback(state.connections.close)
    stack.callback(state.any_broker.close)
    state.producer_id_and_epoch()
    return state


def open_connections(config: Mapping[str, str]) -> ConnectionPool:
    """Return a connection pool for a producer.

    Its timeouts are at most ``delivery.timeout.ms``, so that an unresponsive broker is dropped before the records
    expire.
    """
    limit = int(config[DELIVERY_TIMEOUT])
    timeouts = {key: str(min(int(config[key]), limit)) for key in (SOCKET_TIMEOUT, CONNECT_TIMEOUT)}
    return ConnectionPool({**config, **timeouts})


def _init_producer_id(connections: ConnectionPool, seconds: float) -> ProducerIdAndEpoch:
    connection = connections.any_connection()
    connection.choose_version(ApiKey.PRODUCE, produce.OLDEST_VERSION, produce.LATEST_VERSION)  # fail early
    response = connection.ask(transactions.init_producer_id(None, _UNUSED_TIMEOUT_MS), seconds)
    code, producer_id, epoch = transactions.read_init_producer_id(response)
    raise_if_retriable(code, ApiKey.INIT_PRODUCER_ID)
    if code != ErrorCode.NONE:
        raise delivery_error(code, "The brokers assigned no producer id", "")
    return ProducerIdAndEpoch(producer_id, epoch)
