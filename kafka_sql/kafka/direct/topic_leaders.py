"""Keep the leaders of topics' partitions, and request them again when they may have moved."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

from confluent_kafka import KafkaError

from kafka_sql.kafka.config.properties import api_timeout, connect_timeout
from kafka_sql.kafka.delivery_errors import delivery_error
from kafka_sql.kafka.direct.backoff import Backoff
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol.addresses import Address
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.kafka.protocol.errors import RetriableError, raise_if_retriable
from kafka_sql.kafka.protocol.metadata import TopicMetadata

_LOG = logging.getLogger("kafka_sql.kafka")


class TopicLeaders:
    """The leaders of the topics that a producer writes to.

    Attributes:
        errors: the number of failed requests.
        retry_at: when ``refresh`` requests them again, in seconds of ``time.monotonic``.
    """

    def __init__(self, config: Mapping[str, str], label: str, backoff: Backoff) -> None:
        """Configure the requests. This sends none.

        Args:
            label: the beginning of error messages.
            backoff: the wait before a failed request is repeated.
        """
        self._connect_timeout, self._api_timeout = connect_timeout(config), api_timeout(config)
        self._label = label
        self._topics: dict[str, TopicMetadata] = {}
        self._stale: dict[str, None] = {}  # in order
        self._missing_since: dict[str, float] = {}
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

    def load(self, topic: str, brokers: ConnectionPool) -> None:
        """Request the leaders of a topic unless they are known, and wait until it has partitions.

        Raises:
            BrokerError: the topic does not exist, the user may not write to it, or no broker responded in time.
        """
        began = time.monotonic()
        while topic not in self._topics:
            try:
                self._topics[topic] = self._request(topic, brokers)
            except (OSError, EOFError, RetriableError) as e:
                self._note_failure(topic, e)
                if time.monotonic() > began + self._api_timeout:
                    code: int = e.code if isinstance(e, RetriableError) else KafkaError._MSG_TIMED_OUT
                    raise delivery_error(code, f"{self._label}topic '{topic}'", f"Client: {e}.") from e
                time.sleep(max(0.0, self.retry_at - time.monotonic()))

    def refresh(self, brokers: ConnectionPool, now: float) -> Exception | None:
        """Request the leaders of stale topics again, unless that failed just before.

        Returns:
            why they could not be requested; None if they were, or need not be.

        Raises:
            BrokerError: a topic does not exist any longer, or the user may not write to it.
        """
        if self.retry_at > now:
            return None
        for topic in tuple(self._stale):
            try:
                self._topics[topic] = self._request(topic, brokers)
            except (OSError, EOFError, RetriableError) as e:
                self._note_failure(topic, e)
                return e
            del self._stale[topic]
        return None

    def _request(self, topic: str, brokers: ConnectionPool) -> TopicMetadata:
        # a firewall may have dropped the cached connection: with this timeout there is time for another one
        metadata = brokers.topic_metadata(topic, self._connect_timeout)
        now, is_missing = time.monotonic(), metadata.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if is_missing and now > self._missing_since.setdefault(topic, now) + self._connect_timeout:
            raise delivery_error(metadata.code, f"{self._label}topic '{topic}'", "")
        raise_if_retriable(metadata.code, ApiKey.METADATA)
        if metadata.code != ErrorCode.NONE:
            raise delivery_error(metadata.code, f"{self._label}topic '{topic}'", "")
        if not metadata.leaders:
            raise RetriableError(ErrorCode.LEADER_NOT_AVAILABLE)
        self._missing_since.pop(topic, None)
        self._failures = 0
        return metadata

    def _note_failure(self, topic: str, error: Exception) -> None:
        self.errors += 1
        _LOG.warning("topic '%s': requesting its leaders again: %s", topic, error)
        self._failures += 1
        self.retry_at = time.monotonic() + self._backoff.seconds(self._failures)
