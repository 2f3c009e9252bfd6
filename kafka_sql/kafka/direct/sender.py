"""Send closed batches to the leaders of their partitions until each is acknowledged."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from confluent_kafka import KafkaError

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.config.properties import DELIVERY_TIMEOUT, SOCKET_TIMEOUT, api_timeout, connect_timeout
from kafka_sql.kafka.delivery_errors import delivery_error
from kafka_sql.kafka.direct.batch import Batch
from kafka_sql.kafka.direct.producer_state import ProducerState
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol import produce
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection import Address, Connection, Request
from kafka_sql.kafka.protocol.errors import RetriableError, check_complete, raise_if_retriable
from kafka_sql.kafka.protocol.metadata import TopicMetadata

_LOG = logging.getLogger("kafka_sql.kafka")

_MAX_IN_FLIGHT: Final = 5  # requests per connection: brokers remember the last five batches of a producer (KIP-98)
_MAX_REQUEST: Final = 1_000_000  # bytes of batches per request, unless a single batch is larger
_BACKOFF, _MAX_BACKOFF = 0.02, 1.0  # seconds


class _InFlight(NamedTuple):
    request: Request
    correlation_id: int
    batches: Sequence[Batch]


class Sender:
    """The sender of one topic.

    Attributes:
        metadata: the leaders of the topic's partitions when they were last requested.
        errors: how often a broker was unreachable or returned a retriable error.
        first_record: topic, partition and offset of the first record in one of the partitions; None if unknown.
    """

    def __init__(self, state: ProducerState, topic: str, label: str) -> None:
        """Request the leaders of the topic's partitions.

        Args:
            label: the beginning of error messages.

        Raises:
            BrokerError: the topic does not exist, the user may not write to it, or no broker responded in time.
        """
        self._state, self._topic, self._label = state, topic, label
        config = state.config
        self._delivery_timeout = int(config[DELIVERY_TIMEOUT]) / 1000
        self._connect_timeout, self._api_timeout = connect_timeout(config), api_timeout(config)
        self._acks_timeout_ms = int(config[SOCKET_TIMEOUT])
        self._pending: dict[int, deque[Batch]] = {}
        self._in_flight: dict[Connection, deque[_InFlight]] = {}
        self.errors = 0
        self.first_record: tuple[str, int, int] | None = None
        self._acknowledged = set[int]()  # partitions with an acknowledged batch
        self.metadata = TopicMetadata(ErrorCode.NONE, [])
        self._resend()

    def send(self, batches: Iterable[Batch]) -> None:
        """Send closed batches, those of one partition in the order of their sequence numbers.

        Waits while the maximum number of requests is in flight.

        Raises:
            DeliveryError: a batch was rejected, or not acknowledged in time; or another error of ``delivery_errors``.
        """
        groups: dict[Address | None, list[Batch]] = {}
        for batch in batches:
            self._pending.setdefault(batch.partition, deque()).append(batch)
            self._state.pending += 1
            groups.setdefault(self.metadata.leader(batch.partition), []).append(batch)
        try:
            for leader, group in groups.items():
                if leader is None:
                    raise RetriableError(ErrorCode.LEADER_NOT_AVAILABLE)
                connection = self._state.connections.connect_to(leader)
                for request_batches in _requests(group):
                    self._send(connection, request_batches)
        except (OSError, EOFError, RetriableError) as e:
            self._resend(e)

    def flush(self) -> None:
        """Return when everything is acknowledged.

        Raises:
            DeliveryError: as ``send``.
        """
        try:
            for connection, in_flight in self._in_flight.items():
                while in_flight:
                    self._receive(connection)
        except (OSError, EOFError, RetriableError) as e:
            self._resend(e)

    def _send(self, connection: Connection, batches: Sequence[Batch]) -> None:
        in_flight = self._in_flight.setdefault(connection, deque())
        while len(in_flight) >= _MAX_IN_FLIGHT or (in_flight and self._must_wait(batches)):
            self._receive(connection)
        request, tails = produce.produce(
            connection,
            self._state.producer_id_and_epoch().transactional_id,
            [(self._topic, batch.partition, batch.size) for batch in batches],
            self._acks_timeout_ms,
        )
        parts = [part for batch, tail in zip(batches, tails, strict=True) for part in (batch.head, batch.body, tail)]
        in_flight.append(_InFlight(request, connection.send(request, parts), batches))

    def _must_wait(self, batches: Sequence[Batch]) -> bool:
        """Return whether a batch is the second one of its partition while the first one is in flight.

        A leader that does not know a producer accepts any sequence number. If it rejected the first batch, it would
        accept the second one in its place, and then never the first one.
        """
        return any(b.partition not in self._acknowledged and b is not self._pending[b.partition][0] for b in batches)

    def _receive(self, connection: Connection) -> None:
        """Handle the oldest response of a connection."""
        sent = self._in_flight[connection].popleft()
        results = produce.read_produce(connection.receive(sent.request, sent.correlation_id))
        check_complete(results, [(self._topic, batch.partition) for batch in sent.batches])
        for batch in sent.batches:
            code, offset, message = results[self._topic, batch.partition]
            self._complete(batch, code, offset, message)

    def _complete(self, batch: Batch, code: int, offset: int, message: str) -> None:
        """Handle the result of a batch.

        Raises:
            RetriableError: it has to be sent again.
            BrokerError: it was rejected.
        """
        is_last = batch is self._pending[batch.partition][-1]
        if code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and batch.partition in self._acknowledged and not is_last:
            raise RetriableError(code)  # see _send_oldest
        raise_if_retriable(code, ApiKey.PRODUCE)
        # DUPLICATE_SEQUENCE_NUMBER: it was written, and the first response was lost
        if code not in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            raise self._error(code, f"{self._topic}[{batch.partition}]", f"Broker: {message}." if message else "")
        is_first = batch.partition not in self._acknowledged and batch is self._pending[batch.partition][0]
        if is_first and self.first_record is None and code == ErrorCode.NONE and offset >= 0:
            self.first_record = self._topic, batch.partition, offset
        self._acknowledged.add(batch.partition)
        while self._pending[batch.partition].popleft() is not batch:
            self._state.pending -= 1
        self._state.pending -= 1

    def _resend(self, error: Exception | None = None) -> None:
        """Request the leaders and send the pending batches one by one.

        Creates no duplicates: a leader knows the sequence numbers of the producer's last batches.
        """
        began, backoff = time.monotonic(), _BACKOFF
        while True:
            if error is not None:
                self.errors += 1
                self._in_flight.clear()
                self._state.connections.close()  # responses to earlier requests would come first
                _LOG.warning("topic '%s': retrying: %s", self._topic, error)
                self._check_timeout(began, error)
                time.sleep(backoff)
                backoff = min(backoff * 2, _MAX_BACKOFF)
            try:
                self.metadata = self._request_metadata()
                for batches in self._pending.values():
                    while batches:
                        self._send_oldest(tuple(batches))
                return
            except (OSError, EOFError, RetriableError) as e:
                error = e

    def _request_metadata(self) -> TopicMetadata:
        # a firewall may have dropped the cached connection: with this timeout there is time for another one
        topic = self._state.connections.topic_metadata(self._topic, self._connect_timeout)
        raise_if_retriable(topic.code, ApiKey.METADATA)
        if topic.code != ErrorCode.NONE:
            raise self._error(topic.code, f"topic '{self._topic}'", "")
        if not topic.leaders:
            raise RetriableError(ErrorCode.LEADER_NOT_AVAILABLE)
        return topic

    def _send_oldest(self, batches: Sequence[Batch]) -> None:
        """Send a partition's oldest batch; if its sequence number is out of order, the next one.

        A restarted leader knows only the last batch of a producer. For an older batch, which it has and whose response
        was lost, it returns OUT_OF_ORDER_SEQUENCE_NUMBER. Sequence numbers have no gaps: if a later batch was written
        or is accepted, the earlier ones were written too, on as many replicas.
        """
        leader = self.metadata.require_leader(batches[0].partition)
        for batch in batches:
            try:
                connection = self._state.connections.connect_to(leader)
                self._send(connection, [batch])
                self._receive(connection)
                return
            except RetriableError as e:
                if e.code != ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
                    raise

    def _check_timeout(self, began: float, error: Exception) -> None:
        """Check the timeout of the oldest pending batch, or without one, of requesting the leaders.

        Raises:
            BrokerError: ``delivery.timeout.ms`` expired for the batch; or without one, the API timeout, and for a topic
                that does not exist the connect timeout.
        """
        topic_missing = isinstance(error, RetriableError) and error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        oldest = min((batches[0].since for batches in self._pending.values() if batches), default=None)
        deadline = oldest + self._delivery_timeout if oldest is not None else began + self._api_timeout
        if time.monotonic() > (began + self._connect_timeout if topic_missing else deadline):
            code: int = KafkaError._MSG_TIMED_OUT
            if isinstance(error, RetriableError) and (topic_missing or oldest is None):
                code = error.code
            raise self._error(code, f"topic '{self._topic}'", f"Client: {error}.") from error

    def _error(self, code: int, where: str, details: str) -> BrokerError:
        waiting = sum(batch.records for batches in self._pending.values() for batch in batches)
        lost = f"Records not acknowledged so far: {waiting}. The rows of this task do not count as written."
        return delivery_error(code, f"{self._label}{where}", f"{lost if waiting else ''} {details}".strip())


def _requests(batches: Sequence[Batch]) -> Iterable[list[Batch]]:
    """Split batches for one leader into requests, with at most one batch per partition each."""
    request: dict[int, Batch] = {}
    size = 0
    for batch in batches:
        if request and (size + batch.size > _MAX_REQUEST or batch.partition in request):
            yield list(request.values())
            request, size = {}, 0
        request[batch.partition] = batch
        size += batch.size
    if request:
        yield list(request.values())
