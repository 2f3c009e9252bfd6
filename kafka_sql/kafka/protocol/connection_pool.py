"""Keep connections to a cluster's brokers open, and choose a broker for requests that any broker answers."""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import logging
import math
import selectors
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.config.properties import CONNECT_TIMEOUT, credentials_fingerprint, resolve_config
from kafka_sql.kafka.protocol import metadata
from kafka_sql.kafka.protocol.addresses import (
    Address,
    canonical_addresses,
    failed_at,
    note_failure,
    order_by_failure,
    parse_address,
    run_in_thread,
)
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.errors import RetriableError
from kafka_sql.kafka.protocol.oauth import TokenEndpointUnavailableError
from kafka_sql.options.secret_references import mask_secrets, resolve_all

_LOG = logging.getLogger("kafka_sql.kafka")

_SERVERS: Final = "bootstrap.servers"
_DEFAULT_PORT: Final = 9092
_DNS_LOOKUP: Final = "client.dns.lookup"
_CANONICAL: Final = "resolve_canonical_bootstrap_servers_only"
_MAX_IDLE: Final = "connections.max.idle.ms"
_MAX_IDLE_MS: Final = 540_000  # Java's default, a minute less than the brokers'
_THREAD: Final = "kafka_sql-connect"
_POLL: Final = 0.005  # seconds between checks whether a connection is open
_NEXT_SERVER: Final = 1.0  # seconds after which another server is tried too, if one has not responded


class ConnectionPool:
    """Connections by address, opened on first use.

    Raises:
        OSError: by every request, and if a connection is opened: no broker is reachable now.
        BrokerError: the broker rejected the client or its credentials, or its certificate is not trusted.

    Attributes:
        servers: the bootstrap servers as they are configured.
    """

    def __init__(self, config: Mapping[str, str]) -> None:
        """Create a pool without connections."""
        self._config, self.servers = config, config.get(_SERVERS, "")
        self._open: dict[Address, Connection] = {}
        # by address; None for any broker
        self._opening: dict[Address | None, concurrent.futures.Future[Connection]] = {}
        self._failed: dict[Address | None, BaseException] = {}
        self._throttled_until: dict[Address, float] = {}  # of connections that were closed
        self._max_idle = int(config.get(_MAX_IDLE, _MAX_IDLE_MS)) / 1000 or math.inf
        self._brokers: list[Address] = []
        self._credentials: tuple[object, ...] = ()
        self._last: Address | None = None  # of the connection that was returned last
        self._avoided: set[Address] = set()  # that returned a retriable error, until all did
        self._failures: dict[Address, BaseException] = {}  # the last one of each broker

    def close(self) -> None:
        """Close all connections. They are opened again on next use."""
        for connection in tuple(self._open.values()):
            self.discard(connection)
        for opening in self._opening.values():
            opening.add_done_callback(_close_opened)
        self._opening.clear()
        self._failed.clear()

    def discard(self, connection: Connection) -> None:
        """Close a connection. If the broker throttled it, the next one to its address waits the rest of the time."""
        self._throttled_until[connection.address] = connection.ready_at
        connection.close()
        if self._open.get(connection.address) is connection:
            del self._open[connection.address]

    def wait(self, connections: Collection[Connection], seconds: float) -> list[Connection]:
        """Wait until connections have a response (``Connection.has_response``).

        Returns:
            those that have one, or are closed; empty after the timeout, or when ``try_connect_to`` has a result.
        """
        deadline = time.monotonic() + seconds
        while True:
            ready = [connection for connection in connections if connection.has_response()]
            remaining = deadline - time.monotonic()
            if ready or remaining <= 0 or self._collect_opened():
                return ready
            if self._opening:
                remaining = min(remaining, _POLL)
            with selectors.DefaultSelector() as selector:
                for connection in connections:
                    selector.register(connection, selectors.EVENT_READ)
                selector.select(remaining)

    def credentials_changed(self) -> bool:
        """Return whether the credentials changed since the open connections authenticated."""
        return bool(self._open) and credentials_fingerprint(self._config) != self._credentials

    def any_connection(self) -> Connection:
        """Return a connection to any broker.

        Tries the bootstrap servers and the brokers of the last Metadata response in random order. Those that recently
        were not reachable or did not respond come last (``addresses``).
        """
        connection = self._any_open()
        return self._note_use(connection if connection is not None else self._add(self._connect_to_any()))

    def try_any_connection(self) -> Connection | None:
        """Return a connection as ``any_connection`` does; None while a thread opens it."""
        self._collect_opened()
        if None in self._failed:
            raise self._failed.pop(None)
        connection = self._any_open()
        if connection is None and None not in self._opening:
            self._opening[None] = run_in_thread(self._connect_to_any, _THREAD)
        return connection

    def _any_open(self) -> Connection | None:
        for address in tuple(self._open):
            self._usable(address)
        candidates = [connection for address, connection in self._open.items() if address not in self._avoided]
        return min(candidates, key=lambda c: (failed_at(c.address), c.ready_at), default=None)

    def _connect_to_any(self) -> Connection:
        servers = resolve_all({_SERVERS: self._config[_SERVERS]}, "properties.")[_SERVERS]
        bootstrap = [parse_address(server, _DEFAULT_PORT) for server in servers.split(",") if server.strip()]
        if self._config.get(_DNS_LOOKUP) == _CANONICAL:
            bootstrap = self._canonical(bootstrap)
        addresses = order_by_failure([*bootstrap, *self._brokers])
        addresses.sort(key=lambda address: address in self._avoided)
        if len(addresses) == 1:
            return self._connect(addresses[0])
        return self._connect_to_first(addresses)

    def _connect_to_first(self, addresses: Sequence[Address]) -> Connection:
        """Connect to the first broker that responds. Each has a second before the next one is tried, too."""
        failure: BaseException = OSError("'properties.bootstrap.servers' is empty")
        attempts: dict[concurrent.futures.Future[Connection], Address] = {}
        remaining = iter(addresses)
        try:
            while True:
                address = next(remaining, None)
                if address is not None:
                    attempts[run_in_thread(functools.partial(self._connect, address), _THREAD)] = address
                elif not attempts:
                    raise failure
                seconds = None if address is None else _NEXT_SERVER
                done, _ = concurrent.futures.wait(attempts, seconds, concurrent.futures.FIRST_COMPLETED)
                if not done and address is not None:
                    note_failure(address)
                for attempt in done:
                    del attempts[attempt]
                    if (error := attempt.exception()) is None:
                        return attempt.result()
                    if isinstance(error, TokenEndpointUnavailableError) or not isinstance(error, OSError):
                        raise error  # another broker would need a token, too, or reject the client
                    failure = error
        finally:
            for attempt in attempts:
                attempt.add_done_callback(_close_opened)

    def connect_to(self, address: Address) -> Connection:
        """Return a connection to the broker at an address."""
        connection = self._usable(address)
        return self._note_use(connection if connection is not None else self._add(self._connect(address)))

    def try_connect_to(self, address: Address) -> Connection | None:
        """Return a connection as ``connect_to`` does; None while a thread opens it; ``wait`` returns then."""
        self._collect_opened()
        if address in self._failed:
            raise self._failed.pop(address)
        connection = self._usable(address)
        if connection is None and address not in self._opening:
            self._opening[address] = run_in_thread(lambda: self._connect(address), _THREAD)
        return connection

    def _collect_opened(self) -> bool:
        """Add the connections that threads have opened. Return whether any thread has ended."""
        ended = [address for address, opening in self._opening.items() if opening.done()]
        for address in ended:
            opening = self._opening.pop(address)
            error = opening.exception()
            if error is None:
                self._add(opening.result())
            else:
                self._failed[address] = error
        return bool(ended)

    def _usable(self, address: Address) -> Connection | None:
        """Return the open connection, unless it should be replaced."""
        connection = self._open.get(address)
        if connection is not None and (connection.may_be_dead() or connection.is_idle(self._max_idle)):
            self.discard(connection)
            return None
        return connection

    def _connect(self, address: Address) -> Connection:
        self._credentials = credentials_fingerprint(self._config)
        settings = resolve_config(self._config)
        try:
            return Connection(address, settings)
        except OSError as e:
            self._failures[address] = e
            raise
        except BrokerError as e:
            raise e.with_message(mask_secrets(e.message, self._config, settings)) from None

    def _note_use(self, connection: Connection) -> Connection:
        self._last = connection.address
        return connection

    def _add(self, connection: Connection) -> Connection:
        opened_before = self._open.get(connection.address)
        if opened_before is not None:
            connection.close()
            return opened_before
        connection.ready_at = max(connection.ready_at, self._throttled_until.pop(connection.address, 0.0))
        self._open[connection.address] = connection
        return connection

    def _canonical(self, servers: Sequence[Address]) -> list[Address]:
        timeout = int(self._config[CONNECT_TIMEOUT]) / 1000
        addresses = list[Address]()
        for server in servers:
            try:
                addresses += canonical_addresses(server, timeout)
            except OSError as e:
                _LOG.debug("%s:%d: %s", *server, e)
        return addresses or list(servers)

    def cluster_metadata(self, topics: Sequence[str], seconds: float | None = None) -> metadata.Metadata:
        """Request the brokers, and the leaders of the topics' partitions if there are topics, from any broker.

        Args:
            seconds: the timeout for the response; None for 'socket.timeout.ms'.
        """
        connection = self.any_connection()
        return self.receive_metadata(connection, topics, self.send_metadata(connection, topics), seconds)

    def send_metadata(self, connection: Connection, topics: Sequence[str]) -> int:
        """Send the request of ``cluster_metadata``. Return its correlation id, for ``receive_metadata``."""
        try:
            return connection.send(metadata.metadata(topics))
        except OSError:
            self.discard(connection)  # so that a retry asks another broker
            raise

    def receive_metadata(
        self, connection: Connection, topics: Sequence[str], correlation_id: int, seconds: float | None = None
    ) -> metadata.Metadata:
        """Wait for the response to ``send_metadata``; see ``cluster_metadata``."""
        try:
            cluster = metadata.read_metadata(connection.receive(metadata.metadata(topics), correlation_id, seconds))
        except OSError:
            self.discard(connection)
            raise
        self._brokers = list(cluster.brokers.values())
        return cluster

    def note_error(self, error: Exception) -> None:
        """Note that the last request failed. After a retriable error, the next broker is another one if possible."""
        if self._last is None or error in self._failures.values():
            return
        self._failures[self._last] = error
        if isinstance(error, RetriableError):
            self._avoided.add(self._last)
            if not self._brokers:
                with contextlib.suppress(OSError, EOFError):
                    self.cluster_metadata([])
            if self._avoided.issuperset(self._brokers):
                self._avoided.clear()

    def clear_failures(self) -> None:
        """Forget the failures of an earlier request."""
        self._avoided.clear()
        self._failures.clear()

    def describe_failures(self) -> str:
        """Return the brokers whose last request failed, and why; empty if there is none."""
        failures = tuple(self._failures.items())  # a thread may add one
        return "; ".join(f"{host}:{port}: {error}" for (host, port), error in failures)

    def topic_metadata(self, topic: str, seconds: float | None = None) -> metadata.TopicMetadata:
        """Request the leaders of one topic's partitions, as ``cluster_metadata`` does."""
        return self.cluster_metadata([topic], seconds).topic(topic)


def _close_opened(opening: concurrent.futures.Future[Connection]) -> None:
    if opening.exception() is None:
        opening.result().close()
