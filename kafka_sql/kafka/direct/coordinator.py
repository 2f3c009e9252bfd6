"""Send requests to the coordinator of one transactional id or group, even while rows are being encoded."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.delivery_errors import begin_transaction_error
from kafka_sql.kafka.error_codes import ErrorCode, error_text, is_retriable
from kafka_sql.kafka.protocol import transactions
from kafka_sql.kafka.protocol.addresses import Address
from kafka_sql.kafka.protocol.codec import ApiKey, Reader
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.kafka.protocol.errors import RetriableError, check_complete, raise_if_retriable
from kafka_sql.kafka.protocol.messages import Request
from kafka_sql.kafka.protocol.retries import api_limit, block_limit, delivery_limit, retry_until

T = TypeVar("T")
Codes = tuple[int, ...]  # the first is an error code
Response = TypeVar("Response", bound=tuple[Any, ...])  # as well


LookupFailure = Callable[[str, int, str, Mapping[str, str]], BrokerError]

_SUBJECTS: Final = {transactions.TRANSACTION: "transaction", transactions.GROUP: "group"}
_LIMITS: Final = {  # of groups: those of an admin client
    ApiKey.INIT_PRODUCER_ID: block_limit,
    ApiKey.ADD_PARTITIONS_TO_TXN: delivery_limit,
    ApiKey.END_TXN: delivery_limit,
}


class Coordinator:
    """A client of the current coordinator of one transactional id or group, which may move between brokers.

    Attributes:
        address: the broker's address; None if it has to be looked up.
    """

    def __init__(
        self,
        config: Mapping[str, str],
        connections: ConnectionPool,
        key: str,
        key_type: int = transactions.TRANSACTION,
        lookup_error: LookupFailure = begin_transaction_error,
    ) -> None:
        """Configure the client. This sends no request.

        Args:
            connections: not used for anything else: a response that is waited for later would block other requests.
            key: a transactional id, or a group.
            key_type: TRANSACTION or GROUP, as in ``find_coordinators``.
            lookup_error: returns the error for an error code of the look-up.
        """
        self._config, self._connections, self._key, self._key_type = config, connections, key, key_type
        self._lookup_error = lookup_error
        self.address: Address | None = None
        self._receive_pending: Callable[[], Reader] | None = None

    def ask_async(self, request: Request, read: Callable[[Reader], Codes]) -> Callable[[], Codes]:
        """Send an idempotent request without waiting for its response.

        Returns:
            a function that waits for the response as ``ask`` does, and sends the request again if necessary. If another
            request was sent in the meantime, the first response is lost.
        """
        try:
            connection = self._connect()
            self._receive_pending = functools.partial(connection.receive, request, connection.send(request))
        except (OSError, EOFError, RetriableError):
            self._disconnect()

        def wait() -> Codes:
            receive_pending, self._receive_pending = self._receive_pending, None
            if receive_pending is not None:
                try:
                    codes = read(receive_pending())
                    if not is_retriable(codes[0], request.key):
                        return codes
                    self.address = None
                except (OSError, EOFError):
                    self._disconnect()
            return self.ask(request, read)

        return wait

    def ask(self, request: Request, read: Callable[[Reader], Response]) -> Response:
        """Send a request until its error code is not retriable.

        Args:
            read: reads the response; the first item of its result is the error code.

        Raises:
            BrokerUnreachableError: the time limit is reached.
            BrokerError: the user may not look up the coordinator.
        """

        def attempt() -> Response:
            codes = self.ask_once(request, read)
            if is_retriable(codes[0], request.key):
                self.address = None
                raise RetriableError(codes[0])
            return codes

        name = f"{request.key.title} for {_SUBJECTS[self._key_type]} '{self._key}'"
        limit = _LIMITS.get(request.key, api_limit)
        return retry_until(attempt, self._connections, limit(self._config), name, self._forget)

    def ask_once(self, request: Request, read: Callable[[Reader], T]) -> T:
        """Send a request and return the response, whatever its error code.

        Raises:
            OSError: there is no response.
            RetriableError: there is no coordinator at the moment.
        """
        receive_pending, self._receive_pending = self._receive_pending, None
        if receive_pending is not None:
            receive_pending()
        return read(self._connect().ask(request))

    def _connect(self) -> Connection:
        return self._connections.connect_to(self.address or self._find())

    def _find(self) -> Address:
        coordinators = transactions.find_coordinators(self._connections.any_connection(), [self._key], self._key_type)
        check_complete(coordinators, [self._key])
        code, address = coordinators[self._key]
        raise_if_retriable(code, ApiKey.FIND_COORDINATOR)
        if code != ErrorCode.NONE:
            raise self._lookup_error(self._key, code, error_text(code), self._config)
        self.address = address
        return address

    def _forget(self) -> None:
        self.address = None

    def _disconnect(self) -> None:
        self._forget()
        self._connections.close()
