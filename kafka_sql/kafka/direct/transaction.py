"""A direct producer that leaves an open transaction behind, as ``kafka_sql.kafka.transaction`` has it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from kafka_sql.errors import BrokerError
from kafka_sql.kafka import library
from kafka_sql.kafka.delivery import delivery_error
from kafka_sql.kafka.direct.batch import Sender
from kafka_sql.kafka.direct.producer import DirectProducer
from kafka_sql.kafka.direct.session import Session, connections
from kafka_sql.kafka.kept import Kept
from kafka_sql.kafka.properties import DELIVERY_TIMEOUT, TRANSACTION_TIMEOUT
from kafka_sql.kafka.protocol import produce, requests
from kafka_sql.kafka.protocol.answers import PASSING, Passing, complete
from kafka_sql.kafka.protocol.brokers import Brokers, patiently
from kafka_sql.kafka.protocol.codec import Reader
from kafka_sql.kafka.protocol.connection import Address, Request
from kafka_sql.kafka.transaction import not_begun

T = TypeVar("T")


@contextlib.contextmanager
def open_direct_transaction(
    config: Mapping[str, str], transactional_id: str, topic: str, table: str | None = None
) -> Iterator[DirectProducer]:
    """A producer inside a transaction that is its own; see ``kafka_sql.kafka.transaction.open_transaction``.

    Raises:
        TransactionError: the brokers refuse the transaction.
        AuthorizationError: the user may not write under the transactional id.
        BrokerError: they do not answer.
    """
    # a record waits no longer than its transaction
    wait = str(min(int(config[DELIVERY_TIMEOUT]), int(config[TRANSACTION_TIMEOUT])))
    mine = {**config, DELIVERY_TIMEOUT: wait}
    with _KEPT.use(mine) as lines:
        coordinator = _Coordinator(config, lines.coordinators, transactional_id)
        code, id_, epoch = coordinator.ask(
            produce.initialize(transactional_id, int(config[TRANSACTION_TIMEOUT])), produce.read_initialize
        )
        if code:
            raise not_begun(transactional_id, code, library.reason(code), config)
        sender = Sender(id_, epoch, transactional_id)
        session = Session(mine, lines.leaders, sender)
        session.enlist = _Enlisted(coordinator, sender, table).add
        try:
            yield DirectProducer(session, topic, table)
        except BaseException:
            with contextlib.suppress(OSError, EOFError, BrokerError):  # else the brokers do it when its time is over
                coordinator.ask_once(produce.abort(transactional_id, id_, epoch), requests.read_code)
            raise
        lines.silent = session.rested()


@dataclass
class _Lines:
    """Connections that a process keeps for its next transaction.

    Attributes:
        leaders: of partitions.
        coordinators: whose answers must not wait behind those of a leader that is the same broker.
        silent: whether no answer is on its way.
    """

    leaders: Brokers
    coordinators: Brokers
    silent: bool = False

    def rested(self) -> bool:
        """Whether another transaction can use them."""
        return self.silent

    def renew(self) -> None:
        """Begin another one."""
        self.silent = False


def _lines(config: Mapping[str, str], stack: contextlib.ExitStack) -> _Lines:
    lines = _Lines(connections(config), connections(config))
    for brokers in (lines.leaders, lines.coordinators):
        stack.callback(brokers.close)
    return lines


_KEPT: Final = Kept(_lines)


class _Coordinator:
    """Of one transactional id."""

    def __init__(self, config: Mapping[str, str], brokers: Brokers, transactional_id: str) -> None:
        self._config, self._brokers, self._id = config, brokers, transactional_id
        self._wait = int(config[DELIVERY_TIMEOUT]) / 1000
        self._whom = f"'{config['bootstrap.servers']}': the coordinator of transaction '{transactional_id}'"
        self._address: Address | None = None

    def ask(self, request: Request, read: Callable[[Reader], tuple[int, ...]]) -> tuple[int, ...]:
        """The first of the answer's numbers is an error code, which is none that passes."""

        def once() -> tuple[int, ...]:
            found = self.ask_once(request, read)
            if found[0] in PASSING:
                self._address = None
                raise Passing(found[0])
            return found

        return patiently(once, self._forget, self._wait, self._whom, f" ('properties.{DELIVERY_TIMEOUT}')")

    def ask_once(self, request: Request, read: Callable[[Reader], T]) -> T:
        """The answer, whatever it is."""
        return read(self._brokers.at(self._address or self._found()).ask(request))

    def _found(self) -> Address:
        answers = requests.read_coordinators(self._brokers.any().ask(requests.coordinators([self._id])))
        complete(answers, [self._id])
        code, address = answers[self._id]
        if code in PASSING:
            raise Passing(code)
        if code:
            raise not_begun(self._id, code, library.reason(code), self._config)
        self._address = address
        return address

    def _forget(self) -> None:
        self._address = None
        self._brokers.close()


class _Enlisted:
    """The partitions that a transaction has told its coordinator of."""

    def __init__(self, coordinator: _Coordinator, sender: Sender, table: str | None) -> None:
        self._coordinator, self._sender = coordinator, sender
        self._label = f"Table '{table}': " if table else ""
        self._known: set[tuple[str, int]] = set()

    def add(self, topic: str, partitions: Collection[int]) -> None:
        """Tell of those that are new."""
        new = [partition for partition in sorted(partitions) if (topic, partition) not in self._known]
        if not new:
            return
        id_, epoch, transaction = self._sender
        assert transaction is not None

        def read(answer: Reader) -> tuple[int, int]:
            """An error code and its partition: one that stays, if there is one."""
            codes = produce.read_partition_codes(answer)
            complete(codes, new)
            return max(((codes[one], one) for one in new), key=lambda found: (found[0] not in (0, *PASSING), *found))

        code, partition = self._coordinator.ask(
            produce.add_partitions(transaction, id_, epoch, topic, new),
            read,
        )
        if code:
            where = f"{self._label}{topic}[{partition}]"
            raise delivery_error(code, where, f"Transaction '{transaction}'.")
        self._known.update((topic, partition) for partition in new)
