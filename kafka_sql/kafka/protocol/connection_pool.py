"""Keep connections to a cluster's brokers open, and retry requests."""

from __future__ import annotations

import logging
import random
import selectors
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, TypeVar

from kafka_sql.errors import BrokerError, BrokerUnreachableError
from kafka_sql.kafka.config.properties import credentials_fingerprint, resolve_config
from kafka_sql.kafka.protocol import metadata
from kafka_sql.kafka.protocol.addresses import Address, order_by_failure, parse_address
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.errors import RetriableError
from kafka_sql.kafka.protocol.oauth import TokenEndpointUnavailableError
from kafka_sql.options.secret_references import mask_secrets, resolve_all

_LOG = logging.getLogger("kafka_sql.kafka")
T = TypeVar("T")

_SERVERS: Final = "bootstrap.servers"
_DEFAULT_PORT: Final = 9092
_BACKOFF: Final = 0.02  # seconds
_MAX_BACKOFF: Final = 1.0


class ConnectionPool:
    """Connections by address, opened on first use."""

    def __init__(self, config: Mapping[str, str]) -> None:
        """Open nothing yet.

        Args:
            config: librdkafka's configuration. References to secrets are resolved when a connection is opened.
        """
        self._config = config
        self._open: dict[Address, Connection] = {}
        self._brokers: list[Address] = []
        self._credentials: tuple[object, ...] = ()

    def close(self) -> None:
        """Close all connections. They are opened again on next use."""
        for connection in self._open.values():
            connection.close()
        self._open.clear()

    def discard(self, connection: Connection) -> None:
        """Close a connection. A new one is opened on next use of its address."""
        connection.close()
        if self._open.get(connection.address) is connection:
            del self._open[connection.address]

    def wait(self, connections: Collection[Connection], seconds: float) -> list[Connection]:
        """Wait until connections have a response (``Connection.has_response``).

        Returns:
            those that have one, or are closed; empty after the timeout.
        """
        deadline = time.monotonic() + seconds
        while True:
            ready = [connection for connection in connections if connection.has_response()]
            left = deadline - time.monotonic()
            if ready or left <= 0:
                return ready
            with selectors.DefaultSelector() as selector:
                for connection in connections:
                    selector.register(connection, selectors.EVENT_READ)
                selector.select(left)

    def credentials_changed(self) -> bool:
        """Return whether the credentials changed since the open connections authenticated."""
        return bool(self._open) and credentials_fingerprint(self._config) != self._credentials

    def any_connection(self) -> Connection:
        """Return a connection to any broker.

        Tries the bootstrap servers and the brokers of the last Metadata response in random order, and those last that
        were not reachable or did not respond recently (``addresses``).

        Raises:
            OSError: no broker is reachable now.
            BrokerError: the broker rejected the client or its credentials.
        """
        for connection in tuple(self._open.values()):
            self._replace_if_dropped(connection)
        if self._open:
            return min(self._open.values(), key=lambda connection: connection.ready_at)
        servers = resolve_all({_SERVERS: self._config[_SERVERS]}, "properties.")[_SERVERS]
        bootstrap = [parse_address(server, _DEFAULT_PORT) for server in servers.split(",") if server.strip()]
        failure = OSError("'properties.bootstrap.servers' is empty")
        for address in order_by_failure([*bootstrap, *self._brokers]):
            try:
                return self.connect_to(address)
            except TokenEndpointUnavailableError:
                raise  # another broker would need a token, too
            except OSError as e:
                failure = e
        raise failure

    def connect_to(self, address: Address) -> Connection:
        """Return a connection to the broker at an address.

        Raises:
            OSError: the broker is not reachable now.
            BrokerError: the broker rejected the client or its credentials, or its certificate is not trusted.
        """
        if address in self._open:
            self._replace_if_dropped(self._open[address])
        if address not in self._open:
            self._credentials = credentials_fingerprint(self._config)
            settings = resolve_config(self._config)
            try:
                self._open[address] = Connection(address, settings)
            except BrokerError as e:
                raise e.with_message(mask_secrets(e.message, self._config, settings)) from None
        return self._open[address]

    def _replace_if_dropped(self, connection: Connection) -> None:
        if connection.may_be_dropped():
            self.discard(connection)

    def cluster_metadata(self, topics: Sequence[str], seconds: float | None = None) -> metadata.Metadata:
        """Request the brokers, and the leaders of the topics' partitions, from any broker.

        Args:
            topics: the topics; empty for the brokers only.
            seconds: the timeout for the response; None for 'socket.timeout.ms'.

        Raises:
            OSError: no broker is reachable now, or the response is malformed.
            BrokerError: the broker rejected the client or its credentials.
        """
        connection = self.any_connection()
        try:
            cluster = metadata.read_metadata(connection.ask(metadata.metadata(topics), seconds))
        except OSError:
            self.discard(connection)  # so that a retry asks another broker
            raise
        self._brokers = list(cluster.brokers.values())
        return cluster

    def topic_metadata(self, topic: str, seconds: float | None = None) -> metadata.TopicMetadata:
        """Request the leaders of one topic's partitions, as ``cluster_metadata`` does."""
        return self.cluster_metadata([topic], seconds).topic(topic)


def retry_until(
    request: Callable[[], T], close: Callable[[], None], seconds: float, subject: str, option: str = ""
) -> T:
    """Repeat a request after connection failures and retriable errors.

    Args:
        close: closes the connections after one of them failed.
        seconds: the timeout.
        subject: the server, for the error message.
        option: the option that sets the timeout, for the error message.

    Raises:
        BrokerUnreachableError: the timeout expired; the message contains the last error.
    """
    deadline, backoff = time.monotonic() + seconds, _BACKOFF
    while True:
        try:
            return request()
        except (OSError, EOFError) as e:
            close()
            error: Exception = e
        except RetriableError as e:
            error = e
        if time.monotonic() > deadline:
            raise BrokerUnreachableError(f"{subject} did not respond within {seconds:g} s{option}: {error}.") from error
        _LOG.debug("%s: retrying: %s", subject, error)
        time.sleep(backoff * random.uniform(0.8, 1.2))  # clients that failed together do not retry together
        backoff = min(backoff * 2, _MAX_BACKOFF)
