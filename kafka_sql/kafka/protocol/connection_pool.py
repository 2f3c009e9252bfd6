"""Open connections to a cluster's brokers."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from kafka_sql.errors import BrokerError, BrokerUnreachableError
from kafka_sql.kafka.config.properties import login, resolved
from kafka_sql.kafka.librdkafka import bindings
from kafka_sql.kafka.protocol.connection import Address, Connection
from kafka_sql.kafka.protocol.errors import Passing
from kafka_sql.options.secret_references import masked, resolve_all

_LOG = logging.getLogger("kafka_sql.kafka")
T = TypeVar("T")

_SERVERS: Final = "bootstrap.servers"
_PORT: Final = 9092
_PAUSE: Final = 0.02  # seconds; brokers do not tell when they are ready
_LONGEST_PAUSE: Final = 1.0


class Brokers:
    """Those that have been needed so far, by address."""

    def __init__(self, config: Mapping[str, str]) -> None:
        """
        Args:
            config: librdkafka's, with references to secrets, which are resolved where a connection is made.
        """
        self._config = config
        self._open: dict[Address, Connection] = {}
        self._login: tuple[object, ...] = ()

    def close(self) -> None:
        """Close all connections; they are opened again when they are needed."""
        for connection in self._open.values():
            connection.close()
        self._open.clear()

    def login_changed(self) -> bool:
        """Whether connections are open whose user may not be let in, or not be allowed, any more."""
        return bool(self._open) and login(self._config) != self._login

    def any(self) -> Connection:
        """A connection to whichever broker answers.

        Raises:
            OSError: none does now.
            BrokerError: it refuses the user.
        """
        for connection in self._open.values():
            return connection
        failure: OSError = OSError("no broker is given")
        servers = resolve_all({_SERVERS: self._config[_SERVERS]}, "properties.")[_SERVERS]
        for server in servers.split(","):
            try:
                return self.at(_address(server))
            except OSError as e:
                failure = e
        raise failure

    def at(self, address: Address) -> Connection:
        """A connection to one of them.

        Raises:
            OSError: it cannot be reached now.
            BrokerError: it refuses the certificate or the user.
        """
        if address not in self._open:
            self._login = login(self._config)
            settings = resolved(self._config)
            try:
                self._open[address] = Connection(address, settings)
            except BrokerError as e:
                raise type(e)(masked(str(e.args[0]), self._config, settings)) from None
        return self._open[address]


def _address(server: str) -> Address:
    """Of an entry of 'bootstrap.servers', as librdkafka reads it: what is before it and its port may be missing."""
    text = server.strip().rpartition("://")[2]
    host, _, port = text.rpartition(":")
    return (host.strip("[]"), int(port)) if host and port.isdigit() else (text.strip("[]"), _PORT)


def patiently(ask: Callable[[], T], close: Callable[[], None], seconds: float, whom: str, limit: str = "") -> T:
    """Ask again while the cause may pass.

    Args:
        close: lets go of the connections, of which one has failed.
        whom: is asked, and ``limit``: what the time is by, for the error.

    Raises:
        BrokerUnreachableError: it did not pass in time.
    """
    deadline, pause = time.monotonic() + seconds, _PAUSE
    while True:
        try:
            return ask()
        except (OSError, EOFError) as e:
            close()
            why: Exception = e
            shown = str(e)
        except Passing as e:
            why, shown = e, bindings.reason(e.code)
        if time.monotonic() > deadline:
            raise BrokerUnreachableError(f"{whom} did not answer within {seconds:g} s{limit}: {shown}.") from why
        _LOG.debug("asking again: %s", shown)
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
