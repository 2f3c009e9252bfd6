"""A producer's id with its connections, which a process keeps for its next task."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.config.properties import DELIVERY_TIMEOUT, SOCKET_TIMEOUT
from kafka_sql.kafka.delivery_errors import delivery_error
from kafka_sql.kafka.direct.batch import Sender
from kafka_sql.kafka.librdkafka.client import patience
from kafka_sql.kafka.protocol import produce
from kafka_sql.kafka.protocol.connection import Address
from kafka_sql.kafka.protocol.connection_pool import Brokers, patiently
from kafka_sql.kafka.protocol.errors import PASSING, Passing

_WRITES: Final = 7  # the version of the request: brokers from 2.1 on know it
_UNUSED_MS: Final = 60_000  # the protocol wants a transaction's timeout, with or without one


@dataclass
class Session:
    """An idempotent producer.

    Attributes:
        sender: who writes; may wait for a transaction's coordinator.
        announce: is told of a topic and partitions that are going to be written to, and does not wait.
        enlist: the same before they are written to, and waits.
        coordinator: tells the transaction's, as far as it is known.
        sequences: the next one of each partition that was written to, by topic and partition.
        pending: how many batches are not acknowledged.
    """

    config: Mapping[str, str] = field(repr=False)
    brokers: Brokers
    sender: Callable[[], Sender]
    announce: Callable[[str, Collection[int]], None] = lambda topic, partitions: None
    enlist: Callable[[str, Collection[int]], None] = lambda topic, partitions: None
    coordinator: Callable[[], Address | None] = lambda: None
    sequences: dict[tuple[str, int], int] = field(default_factory=dict)
    pending: int = 0

    def rested(self) -> bool:
        """Whether everything was acknowledged."""
        return not self.pending

    def renew(self) -> None:
        """Nothing was heard while it was idle."""


def open_session(config: Mapping[str, str], stack: ExitStack) -> Session:
    """A producer with an id of its own.

    Raises:
        BrokerUnreachableError: no broker answered in time.
        AuthorizationError: the user may not write idempotently.
        BrokerError: the brokers refuse the client, or are too old.
    """
    brokers = connections(config)
    stack.callback(brokers.close)
    sender = patiently(lambda: _sender(brokers), brokers.close, patience(config), f"'{config['bootstrap.servers']}'")
    return Session(config, brokers, lambda: sender)


def connections(config: Mapping[str, str]) -> Brokers:
    """A producer's: a silent one is given up when its records have waited for as long as they may."""
    silence = min(int(config[SOCKET_TIMEOUT]), int(config[DELIVERY_TIMEOUT]))
    return Brokers({**config, SOCKET_TIMEOUT: str(silence)})


def _sender(brokers: Brokers) -> Sender:
    connection = brokers.any()
    if connection.versions.get(produce.PRODUCE, 0) < _WRITES:
        raise BrokerError("The brokers are older than Apache Kafka 2.1, which is the oldest that is written to.")
    code, id_, epoch = produce.read_initialize(connection.ask(produce.initialize(None, _UNUSED_MS)))
    if code in PASSING:
        raise Passing(code)
    if code:
        raise delivery_error(code, "No producer id was given", "")
    return Sender(id_, epoch)
