"""A direct producer that leaves an open transaction behind, as ``kafka_sql.kafka.transaction`` has it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kafka_sql.errors import BrokerError
from kafka_sql.kafka import library
from kafka_sql.kafka.delivery import delivery_error
from kafka_sql.kafka.direct.batch import Sender
from kafka_sql.kafka.direct.coordinator import Codes, Coordinator
from kafka_sql.kafka.direct.producer import DirectProducer
from kafka_sql.kafka.direct.session import Session, connections
from kafka_sql.kafka.kept import Kept
from kafka_sql.kafka.properties import DELIVERY_TIMEOUT, TRANSACTION_TIMEOUT
from kafka_sql.kafka.protocol import produce, requests
from kafka_sql.kafka.protocol.answers import PASSING, Passing, complete
from kafka_sql.kafka.protocol.brokers import Brokers
from kafka_sql.kafka.protocol.codec import Reader
from kafka_sql.kafka.transaction import not_begun


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
        transaction = _Transaction(config, lines.coordinators, transactional_id, table)
        try:
            session = Session(mine, lines.leaders, transaction.sender, transaction.announce, transaction.enlist)
            yield DirectProducer(session, topic, table)
            transaction.sender()
        except BaseException:
            transaction.abort()
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


class _Transaction:
    """What its coordinator has been told. Its answers are waited for when they are needed: rows are made meanwhile."""

    def __init__(self, config: Mapping[str, str], brokers: Brokers, id_: str, table: str | None) -> None:
        """Ask for a producer's id."""
        self._config, self._id = config, id_
        self._label = f"Table '{table}': " if table else ""
        self._coordinator = Coordinator(config, brokers, id_)
        self._sender: Sender | None = None
        self._told: set[tuple[str, int]] = set()
        initialize = produce.initialize(id_, int(config[TRANSACTION_TIMEOUT]))
        self._awaited: Callable[[], None] | None = self._begun(
            self._coordinator.begin(initialize, produce.read_initialize)
        )

    def sender(self) -> Sender:
        """The producer; when it is known, and all partitions that were announced are."""
        awaited, self._awaited = self._awaited, None
        if awaited is not None:
            awaited()
        assert self._sender is not None
        return self._sender

    def announce(self, topic: str, partitions: Collection[int]) -> None:
        """Tell of partitions that are going to be written to."""
        new = [partition for partition in sorted(partitions) if (topic, partition) not in self._told]
        if not new:
            return
        id_, epoch, _ = self.sender()

        def read(answer: Reader) -> Codes:
            """An error code and its partition: one that stays, if there is one."""
            codes = produce.read_partition_codes(answer)
            complete(codes, new)
            return max(((codes[one], one) for one in new), key=lambda found: (found[0] not in (0, *PASSING), *found))

        request = produce.add_partitions(self._id, id_, epoch, topic, new)
        self._awaited = self._added(topic, self._coordinator.begin(request, read))
        self._told.update((topic, partition) for partition in new)

    def enlist(self, topic: str, partitions: Collection[int]) -> None:
        """Return when partitions may be written to."""
        self.announce(topic, partitions)
        self.sender()

    def abort(self) -> None:
        """As well as that can be done; else the brokers do it when its time is over."""
        if self._sender is None:
            return  # nothing has begun
        id_, epoch, _ = self._sender
        with contextlib.suppress(OSError, EOFError, Passing, BrokerError):
            self._coordinator.ask_once(produce.abort(self._id, id_, epoch), requests.read_code)

    def _begun(self, answer: Callable[[], Codes]) -> Callable[[], None]:
        def check() -> None:
            code, id_, epoch = answer()
            if code:
                raise not_begun(self._id, code, library.reason(code), self._config)
            self._sender = Sender(id_, epoch, self._id)

        return check

    def _added(self, topic: str, answer: Callable[[], Codes]) -> Callable[[], None]:
        def check() -> None:
            code, partition = answer()
            if code:
                where = f"{self._label}{topic}[{partition}]"
                raise delivery_error(code, where, f"Transaction '{self._id}'.")

        return check
