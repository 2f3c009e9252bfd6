"""Offsets of partitions, as their leaders tell them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, wait
from functools import partial
from typing import Any, Final

import confluent_kafka
from confluent_kafka import OFFSET_INVALID, IsolationLevel, KafkaError, KafkaException
from confluent_kafka.admin import OffsetSpec, TopicMetadata

from kafka_sql.errors import BrokerUnreachableError, TopicNotFoundError
from kafka_sql.kafka.admin.client import Admin
from kafka_sql.kafka.config.properties import API_TIMEOUT
from kafka_sql.kafka.types import TopicPartition

_LOG = logging.getLogger("kafka_sql.kafka")

Listed = Callable[[], Mapping[str, TopicMetadata]]

EARLIEST: Final[OffsetSpec] = OffsetSpec.earliest()
LATEST: Final[OffsetSpec] = OffsetSpec.latest()
_NEWEST: Final[OffsetSpec] = OffsetSpec.max_timestamp()
_NEWEST_SECONDS: Final = 1.0  # to wait for it: a metric may be missing, a batch may not be late

_GONE: Final = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._NOENT,  # the admin client's, where no leader is known
)
# those that Java's client asks again after: https://kafka.apache.org/protocol#protocol_error_codes, KIP-207, KIP-320
_BETWEEN_LEADERS: Final = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
)
_LEADER: Final = 3.0  # seconds for one answer: a leader that has died gives none, and the next one is asked
_ELECTION: Final = 0.1  # seconds between two questions while a partition, a new one for instance, has no leader


def at_time(milliseconds: int) -> OffsetSpec:
    """The first offset whose record is not older.

    Args:
        milliseconds: since 1970-01-01 UTC.
    """
    found: OffsetSpec = OffsetSpec.for_timestamp(max(milliseconds, 0))  # Kafka takes negative ones for positions
    return found


class Question:
    """A question for the offsets of partitions, which is asked at once."""

    def __init__(
        self, current: Callable[[], Admin], listed: Listed, specs: Mapping[TopicPartition, OffsetSpec], stable: bool
    ) -> None:
        """Ask.

        Args:
            current: gives the client.
            listed: asks for all topics.
            stable: whether what lies behind an open transaction is not counted.
        """
        self._current, self._listed, self._specs = current, listed, specs
        self._level = IsolationLevel.READ_COMMITTED if stable else IsolationLevel.READ_UNCOMMITTED
        self._admin = current()
        self._sent = {(tp.topic, tp.partition): answer for tp, answer in self._send(self._admin, specs).items()}

    def answers(self, election: float) -> dict[TopicPartition, Callable[[], int]]:
        """What gives each offset.

        Args:
            election: seconds for which a partition may have no leader.
        """
        return {place: partial(self._answer, place, election) for place in self._specs}

    def _send(
        self, admin: Admin, specs: Mapping[TopicPartition, OffsetSpec]
    ) -> dict[confluent_kafka.TopicPartition, Any]:
        return admin.api.list_offsets(
            {confluent_kafka.TopicPartition(t, p): spec for (t, p), spec in specs.items()},
            isolation_level=self._level,
            request_timeout=_LEADER,
        )

    def _answer(self, place: TopicPartition, election: float) -> int:
        """The offset.

        Raises:
            TopicNotFoundError: there is no such partition.
            BrokerUnreachableError: it had no leader for so long, or the leader did not answer.
            BrokerError: another answer.
        """
        began = time.monotonic()
        admin, answer = self._admin, self._sent[place]
        while True:
            try:
                with admin.named():
                    offset = self._told(place, answer, began + election)
            except BrokerUnreachableError:
                if time.monotonic() > began + admin.wait:
                    raise
            else:
                if offset is not None:
                    admin.works()
                    return offset
                if time.monotonic() > began + election:
                    raise BrokerUnreachableError(
                        f"{place[0]}[{place[1]}] had no leader on {admin.servers} for {election:g} s: are its brokers "
                        f"down? 'properties.{API_TIMEOUT}' sets how long to wait."
                    )
            time.sleep(_ELECTION)  # nobody tells when a leader has been found
            self._listed()  # else the client asks the leader that it knows
            admin = self._current()
            (answer,) = self._send(admin, {place: self._specs[place]}).values()

    def _told(self, place: TopicPartition, answer: Future[Any], deadline: float) -> int | None:
        """The offset of an answer; None where the partition is between two leaders."""
        try:
            offset = int(answer.result().offset)
        except KafkaException as e:
            code = e.args[0].code()
            if code in _GONE and not self._exists(place):
                raise TopicNotFoundError(
                    f"{place[0]}[{place[1]}] does not exist on {self._admin.servers}: the topic was deleted, or has "
                    "fewer partitions."
                ) from e
            if code not in (*_BETWEEN_LEADERS, *_GONE) or time.monotonic() > deadline:
                raise
            return None
        return None if offset == OFFSET_INVALID else offset  # librdkafka's answer where the leader has gone

    def _exists(self, place: TopicPartition) -> bool:
        """Whether the cluster knows a partition; that of a new topic it does a moment before its leader does."""
        topic = self._listed().get(place[0])
        return topic is not None and place[1] in topic.partitions


def ask_newest(admin: Admin, positions: Collection[TopicPartition]) -> Collection[Future[Any]]:
    """Ask for the time of the newest record in each partition; does not wait."""
    asked = {confluent_kafka.TopicPartition(t, p): _NEWEST for t, p in positions}
    return list(admin.api.list_offsets(asked, request_timeout=admin.request).values()) if asked else ()


def newest(answers: Collection[Future[Any]]) -> int | None:
    """The time of the newest record, milliseconds since 1970-01-01 UTC; None where no partition tells one in time."""
    times = []
    for answer in wait(answers, _NEWEST_SECONDS).done:
        try:
            times.append(int(answer.result().timestamp))
        except KafkaException as e:  # of a broker before 3.0, for instance
            _LOG.debug("the time of a partition's newest record cannot be had: %s", e)
    return max((at for at in times if at >= 0), default=None)
