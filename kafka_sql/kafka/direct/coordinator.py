"""The coordinator of one transactional id, which is asked while rows are made."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TypeVar

from kafka_sql.kafka.config.properties import DELIVERY_TIMEOUT
from kafka_sql.kafka.delivery_errors import not_begun
from kafka_sql.kafka.librdkafka import bindings
from kafka_sql.kafka.protocol import transaction_requests
from kafka_sql.kafka.protocol.codec import Reader
from kafka_sql.kafka.protocol.connection import Address, Connection, Request
from kafka_sql.kafka.protocol.connection_pool import Brokers, patiently
from kafka_sql.kafka.protocol.errors import PASSING, Passing, complete

T = TypeVar("T")
Codes = tuple[int, ...]  # an error code first


class Coordinator:
    """Whichever broker it is now.

    Attributes:
        address: the broker's; None where it is to be looked for.
    """

    def __init__(self, config: Mapping[str, str], brokers: Brokers, transactional_id: str) -> None:
        """
        Args:
            brokers: on whose connections nothing else is asked.
        """
        self._config, self._brokers, self._id = config, brokers, transactional_id
        self._wait = int(config[DELIVERY_TIMEOUT]) / 1000
        self._whom = f"'{config['bootstrap.servers']}': the coordinator of transaction '{transactional_id}'"
        self.address: Address | None = None
        self._unread: Callable[[], Reader] | None = None

    def begin(self, request: Request, read: Callable[[Reader], Codes]) -> Callable[[], Codes]:
        """Send a request that may be carried out twice; what is given back waits for the answer, as ``ask`` does.

        An answer that has not been waited for when something else is asked is lost.
        """
        try:
            connection = self._connection()
            self._unread = functools.partial(connection.receive, request, connection.send(request))
        except (OSError, EOFError, Passing):
            self._forget()

        def answer() -> Codes:
            unread, self._unread = self._unread, None
            if unread is not None:
                try:
                    found = read(unread())
                    if found[0] not in PASSING:
                        return found
                    self.address = None
                except (OSError, EOFError):
                    self._forget()
            return self.ask(request, read)

        return answer

    def ask(self, request: Request, read: Callable[[Reader], Codes]) -> Codes:
        """The answer, whose error code is none that passes.

        Raises:
            BrokerUnreachableError: there was none within ``delivery.timeout.ms``.
            BrokerError: the coordinator may not be asked.
        """

        def once() -> Codes:
            found = self.ask_once(request, read)
            if found[0] in PASSING:
                self.address = None
                raise Passing(found[0])
            return found

        return patiently(once, self._forget, self._wait, self._whom, f" ('properties.{DELIVERY_TIMEOUT}')")

    def ask_once(self, request: Request, read: Callable[[Reader], T]) -> T:
        """The answer, whatever it is.

        Raises:
            OSError: there is none.
            Passing: nobody is the coordinator now.
        """
        unread, self._unread = self._unread, None
        if unread is not None:
            unread()
        return read(self._connection().ask(request))

    def _connection(self) -> Connection:
        return self._brokers.at(self.address or self._found())

    def _found(self) -> Address:
        answers = transaction_requests.read_coordinators(
            self._brokers.any().ask(transaction_requests.coordinators([self._id]))
        )
        complete(answers, [self._id])
        code, address = answers[self._id]
        if code in PASSING:
            raise Passing(code)
        if code:
            raise not_begun(self._id, code, bindings.reason(code), self._config)
        self.address = address
        return address

    def _forget(self) -> None:
        self.address = None
        self._brokers.close()
