"""Send closed batches to the leaders of their partitions until each is acknowledged.

Partitions recover independently (``SendQueue``), and so do connections: an error of one leader does not delay the
partitions of other leaders.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaError

from kafka_sql.errors import BrokerError, DeliveryError
from kafka_sql.kafka.config.properties import DELIVERY_TIMEOUT, SOCKET_TIMEOUT
from kafka_sql.kafka.delivery_errors import delivery_error
from kafka_sql.kafka.direct.compression import CODECS
from kafka_sql.kafka.direct.writes.batch import NO_PRODUCER, Batch
from kafka_sql.kafka.direct.writes.producer_state import ProducerState
from kafka_sql.kafka.direct.writes.send_queue import MAX_IN_FLIGHT, SendQueue
from kafka_sql.kafka.direct.writes.topic_leaders import TopicLeaders
from kafka_sql.kafka.error_codes import ErrorCode, error_text, is_retriable
from kafka_sql.kafka.protocol import produce
from kafka_sql.kafka.protocol.addresses import Address
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.errors import RetriableError, check_complete
from kafka_sql.kafka.protocol.messages import Request
from kafka_sql.kafka.protocol.retries import backoff_setting

_LOG = logging.getLogger("kafka_sql.kafka")

_MAX_REQUEST: Final = 1_000_000  # bytes of batches per request
_MAX_PENDING: Final = 16 << 20  # bytes of batches that are not acknowledged; above this, send() waits
_MAX_WAIT: Final = 1.0  # seconds
_BACKOFF_MS, _MAX_BACKOFF_MS = 20, 1_000  # by default
_IN_FLIGHT: Final = "max.in.flight.requests.per.connection"
_RETRIES: Final = ("retries", "message.send.max.retries")  # Java's name and librdkafka's
_ACKS: Final = {"all": -1}
_MIN_TRIES: Final = 2  # before a batch expires
_ZSTD: Final = CODECS.index("zstd")

# Retriable error codes with which a leader rejects a batch before it writes it. After others, it may have written it.
_NOT_WRITTEN: Final = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        # the leader could not verify the transaction (KIP-890)
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.INVALID_TXN_STATE,
    }
)
# the leader knows a later epoch of the producer
_LATER_EPOCH: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED})
_REJECTED_PRODUCER: Final = _LATER_EPOCH | {ErrorCode.UNKNOWN_PRODUCER_ID}


@dataclass
class _InFlight:
    batches: Sequence[tuple[SendQueue, Batch]]
    deadline: float  # for the response
    request: Request | None = None
    correlation_id: int = 0


class Sender:
    """The sender of one producer.

    Attributes:
        first_record: topic, partition and offset of the first record in one of the partitions; None if unknown.
    """

    def __init__(self, state: ProducerState, label: str) -> None:
        """Configure the sender. This sends no request.

        Args:
            label: the beginning of error messages.
        """
        self._state, self._label = state, label
        config = state.config
        self._delivery_timeout = int(config[DELIVERY_TIMEOUT]) / 1000
        self._max_request = min(_MAX_REQUEST, int(config["message.max.bytes"]))  # unless a single batch is larger
        self._max_pending = min(_MAX_PENDING, int(config["queue.buffering.max.kbytes"]) * 1024)
        self._request_timeout = min(int(config[SOCKET_TIMEOUT]) / 1000, self._delivery_timeout)
        self._acks = _ACKS.get(config["acks"]) or int(config["acks"])
        self._retries = next((int(config[key]) for key in _RETRIES if key in config), math.inf)
        self._max_in_flight = min(MAX_IN_FLIGHT, int(config.get(_IN_FLIGHT, MAX_IN_FLIGHT)))
        self._retry_backoff, self._reconnect_backoff = (
            backoff_setting(config, key, _BACKOFF_MS, _MAX_BACKOFF_MS) for key in ("retry.backoff", "reconnect.backoff")
        )
        self._leaders = TopicLeaders(config, label, self._retry_backoff)
        self._in_flight: dict[Connection, deque[_InFlight]] = {}
        self._unsent: dict[SendQueue, None] = {}  # in order; those with batches that are not in flight
        self._pending_bytes = 0
        self._next_event = math.inf  # when something can be sent again or expires, in seconds of time.monotonic
        self._errors = 0
        self.first_record: tuple[str, int, int] | None = None

    @property
    def errors(self) -> int:
        return self._errors + self._leaders.errors

    def partition_count(self, topic: str) -> int:
        """Return the number of a topic's partitions. The first call requests it."""
        if not self._leaders.is_loaded(topic):
            self._load(topic)
        return self._leaders.partition_count(topic)

    def leader(self, topic: str, partition: int) -> Address | None:
        """Return the leader of a partition when it was last requested; None if it had none."""
        return self._leaders.leader(topic, partition)

    def send(self, batches: Iterable[Batch]) -> None:
        """Accept closed batches and send those that can be sent. Waits while too many bytes are not acknowledged.

        Raises:
            DeliveryError: a batch was rejected, or not acknowledged in time; or another error of ``delivery_errors``.
        """
        accepted = list(batches)
        self._add_to_transaction(accepted)
        for batch in accepted:
            queue = self._queue(batch)
            queue.append(batch)
            self._unsent[queue] = None
            self._state.pending += 1
            self._pending_bytes += batch.size
        self.poll()
        while self._pending_bytes > self._max_pending:
            self._run(_MAX_WAIT)

    def poll(self) -> None:
        """Handle the responses that arrived, and send what can be sent, without waiting."""
        self._run(0)

    def flush(self) -> None:
        """Send all accepted batches, and wait until they are acknowledged."""
        while self._state.pending:
            self._run(_MAX_WAIT)

    def close(self) -> None:
        """Let the next sender of the producer use the connections."""
        self._leaders.cancel(self._state.any_broker)

    def _load(self, topic: str) -> None:
        if not self._state.pending:
            self._leaders.load(topic, self._state.connections)
            return
        self._leaders.start_loading(topic)  # other topics do not wait
        while not self._leaders.is_loaded(topic):
            self._run(_MAX_WAIT)

    def _add_to_transaction(self, batches: Sequence[Batch]) -> None:
        if self._state.transaction is not None:
            for topic in dict.fromkeys(batch.topic for batch in batches):
                partitions = [batch.partition for batch in batches if batch.topic == topic]
                self._state.transaction.add_partitions(topic, partitions)

    def _queue(self, batch: Batch) -> SendQueue:
        key = batch.topic, batch.partition
        queue = self._state.queues.get(key)
        if queue is None:
            queue = self._state.queues[key] = SendQueue(*key, self._state.producer_id_and_epoch())
        return queue

    def _run(self, seconds: float) -> None:
        """Wait for a response or the next event; then handle all responses, and send what can be sent.

        Args:
            seconds: the maximum wait.
        """
        wait = max(0.0, min(seconds, self._next_event - time.monotonic()))
        awaited = (*self._in_flight, *self._leaders.awaited_connections())
        for connection in self._state.connections.wait(awaited, wait):
            self._receive(connection)
        now, self._next_event = time.monotonic(), math.inf
        for connection, requests in tuple(self._in_flight.items()):
            if requests[0].deadline <= now:
                connection.note_timeout(requests[0].deadline - self._request_timeout)
                self._disconnect(connection, TimeoutError("the broker did not respond in time"))
            else:
                self._note_event(requests[0].deadline)
        if self._unsent or self._leaders.must_refresh():
            self._refresh_leaders(now)
            self._send_unsent(now)

    def _note_event(self, event_time: float) -> None:
        self._next_event = min(self._next_event, event_time)

    def _refresh_leaders(self, now: float) -> None:
        if (error := self._leaders.refresh(self._state.any_broker, now)) is not None:
            for queue in tuple(self._unsent):
                if queue.is_retrying and self._leaders.is_stale(queue.topic):
                    self._fail_unsent(queue, error, now)
        if self._leaders.must_refresh():
            self._note_event(self._leaders.retry_at)

    def _send_unsent(self, now: float) -> None:
        groups: dict[Address, list[SendQueue]] = {}
        for queue in tuple(self._unsent):
            if queue.lost_sequence_code and not queue.in_flight:
                self._bump_epoch(queue)
            if queue.retry_at > now:
                self._note_event(queue.retry_at)
                continue
            if queue.is_retrying and self._leaders.is_stale(queue.topic):
                self._note_event(self._leaders.retry_at)
                continue
            leader = self._leaders.leader(queue.topic, queue.partition)
            if leader is not None:
                groups.setdefault(leader, []).append(queue)
            else:
                self._fail_unsent(queue, RetriableError(ErrorCode.LEADER_NOT_AVAILABLE), now)
        for leader, queues in groups.items():
            self._send_to(leader, queues, now)

    def _send_to(self, leader: Address, queues: list[SendQueue], now: float) -> None:
        try:
            connection = self._state.connections.try_connect_to(leader)
        except (OSError, EOFError) as e:
            self._log(e, queues[0].topic)
            for queue in queues:
                self._fail_unsent(queue, e, time.monotonic())
            return
        if connection is None:
            return  # wait returns when it is open
        while queues:
            if connection.ready_at > now:
                self._note_event(connection.ready_at)
                return
            if len(self._in_flight.get(connection, ())) >= self._max_in_flight:
                return
            request, postponed, size = list[tuple[SendQueue, Batch]](), list[SendQueue](), 0
            for queue in queues:
                batch = queue.next_batch(connection, now)
                if batch is None:
                    continue
                if request and size + batch.size > self._max_request:
                    postponed.append(queue)
                    continue
                request.append((queue, batch))
                size += batch.size
            if not request or not self._send_request(connection, request):
                return
            queues = [*postponed, *(queue for queue, _ in request)]

    def _send_request(self, connection: Connection, batches: list[tuple[SendQueue, Batch]]) -> bool:
        """Send one batch per partition. Return false if the connection broke."""
        batches.sort(key=lambda item: item[0].topic)
        sent = _InFlight(batches, time.monotonic() + self._request_timeout)
        self._in_flight.setdefault(connection, deque()).append(sent)
        for queue, batch in batches:
            queue.start(batch, connection)
            if not queue.has_unsent():
                self._unsent.pop(queue, None)
        has_zstd = any(batch.codec == _ZSTD for _, batch in batches)
        producer = batches[0][0].producer
        assert producer is not None
        try:
            sent.request, tails = produce.produce(
                connection,
                producer.transactional_id,
                [(batch.topic, batch.partition, batch.size) for _, batch in batches],
                self._acks,
                int(self._request_timeout * 1000),
                produce.OLDEST_VERSION_WITH_ZSTD if has_zstd else produce.OLDEST_VERSION,
            )
            pairs = zip(batches, tails, strict=True)
            parts = [part for (_, batch), tail in pairs for part in (batch.head, batch.body, tail)]
            sent.correlation_id = connection.send(sent.request, parts)
        except (OSError, EOFError) as e:
            self._disconnect(connection, e)
            return False
        self._note_event(sent.deadline)
        return True

    def _receive(self, connection: Connection) -> None:
        while (requests := self._in_flight.get(connection)) and connection.has_response():
            sent = requests[0]
            assert sent.request is not None
            try:
                results = produce.read_produce(connection.receive(sent.request, sent.correlation_id))
                check_complete(results, [(batch.topic, batch.partition) for _, batch in sent.batches])
            except (OSError, EOFError) as e:
                self._disconnect(connection, e)
                return
            requests.popleft()
            if not requests:
                del self._in_flight[connection]
            for queue, batch in sent.batches:
                self._complete(queue, batch, results[batch.topic, batch.partition])

    def _complete(self, queue: SendQueue, batch: Batch, result: produce.ProduceResult) -> None:
        code, now = result.code, time.monotonic()
        queue.end()
        # DUPLICATE_SEQUENCE_NUMBER (Kafka 0.11): it was written, and the first response was lost, as in Java's producer
        if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            if self._acknowledge(queue, batch, result, now):
                return
            # the leader rejected an earlier batch
            code = queue.lost_sequence_code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        elif code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            if not queue.skip_to_next(batch):
                queue.lost_sequence_code = code
        elif code in _REJECTED_PRODUCER:
            queue.lost_sequence_code = code
        elif not is_retriable(code, ApiKey.PRODUCE) and not self._may_verify_again(queue, code):
            raise self._error(code, queue, _broker_message(result))
        elif code not in _NOT_WRITTEN:
            batch.may_be_written = True
        if queue.lost_sequence_code and (self._state.transaction is not None or queue.producer == NO_PRODUCER):
            raise self._error(code, queue, _broker_message(result))
        error = RetriableError(code)
        self._log(error, queue.topic)
        self._try_later(queue, error, now)

    def _may_verify_again(self, queue: SendQueue, code: int) -> bool:
        is_unverified = code == ErrorCode.INVALID_TXN_STATE and self._state.transaction is not None
        return is_unverified and queue.may_verify_again()

    def _acknowledge(self, queue: SendQueue, batch: Batch, result: produce.ProduceResult, now: float) -> bool:
        """Handle an acknowledgment. Return false if the leader had rejected an earlier batch: all are sent again."""
        is_first = not queue.was_acknowledged and batch is queue.batches[0]
        written = queue.acknowledge(batch, now)
        if written is None:
            return False
        if is_first and self.first_record is None and result.code == ErrorCode.NONE and result.offset >= 0:
            self.first_record = queue.topic, queue.partition, result.offset
        self._state.pending -= len(written)
        self._pending_bytes -= sum(acknowledged.size for acknowledged in written)
        if not queue.has_unsent():
            self._unsent.pop(queue, None)
        return True

    def _disconnect(self, connection: Connection, error: Exception) -> None:
        """Close a connection, and send the batches in flight on it again. They may be written."""
        self._state.connections.discard(connection)
        now, requests = time.monotonic(), self._in_flight.pop(connection)
        batches = [item for sent in requests for item in sent.batches]
        self._log(error, batches[0][0].topic)
        for queue, batch in batches:
            queue.end()
            batch.may_be_written = True
            queue.probe = 0
        for queue in dict.fromkeys(queue for queue, _ in batches):
            self._try_later(queue, error, now)

    def _fail_unsent(self, queue: SendQueue, error: Exception, now: float) -> None:
        """Note that a partition's next batch could not be sent."""
        if not queue.in_flight:
            queue.batches[queue.probe].tries += 1
            self._try_later(queue, error, now)

    def _try_later(self, queue: SendQueue, error: Exception, now: float) -> None:
        oldest = queue.batches[0]
        if oldest.sends > self._retries:
            code: int = error.code if isinstance(error, RetriableError) else KafkaError._TRANSPORT
            details = f"Client: {error}. The batch was sent {oldest.sends} times ('properties.retries')."
            raise self._error(code, queue, details) from error
        if oldest.tries >= _MIN_TRIES and now > oldest.created + self._delivery_timeout:
            raise self._error(KafkaError._MSG_TIMED_OUT, queue, f"Client: {error}.") from error
        queue.delay(now, self._retry_backoff if isinstance(error, RetriableError) else self._reconnect_backoff)
        self._note_event(queue.retry_at)
        self._unsent[queue] = None
        self._leaders.mark_stale(queue.topic)

    def _bump_epoch(self, queue: SendQueue) -> None:
        """Send the batches of a partition again with the next producer epoch, as Java's producer does (KIP-360).

        Its leader does not know the sequence numbers of the current epoch. Batches that it may have written are written
        twice then, which at-least-once delivery permits: otherwise, Spark would repeat the task with all of its rows.
        The leader rejects requests with the old epoch that arrive late.

        A leader that knows a later epoch could mistake batches of the next epoch for duplicates, because their sequence
        numbers begin at 0 too, and acknowledge them without writing them. Then a new producer id is used.
        """
        where, code = f"{queue.topic}[{queue.partition}]", error_text(queue.lost_sequence_code)
        if not queue.can_restart():
            raise DeliveryError(
                f"{self._label}{where}: {code}. A later batch was acknowledged, so that sending the earlier ones again "
                f"could change the order of records. {self._describe_unacknowledged()}",
                topic=queue.topic,
                partition=queue.partition,
            )
        if any(batch.may_be_written for batch in queue.batches):
            _LOG.warning("%s%s: %s. Records that may be written are sent again.", self._label, where, code)
        assert queue.producer is not None
        self._leaders.cancel(self._state.any_broker)  # which may have to request a producer id
        next_epoch = None if queue.lost_sequence_code in _LATER_EPOCH else queue.producer.next_epoch()
        queue.restart(next_epoch or self._state.new_producer_id())

    def _log(self, error: Exception, topic: str) -> None:
        self._errors += 1
        _LOG.warning("topic '%s': retrying: %s", topic, error)

    def _describe_unacknowledged(self) -> str:
        unacknowledged = sum(batch.records for queue in self._state.queues.values() for batch in queue.batches)
        return f"Records not acknowledged so far: {unacknowledged}. The rows of this task do not count as written."

    def _error(self, code: int, queue: SendQueue, details: str) -> BrokerError:
        where = f"{self._label}{queue.topic}[{queue.partition}]"
        details = f"{self._describe_unacknowledged()} {details}".strip()
        return delivery_error(code, where, details, topic=queue.topic, partition=queue.partition)


def _broker_message(result: produce.ProduceResult) -> str:
    return f"Broker: {result.message}." if result.message else ""
