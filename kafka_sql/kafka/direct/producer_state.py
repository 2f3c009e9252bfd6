"""Keep identity, sequence numbers and connections of a producer, which the next task of the process reuses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final

from kafka_sql.kafka.config.properties import DELIVERY_TIMEOUT, SOCKET_TIMEOUT, connect_timeout
from kafka_sql.kafka.delivery_errors import delivery_error
from kafka_sql.kafka.direct.batch import ProducerIdAndEpoch
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol import produce, transactions
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection import Address
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool, retry_until
from kafka_sql.kafka.protocol.errors import raise_if_retriable
from kafka_sql.kafka.types import TopicPartition

_UNUSED_TIMEOUT_MS: Final = 60_000  # InitProducerId requires a transaction timeout, even without a transaction


@dataclass
class ProducerState:
    """An idempotent or transactional producer.

    Attributes:
        producer_id_and_epoch: returns the producer's identity; may wait for the transaction coordinator.
        add_partitions_async: announces partitions of a topic that are going to be written to; does not wait.
        add_partitions: does the same and waits; called before they are written to.
        coordinator: returns the transaction coordinator's address, if it is known.
        sequences: the next sequence number of each partition that was written to.
        pending: number of batches that are not acknowledged.
    """

    config: Mapping[str, str] = field(repr=False)
    connections: ConnectionPool
    producer_id_and_epoch: Callable[[], ProducerIdAndEpoch]
    add_partitions_async: Callable[[str, Collection[int]], None] = lambda topic, partitions: None
    add_partitions: Callable[[str, Collection[int]], None] = lambda topic, partitions: None
    coordinator: Callable[[], Address | None] = lambda: None
    sequences: dict[TopicPartition, int] = field(default_factory=dict)
    pending: int = 0

    def is_reusable(self) -> bool:
        """Return whether all batches are acknowledged."""
        return not self.pending

    def on_reuse(self) -> None:
        """Do nothing: an idle producer receives nothing."""


def open_producer_state(config: Mapping[str, str], stack: ExitStack) -> ProducerState:
    """Return an idempotent producer with a new id.

    Raises:
        BrokerUnreachableError: no broker responded in time.
        AuthorizationError: the user lacks the ACL for idempotent writes.
        BrokerError: the brokers rejected the client, or are too old.
    """
    connections = open_connections(config)
    stack.callback(connections.close)
    producer = retry_until(
        lambda: _init_producer_id(connections),
        connections.close,
        connect_timeout(config),
        f"'{config['bootstrap.servers']}'",
    )
    return ProducerState(config, connections, lambda: producer)


def open_connections(config: Mapping[str, str]) -> ConnectionPool:
    """Return a connection pool for a producer.

    The socket timeout is at most ``delivery.timeout.ms``, so that an unresponsive broker is dropped before the records
    expire.
    """
    timeout = min(int(config[SOCKET_TIMEOUT]), int(config[DELIVERY_TIMEOUT]))
    return ConnectionPool({**config, SOCKET_TIMEOUT: str(timeout)})


def _init_producer_id(connections: ConnectionPool) -> ProducerIdAndEpoch:
    connection = connections.any_connection()
    connection.choose_version(ApiKey.PRODUCE, produce.OLDEST_VERSION, produce.LATEST_VERSION)  # fail early
    response = connection.ask(transactions.init_producer_id(None, _UNUSED_TIMEOUT_MS))
    code, producer_id, epoch = transactions.read_init_producer_id(response)
    raise_if_retriable(code, ApiKey.INIT_PRODUCER_ID)
    if code != ErrorCode.NONE:
        raise delivery_error(code, "The brokers assigned no producer id", "")
    return ProducerIdAndEpoch(producer_id, epoch)
