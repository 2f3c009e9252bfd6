"""Closed batches to the leaders of their partitions, until each is acknowledged."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.config.properties import DELIVERY_TIMEOUT, SOCKET_TIMEOUT
from kafka_sql.kafka.delivery_errors import delivery_error
from kafka_sql.kafka.direct.batch import Batch
from kafka_sql.kafka.direct.producer_state import Session
from kafka_sql.kafka.librdkafka import bindings
from kafka_sql.kafka.librdkafka.client import patience, patience_at_work
from kafka_sql.kafka.protocol import produce
from kafka_sql.kafka.protocol.connection import Address, Connection, Request
from kafka_sql.kafka.protocol.errors import Passing, complete

_LOG = logging.getLogger("kafka_sql.kafka")

_IN_FLIGHT: Final = 5  # requests of a connection: brokers know the last five batches of a producer (KIP-98)
_REQUEST: Final = 1_000_000  # bytes of batches in one request, unless a single one has more
_PAUSE, _LONGEST_PAUSE = 0.02, 1.0  # seconds; brokers do not tell when they are ready
_THERE_ALREADY: Final = 46  # DUPLICATE_SEQUENCE_NUMBER: it was written, and the answer was lost
_OUT_OF_ORDER: Final = 45  # OUT_OF_ORDER_SEQUENCE_NUMBER
_NO_TOPIC: Final = 3
_NO_LEADER: Final = 5
_TIMED_OUT: Final = -192
# corrupt on its way, leaders and coordinators that move or load, too few replicas, a disk that is away
_PASSING: Final = frozenset({2, 3, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 51, 56, 74, 75, 76})


class _Sent(NamedTuple):
    request: Request
    number: int
    batches: Sequence[Batch]


class Deliverer:
    """One topic's.

    Attributes:
        leaders: each partition's, when that was last asked; None where nobody was.
        errors: how often brokers were away or could not take a batch.
        first: topic, partition and offset of the first record in one of the partitions; None before one is known.
    """

    def __init__(self, session: Session, topic: str, label: str) -> None:
        """Ask for the topic's leaders.

        Args:
            label: what errors begin with.

        Raises:
            BrokerError: it does not exist, may not be written, or no broker answered in time.
        """
        self._session, self._topic, self._label = session, topic, label
        config = session.config
        self._wait = int(config[DELIVERY_TIMEOUT]) / 1000
        self._first_wait, self._wait_at_work = patience(config), patience_at_work(config)
        self._leader_waits = int(config[SOCKET_TIMEOUT])
        self._pending: dict[int, deque[Batch]] = {}
        self._flight: dict[Connection, deque[_Sent]] = {}
        self.errors = 0
        self.first: tuple[str, int, int] | None = None
        self._begun = set[int]()  # partitions of which something is acknowledged
        self.leaders: list[Address | None] = []
        self._deliver_again()

    def leader(self, partition: int) -> Address | None:
        """Who led a partition when that was last asked; None where nobody did."""
        return self.leaders[partition] if partition < len(self.leaders) else None

    def send(self, batches: Iterable[Batch]) -> None:
        """Send closed batches, those of a partition in the order of their sequences; waits where much is on its way.

        Raises:
            DeliveryError: one was refused, or not acknowledged in time; or another BrokerError of ``delivery``.
        """
        groups: dict[Address | None, list[Batch]] = {}
        for batch in batches:
            self._pending.setdefault(batch.partition, deque()).append(batch)
            self._session.pending += 1
            groups.setdefault(self.leader(batch.partition), []).append(batch)
        try:
            for leader, group in groups.items():
                if leader is None:
                    raise Passing(_NO_LEADER)
                connection = self._session.brokers.at(leader)
                for some in _requests(group):
                    self._send(connection, some)
        except (OSError, EOFError, Passing) as e:
            self._deliver_again(e)

    def flush(self) -> None:
        """Return when everything is acknowledged.

        Raises:
            DeliveryError: as ``send``.
        """
        try:
            for connection, flight in self._flight.items():
                while flight:
                    self._receive(connection)
        except (OSError, EOFError, Passing) as e:
            self._deliver_again(e)

    def _send(self, connection: Connection, batches: Sequence[Batch]) -> None:
        flight = self._flight.setdefault(connection, deque())
        while len(flight) >= _IN_FLIGHT or (flight and self._too_early(batches)):
            self._receive(connection)
        request, heads = produce.write(
            self._session.sender().transaction,
            self._topic,
            [(batch.partition, batch.size) for batch in batches],
            self._leader_waits,
        )
        parts = [part for head, batch in zip(heads, batches, strict=True) for part in (head, batch.head, batch.body)]
        flight.append(_Sent(request, connection.send(request, parts), batches))

    def _too_early(self, batches: Sequence[Batch]) -> bool:
        """Whether a batch is the second of its partition while the first is on its way.

        A leader that does not know a producer takes any sequence of it: it would take the second where it has just
        refused the first, and never the first again.
        """
        return any(b.partition not in self._begun and b is not self._pending[b.partition][0] for b in batches)

    def _receive(self, connection: Connection) -> None:
        """Take the oldest answer of a connection."""
        sent = self._flight[connection].popleft()
        answers = produce.read_write(connection.receive(sent.request, sent.number))
        complete(answers, [batch.partition for batch in sent.batches])
        for batch in sent.batches:
            self._answered(batch, *answers[batch.partition])

    def _answered(self, batch: Batch, code: int, offset: int) -> None:
        """
        Raises:
            Passing: it was not, and is to be sent again.
            BrokerError: it never will be.
        """
        behind = batch.partition in self._begun and batch is not self._pending[batch.partition][-1]
        if code in _PASSING or (code == _OUT_OF_ORDER and behind):
            raise Passing(code)
        if code and code != _THERE_ALREADY:
            raise self._error(code, f"{self._topic}[{batch.partition}]", "")
        begins = batch.partition not in self._begun and batch is self._pending[batch.partition][0]
        if begins and self.first is None and not code and offset >= 0:
            self.first = self._topic, batch.partition, offset
        self._begun.add(batch.partition)
        while self._pending[batch.partition].popleft() is not batch:
            self._session.pending -= 1
        self._session.pending -= 1

    def _deliver_again(self, why: Exception | None = None) -> None:
        """Find the leaders and send what is pending, one batch after another.

        Nothing is doubled: a leader knows the sequences of the producer's last batches.
        """
        began, pause = time.monotonic(), _PAUSE
        while True:
            if why is not None:
                self.errors += 1
                self._flight.clear()
                self._session.brokers.close()  # answers to what was sent before would be in the way
                _LOG.warning("topic '%s': sending again: %s", self._topic, _shown(why))
                self._check_time(began, why)
                time.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
            try:
                self.leaders = self._described()
                for batches in self._pending.values():
                    while batches:
                        self._send_alone(tuple(batches))
                return
            except (OSError, EOFError, Passing) as e:
                why = e

    def _described(self) -> list[Address | None]:
        # a kept connection may be forgotten by what lies between: another one is opened while there is time
        answer = self._session.brokers.any().ask(produce.describe(self._topic), self._first_wait)
        code, leaders = produce.read_describe(answer)
        if code in _PASSING:
            raise Passing(code)
        if code:
            raise self._error(code, f"topic '{self._topic}'", "")
        if not leaders:
            raise Passing(_NO_LEADER)
        return leaders

    def _send_alone(self, batches: Sequence[Batch]) -> None:
        """Send a partition's oldest batch, or the first one that its leader does not find out of order.

        A leader that was started again knows a producer's last batch only. One before it, which the leader has and
        whose answer was lost, it finds out of order. Sequences have no gaps: where a later batch is there or is taken,
        those before it are there, too, on as many replicas.
        """
        leader = self.leader(batches[0].partition)
        if leader is None:
            raise Passing(_NO_LEADER)
        for batch in batches:
            try:
                connection = self._session.brokers.at(leader)
                self._send(connection, [batch])
                self._receive(connection)
                return
            except Passing as e:
                if e.code != _OUT_OF_ORDER:
                    raise

    def _check_time(self, began: float, why: Exception) -> None:
        """
        Raises:
            BrokerError: the oldest batch has waited for as long as it may; or before the first one the brokers, for as
                long as they may be away; or the topic, for as long as it may be new.
        """
        missing = isinstance(why, Passing) and why.code == _NO_TOPIC
        oldest = min((batches[0].since for batches in self._pending.values() if batches), default=None)
        limit = oldest + self._wait if oldest is not None else began + self._wait_at_work
        if time.monotonic() > (began + self._first_wait if missing else limit):
            code = why.code if isinstance(why, Passing) and (missing or oldest is None) else _TIMED_OUT
            raise self._error(code, f"topic '{self._topic}'", f"Client: {_shown(why)}.") from why

    def _error(self, code: int, place: str, more: str) -> BrokerError:
        waiting = sum(batch.records for batches in self._pending.values() for batch in batches)
        lost = f"Records not acknowledged so far: {waiting}. The rows of this task do not count as written."
        return delivery_error(code, f"{self._label}{place}", f"{lost if waiting else ''} {more}".strip())


def _shown(why: Exception) -> str:
    return bindings.reason(why.code) if isinstance(why, Passing) else str(why)


def _requests(batches: Sequence[Batch]) -> Iterable[list[Batch]]:
    """Batches of one leader, no two of a partition in one request."""
    some: dict[int, Batch] = {}
    size = 0
    for batch in batches:
        if some and (size + batch.size > _REQUEST or batch.partition in some):
            yield list(some.values())
            some, size = {}, 0
        some[batch.partition] = batch
        size += batch.size
    if some:
        yield list(some.values())
