"""Retry requests as Java's clients do: after a pause, through other brokers, until a time limit.

This is the only place that decides when a request is given up, for both clients and all requests except those for
records. Rules: 'default.api.timeout.ms' of the consumer and the admin client (KIP-266, KIP-533), 'max.block.ms' of the
producer, exponential backoff (KIP-580), and what is retriable (``error_codes.RETRIABLE``).
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from kafka_sql.errors import BrokerUnreachableError
from kafka_sql.kafka.config.properties import (
    API_TIMEOUT,
    BLOCK_TIMEOUT,
    CONNECT_TIMEOUT,
    DELIVERY_TIMEOUT,
    SOCKET_TIMEOUT,
    api_timeout,
    connect_timeout,
)
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.kafka.protocol.errors import RetriableError

_LOG = logging.getLogger("kafka_sql.kafka")
T = TypeVar("T")


@dataclass(frozen=True)
class Backoff:
    """How long to wait before a retry, in seconds. The wait doubles with each failure.

    It varies by a fifth, so that clients that failed together do not retry together.
    """

    first: float
    longest: float

    def seconds(self, failures: int) -> float:
        """Return the wait after so many failures in a row."""
        return min(self.first * 2.0 ** min(failures - 1, 30), self.longest) * random.uniform(0.8, 1.2)


_BACKOFF: Final = Backoff(0.02, 1.0)


def backoff_setting(config: Mapping[str, str], key: str, first_ms: int, longest_ms: int) -> Backoff:
    """Return the setting of ``key`` with the suffixes ``.ms`` and ``.max.ms``, or else these defaults."""
    first, longest = (int(config.get(f"{key}{end}", ms)) for end, ms in ((".ms", first_ms), (".max.ms", longest_ms)))
    return Backoff(first / 1000, longest / 1000)


class TimeLimit(NamedTuple):
    """How long a request is retried."""

    seconds: float
    option: str  # the Java property that sets it


def api_limit(config: Mapping[str, str]) -> TimeLimit:
    """Return the limit for requests of a consumer or an admin client."""
    return TimeLimit(api_timeout(config), API_TIMEOUT)


def block_limit(config: Mapping[str, str]) -> TimeLimit:
    """Return the limit for requests of a producer: ``max.block.ms``, or else as for other clients."""
    return TimeLimit(int(config[BLOCK_TIMEOUT]) / 1000, BLOCK_TIMEOUT) if BLOCK_TIMEOUT in config else api_limit(config)


def delivery_limit(config: Mapping[str, str]) -> TimeLimit:
    """Return the limit for requests on which the delivery of records depends."""
    return TimeLimit(int(config[DELIVERY_TIMEOUT]) / 1000, DELIVERY_TIMEOUT)


def first_response_limit(config: Mapping[str, str]) -> TimeLimit:
    """Return the limit for a cluster that has never responded: its address is probably wrong."""
    return TimeLimit(connect_timeout(config), API_TIMEOUT if API_TIMEOUT in config else CONNECT_TIMEOUT)


def request_timeout(config: Mapping[str, str]) -> float:
    """Return the seconds for the response to a request that brokers answer at once.

    ``request.timeout.ms``, but not more than for opening a connection, so that time remains for other brokers.
    """
    return min(int(config[SOCKET_TIMEOUT]), int(config[CONNECT_TIMEOUT]), int(connect_timeout(config) * 1000)) / 1000


def open_request_pool(config: Mapping[str, str]) -> ConnectionPool:
    """Return a connection pool for requests that brokers answer at once."""
    return ConnectionPool({**config, SOCKET_TIMEOUT: str(int(request_timeout(config) * 1000))})


class Retries:
    """The attempts of one request."""

    def __init__(self, request: str, servers: str, limit: Callable[[], TimeLimit]) -> None:
        """Begin the first attempt.

        Args:
            request: its name, and what it is about, for the error message.
            limit: returns the time limit, which may grow when a broker responds.
        """
        self._request, self._servers, self._limit = request, servers, limit
        self._began, self._failures = time.monotonic(), 0

    def remaining(self) -> float:
        """Return the seconds until the request is given up; negative after that."""
        return self._began + self._limit().seconds - time.monotonic()

    def pause(self, reason: str, error: BaseException | None = None) -> None:
        """Wait before the next attempt.

        Args:
            reason: why the last one failed, and which brokers were tried.

        Raises:
            BrokerUnreachableError: the time limit is reached.
        """
        if self.remaining() <= 0:
            raise self.error(reason) from error
        _LOG.debug("%s: retrying: %s", self._request, reason)
        self._failures += 1
        time.sleep(min(_BACKOFF.seconds(self._failures), max(self.remaining(), 0)))

    def error(self, reason: str) -> BrokerUnreachableError:
        """Return the error of a request that is given up."""
        limit = self._limit()
        return BrokerUnreachableError(
            f"No broker of '{self._servers}' (option 'properties.bootstrap.servers') completed the request "
            f"{self._request} within {limit.seconds:g} s: {reason}. Check the address, the brokers, the network and "
            f"'properties.security.protocol'; 'properties.{limit.option}' sets how long to retry.",
            servers=self._servers,
        )


def retry_until(
    request: Callable[[], T],
    brokers: ConnectionPool,
    limit: TimeLimit,
    name: str,
    forget: Callable[[], None] = lambda: None,
) -> T:
    """Repeat a request after connection failures and retriable errors.

    Args:
        request: uses the connections of ``brokers``.
        name: the request's name, and what it is about, for the error message.
        forget: called after a connection failure, when all connections are closed.

    Raises:
        BrokerUnreachableError: the time limit is reached; the message has the last error of each broker.
    """
    retries = Retries(name, brokers.servers, lambda: limit)
    brokers.clear_failures()
    while True:
        try:
            return request()
        except (OSError, EOFError) as e:
            brokers.note_error(e)
            brokers.close()
            forget()
            error: Exception = e
        except RetriableError as e:
            brokers.note_error(e)
            error = e
        retries.pause(brokers.describe_failures() or str(error), error)
