"""Request the offsets of partitions from their leaders (ListOffsets)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, wait
from functools import partial
from typing import Any, Final

import confluent_kafka
from confluent_kafka import OFFSET_INVALID, IsolationLevel, KafkaError, KafkaException
from confluent_kafka.admin import OffsetSpec, TopicMetadata

from kafka_sql.errors import TopicNotFoundError
from kafka_sql.kafka.admin.client import Admin
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.topic_partition import TopicPartition

_LOG = logging.getLogger("kafka_sql.kafka")

ListTopics = Callable[[], Mapping[str, TopicMetadata]]

EARLIEST: Final[OffsetSpec] = OffsetSpec.earliest()
LATEST: Final[OffsetSpec] = OffsetSpec.latest()
_NEWEST_TIMESTAMP: Final[OffsetSpec] = OffsetSpec.max_timestamp()
_NEWEST_TIMESTAMP_SECONDS: Final = 1.0  # to wait for it: it is only for a metric, which must not delay a batch

_NOT_FOUND: Final = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._NOENT,  # from the admin client itself, if it knows no leader
)
_REQUEST_SECONDS: Final = 3.0  # for one response: a leader that has died sends none, and its successor is asked


def timestamp_spec(milliseconds: int) -> OffsetSpec:
    """Return the spec of the first offset whose record is at least as new as a timestamp.

    Args:
        milliseconds: since 1970-01-01 UTC.
    """
    # Kafka interprets negative timestamps as sentinels (latest, earliest)
    spec: OffsetSpec = OffsetSpec.for_timestamp(max(milliseconds, 0))
    return spec


class OffsetRequest:
    """A request for the offsets of partitions, retried per partition.

    Args:
        current_admin: returns the client for the current credentials.
        read_committed: whether the latest offset is the last stable offset.
    """

    def __init__(
        self,
        current_admin: Callable[[], Admin],
        list_topics: ListTopics,
        specs: Mapping[TopicPartition, OffsetSpec],
        read_committed: bool,
    ) -> None:
        self._current_admin, self._list_topics, self._specs = current_admin, list_topics, specs
        self._isolation = IsolationLevel.READ_COMMITTED if read_committed else IsolationLevel.READ_UNCOMMITTED
        self._admin = current_admin()
        self._futures = self._send(self._admin, specs)

    def results(self) -> dict[TopicPartition, Callable[[], int]]:
        """Return for each partition a function that waits for its offset."""
        return {partition: partial(self._await_offset, partition) for partition in self._specs}

    def _send(self, admin: Admin, specs: Mapping[TopicPartition, OffsetSpec]) -> dict[TopicPartition, Future[Any]]:
        futures = admin.api.list_offsets(
            {confluent_kafka.TopicPartition(t, p): spec for (t, p), spec in specs.items()},
            isolation_level=self._isolation,
            request_timeout=_REQUEST_SECONDS,
        )
        return {(tp.topic, tp.partition): future for tp, future in futures.items()}

    def _await_offset(self, partition: TopicPartition) -> int:
        """Return the offset."""
        admin, future = self._admin, self._futures[partition]
        retries = admin.retries(f"{ApiKey.LIST_OFFSETS.title} for {partition[0]}[{partition[1]}]")
        while True:
            with admin.translate_errors(retries):
                try:
                    offset = int(future.result().offset)
                    if offset != OFFSET_INVALID:  # librdkafka's result if the leader has gone
                        return offset
                    error = KafkaError(KafkaError.LEADER_NOT_AVAILABLE)
                except KafkaException as e:
                    error = self._explain(partition, e)
                admin.pause(retries, error, ApiKey.LIST_OFFSETS)
            self._list_topics()  # so that the client asks the new leader
            admin = self._current_admin()
            future = self._send(admin, {partition: self._specs[partition]})[partition]

    def _explain(self, partition: TopicPartition, failure: KafkaException) -> KafkaError:
        """Return the error of a request; LEADER_NOT_AVAILABLE if the client knows no leader."""
        error: KafkaError = failure.args[0]
        if error.code() not in _NOT_FOUND:
            return error
        topic = self._list_topics().get(partition[0])
        if topic is not None and partition[1] in topic.partitions:  # the leader of a new one may learn of it later
            return KafkaError(KafkaError.LEADER_NOT_AVAILABLE)
        raise TopicNotFoundError(
            f"{partition[0]}[{partition[1]}] does not exist on {self._admin.servers}: the topic was deleted, or has "
            "fewer partitions.",
            topic=partition[0],
            partition=partition[1],
            servers=self._admin.servers,
        ) from failure


def request_newest_timestamps(admin: Admin, partitions: Collection[TopicPartition]) -> Collection[Future[Any]]:
    """Request the newest record's timestamp in each partition, without waiting."""
    specs = {confluent_kafka.TopicPartition(t, p): _NEWEST_TIMESTAMP for t, p in partitions}
    return list(admin.api.list_offsets(specs, request_timeout=admin.request_timeout).values()) if specs else ()


def await_newest_timestamp(futures: Collection[Future[Any]]) -> int | None:
    """Return the newest record's timestamp in milliseconds since 1970-01-01 UTC; None if no response came in time."""
    timestamps = []
    for future in wait(futures, _NEWEST_TIMESTAMP_SECONDS).done:
        try:
            timestamps.append(int(future.result().timestamp))
        except KafkaException as e:  # for instance from a broker before 3.0
            _LOG.debug("the newest record's timestamp is unavailable: %s", e)
    return max((timestamp for timestamp in timestamps if timestamp >= 0), default=None)
