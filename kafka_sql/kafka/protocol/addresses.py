"""Resolve the addresses of brokers, and order them so that those that did not respond recently come last."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

Address = tuple[str, int]  # host name or IP address, and port

_MEMORY: Final = 600.0  # seconds for which a failure is remembered
_MAX_FAILURES: Final = 10_000
_failures: Final[dict[Address, float]] = {}  # of this process: when each address failed, by time.monotonic


class Endpoint(NamedTuple):
    """An IP address of a broker.

    Attributes:
        socket_address: in the format of the address family.
    """

    family: int
    socket_address: Any

    @property
    def address(self) -> Address:
        """The IP address and port."""
        return self.socket_address[0], self.socket_address[1]


def parse_address(server: str, default_port: int) -> Address:
    """Parse an entry of 'bootstrap.servers' as librdkafka does: the protocol and the port are optional."""
    text = server.strip().rpartition("://")[2]
    host, _, port = text.rpartition(":")
    return (host.strip("[]"), int(port)) if host and port.isdigit() else (text.strip("[]"), default_port)


def resolve(address: Address) -> list[Endpoint]:
    """Return all IP addresses of a broker in the order of preference.

    Raises:
        OSError: the name has no IP address, or the address is invalid.
    """
    try:
        found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
    except (OverflowError, ValueError):  # a broker may advertise any port and any host name
        raise ConnectionError(f"{address[0]!r}:{address[1]} is not a valid address") from None
    return sorted((Endpoint(entry[0], entry[4]) for entry in found), key=lambda endpoint: _failed_at(endpoint.address))


def order_by_failure(addresses: Iterable[Address]) -> list[Address]:
    """Return addresses in random order, followed by those that failed recently, the last failure last."""
    shuffled = list(dict.fromkeys(addresses))
    random.shuffle(shuffled)
    return sorted(shuffled, key=_failed_at)


def note_failure(address: Address) -> None:
    """Remember that an address was not reachable, or did not respond in time."""
    if len(_failures) >= _MAX_FAILURES:
        _failures.clear()
    _failures[address] = time.monotonic()


def note_success(address: Address) -> None:
    """Forget the failures of an address."""
    _failures.pop(address, None)


def _failed_at(address: Address) -> float:
    failed_at = _failures.get(address, 0.0)
    return failed_at if failed_at > time.monotonic() - _MEMORY else 0.0
