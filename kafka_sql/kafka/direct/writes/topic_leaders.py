"""Keep the leaders of topics' partitions, and request them again when they may have moved."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaError

from kafka_sql.kafka.config.properties import connect_timeout
from kafka_sql.kafka.delivery_errors import delivery_error
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol.addresses import Address
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.kafka.protocol.errors import RetriableError, raise_if_retriable
from kafka_sql.kafka.protocol.metadata import TopicMetadata
from kafka_sql.kafka.protocol.retries import Backoff, block_limit, request_timeout

_LOG = logging.getLogger("kafka_sql.kafka")

_POLL, _MAX_POLL = 0.002, 0.1  # seconds between checks whether a connection is open


@dataclass
class _Lookup:
    """A Metadata request without a response, for the first of the stale topics."""

    connection: Connection
    correlation_id: int
    sent_at: float
    deadline: float


class TopicLeaders:
    """The leaders of the topics that a producer writes to.

    Attributes:
        retry_at: when ``refresh`` continues even if no response arrived, in seconds of ``time.monotonic``.
    """

    def __init__(self, config: Mapping[str, str], label: str, backoff: Backoff) -> None:
        self._request_timeout, self._connect_timeout = request_timeout(config), connect_timeout(config)
        self._limit = block_limit(config)
        self._label = label
        self._topics: dict[str, TopicMetadata] = {}
        self._stale: dict[str, None] = {}  # in order
        self._loading_since: dict[str, float] = {}
        self._missing_since: dict[str, float] = {}
        self._lookup: _Lookup | None = None
        self._poll = _POLL
        self._backoff, self._failures = backoff, 0
        self.errors = 0
        self.retry_at = 0.0

    def partition_count(self, topic: str) -> int:
        """Return the number of partitions of a loaded topic."""
        return len(self._topics[topic].leaders)

    def leader(self, topic: str, partition: int) -> Address | None:
        """Return the leader of a partition of a loaded topic; None if it has none."""
        return self._topics[topic].leader(partition)

    def is_stale(self, topic: str) -> bool:
        """Return whether the leaders may have moved since they were requested."""
        return topic in self._stale

    def mark_stale(self, topic: str) -> None:
        """Request the leaders of a topic again at the next ``refresh``."""
        self._stale[topic] = None

    def is_loaded(self, topic: str) -> bool:
        return topic in self._topics

    def must_refresh(self) -> bool:
        """Return whether a response is awaited, or a topic is requested for the first time."""
        return self._lookup is not None or bool(self._loading_since)

    def awaited_connections(self) -> tuple[Connection, ...]:
        """Return the connections on which a response is awaited: one or none."""
        return () if self._lookup is None else (self._lookup.connection,)

    def start_loading(self, topic: str) -> None:
        """Request the leaders of a topic at the next ``refresh``."""
        self._loading_since.setdefault(topic, time.monotonic())
        self.mark_stale(topic)

    def load(self, topic: str, brokers: ConnectionPool) -> None:
        """Request the leaders of a topic, and wait until it has partitions.

        Raises:
            BrokerError: the topic does not exist, the user may not write to it, or no broker responded in time.
        """
        self._loading_since[topic] = time.monotonic()
        while topic not in self._topics:
            try:
                self._set(topic, brokers.topic_metadata(topic, self._request_timeout))
            except (OSError, EOFError, RetriableError) as e:
                self._note_failure(topic, e)
                time.sleep(max(0.0, self.retry_at - time.monotonic()))

    def refresh(self, brokers: ConnectionPool, now: float) -> Exception | None:
        """Continue to request the leaders of stale topics, without waiting for connections and responses.

        Args:
            brokers: connections for this purpose only, until ``cancel``.

        Returns:
            why a request failed; None if none did.

        Raises:
            BrokerError: a topic does not exist any longer, or the user may not write to it; or no broker responded in
                time to the first request for a topic.
        """
        while (topic := next(iter(self._stale), None)) is not None:
            try:
                metadata = self._advance(topic, brokers, now)
                if metadata is None:
                    return None
                self._set(topic, metadata)
            except (OSError, EOFError, RetriableError) as e:
                self._note_failure(topic, e)
                return e
        return None

    def cancel(self, brokers: ConnectionPool) -> None:
        """Close the connection on which a response is awaited. The next ``refresh`` sends the request again."""
        lookup, self._lookup = self._lookup, None
        if lookup is not None:
            brokers.discard(lookup.connection)
            self.retry_at = 0.0

    def _advance(self, topic: str, brokers: ConnectionPool, now: float) -> TopicMetadata | None:
        """Send the request for a topic, or receive its response. Return None if neither can be done yet."""
        lookup = self._lookup
        if lookup is not None and lookup.connection.has_response():
            self._lookup = None
            return brokers.receive_metadata(lookup.connection, [topic], lookup.correlation_id).topic(topic)
        if lookup is not None and lookup.deadline <= now:
            lookup.connection.note_timeout(lookup.sent_at)
            self.cancel(brokers)
            raise TimeoutError("the broker did not respond in time")
        if lookup is None and self.retry_at <= now:
            self._send(topic, brokers, now)
        return None

    def _send(self, topic: str, brokers: ConnectionPool, now: float) -> None:
        connection = brokers.try_any_connection()
        if connection is None:
            self.retry_at, self._poll = now + self._poll, min(2 * self._poll, _MAX_POLL)
        elif connection.ready_at > now:
            self.retry_at = connection.ready_at
        else:
            self._poll, self.retry_at = _POLL, now + self._request_timeout
            correlation_id = brokers.send_metadata(connection, [topic])
            self._lookup = _Lookup(connection, correlation_id, now, self.retry_at)

    def _set(self, topic: str, metadata: TopicMetadata) -> None:
        now, is_missing = time.monotonic(), metadata.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if is_missing and now > self._missing_since.setdefault(topic, now) + self._connect_timeout:
            raise delivery_error(metadata.code, f"{self._label}topic '{topic}'", "", topic=topic)
        raise_if_retriable(metadata.code, ApiKey.METADATA)
        if metadata.code != ErrorCode.NONE:
            raise delivery_error(metadata.code, f"{self._label}topic '{topic}'", "", topic=topic)
        if not metadata.leaders:
            raise RetriableError(ErrorCode.LEADER_NOT_AVAILABLE)
        self._topics[topic] = metadata
        for waiting in (self._missing_since, self._loading_since, self._stale):
            waiting.pop(topic, None)
        self._failures, self.retry_at = 0, 0.0

    def _note_failure(self, topic: str, error: Exception) -> None:
        self.errors += 1
        _LOG.warning("topic '%s': requesting its leaders again: %s", topic, error)
        self._failures += 1
        now = time.monotonic()
        self.retry_at = now + self._backoff.seconds(self._failures)
        if now > self._loading_since.get(topic, math.inf) + self._limit.seconds:
            code: int = error.code if isinstance(error, RetriableError) else KafkaError._TIMED_OUT
            details = f"Client: {error}. 'properties.{self._limit.option}' sets how long to retry."
            raise delivery_error(code, f"{self._label}topic '{topic}'", details, topic=topic) from error
