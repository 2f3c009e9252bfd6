"""Resolve the addresses of brokers, and remember which ones did not respond recently.

All requests of a process share this memory. An address that failed is tried last. One that did not respond in time has
little time for the next connection, and twice as much for each further one, so that a frozen broker costs one timeout
and not one per request.
"""

from __future__ import annotations

import concurrent.futures
import random
import socket
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

Address = tuple[str, int]  # host name or IP address, and port
T = TypeVar("T")

_MEMORY: Final = 600.0  # seconds for which a failure is remembered
_MAX_FAILURES: Final = 10_000
_SHORT_TIMEOUT: Final = 1.0  # seconds, for an address that did not respond in time


class _Failure(NamedTuple):
    """The failures of an address since its last success."""

    at: float  # when it failed last, in seconds of ``time.monotonic``
    timeouts: int  # how often it did not respond in time


_failures: Final[dict[Address, _Failure]] = {}  # of this process
_NO_FAILURE: Final = _Failure(0.0, 0)


class Endpoint(NamedTuple):
    """An IP address of a broker."""

    family: int
    socket_address: Any  # in the format of the address family

    @property
    def address(self) -> Address:
        """The IP address and port."""
        return self.socket_address[0], self.socket_address[1]


def parse_address(server: str, default_port: int) -> Address:
    """Parse an entry of 'bootstrap.servers' as librdkafka does: the protocol and the port are optional."""
    text = server.strip().rpartition("://")[2]
    host, _, port = text.rpartition(":")
    return (host.strip("[]"), int(port)) if host and port.isdigit() else (text.strip("[]"), default_port)


def resolve(address: Address, seconds: float) -> list[Endpoint]:
    """Return all IP addresses of a broker in the order of preference.

    Raises:
        OSError: the name has no IP address, or the address is invalid, or the name server does not respond.
    """
    lookup = partial(socket.getaddrinfo, *address, type=socket.SOCK_STREAM)
    try:
        try:
            entries = lookup(flags=socket.AI_NUMERICHOST)
        except socket.gaierror:  # it is a name
            entries = _run_with_timeout(lookup, seconds, f"the address of '{address[0]}'")
    except (OverflowError, ValueError):  # a broker may advertise any port and any host name
        raise ConnectionError(f"{address[0]!r}:{address[1]} is not a valid address") from None
    return sorted((Endpoint(entry[0], entry[4]) for entry in entries), key=lambda endpoint: failed_at(endpoint.address))


def canonical_addresses(address: Address, seconds: float) -> list[Address]:
    """Return the canonical names of a server's IP addresses ('client.dns.lookup').

    Raises:
        OSError: as ``resolve``.
    """

    def names() -> list[Address]:
        return [(socket.getnameinfo(e.socket_address, 0)[0], address[1]) for e in resolve(address, seconds)]

    return list(dict.fromkeys(_run_with_timeout(names, seconds, f"the canonical name of '{address[0]}'")))


def run_in_thread(function: Callable[[], T], name: str) -> concurrent.futures.Future[T]:
    """Run a function in a thread that does not keep the process alive."""
    result = concurrent.futures.Future[T]()

    def run() -> None:
        try:
            result.set_result(function())
        except BaseException as e:  # noqa: BLE001  # the caller gets it
            result.set_exception(e)

    threading.Thread(target=run, name=name, daemon=True).start()
    return result


def _run_with_timeout(function: Callable[[], T], seconds: float, subject: str) -> T:
    """Run a function of the C library, which has no timeout, in a thread. A thread that takes too long is abandoned."""
    result = run_in_thread(function, "kafka_sql-dns")
    try:
        return result.result(seconds)
    except concurrent.futures.TimeoutError:
        if result.done():
            raise  # the function's own
        raise TimeoutError(f"the name server did not return {subject} within {seconds:g} s") from None


def order_by_failure(addresses: Iterable[Address]) -> list[Address]:
    """Return addresses in random order, followed by those that failed recently, the most recent failure last."""
    shuffled = list(dict.fromkeys(addresses))
    random.shuffle(shuffled)
    return sorted(shuffled, key=failed_at)


def note_failure(address: Address, error: BaseException | None = None) -> None:
    """Remember that an address was not reachable, or did not respond in time.

    Args:
        error: a ``TimeoutError`` if it did not respond in time.
    """
    if len(_failures) >= _MAX_FAILURES:
        _failures.clear()
    _failures[address] = _Failure(time.monotonic(), _recent(address).timeouts + isinstance(error, TimeoutError))


def note_success(address: Address) -> None:
    """Forget the failures of an address."""
    _failures.pop(address, None)


def connection_timeout(address: Address, seconds: float) -> float:
    """Return the timeout for a new connection: at most ``seconds``, and less after a timeout."""
    timeouts = _recent(address).timeouts
    return min(seconds, _SHORT_TIMEOUT * 2.0 ** (timeouts - 1)) if timeouts else seconds


def failed_at(address: Address) -> float:
    """Return when an address failed last, in seconds of ``time.monotonic``; 0 if it did not fail recently."""
    return _recent(address).at


def _recent(address: Address) -> _Failure:
    failure = _failures.get(address, _NO_FAILURE)
    return failure if failure.at > time.monotonic() - _MEMORY else _NO_FAILURE
