"""Partitions without a leader, or with a new one: the request for an offset is retried.

Real brokers cannot be made to return these errors at a given time, so librdkafka's client is a fake.
"""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException

from kafka_sql.errors import BrokerError, BrokerUnreachableError, TopicNotFoundError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.admin.offsets import LATEST, OffsetRequest
from kafka_sql.kafka.config.properties import to_librdkafka

INVALID = 1_000  # instead of an error code: the result has no offset


class FakeClient:
    """Fails some requests with an error code, then returns the offset 7."""

    def __init__(self, code: int, failures: int) -> None:
        self._code, self._failures = code, failures

    def poll(self, seconds: float) -> None:
        """Do nothing."""

    def list_offsets(self, specs: dict[Any, Any], **_: object) -> dict[Any, Future[Any]]:
        future: Future[Any] = Future()
        if self._failures and self._code != INVALID:
            future.set_exception(KafkaException(KafkaError(self._code)))
        else:
            future.set_result(SimpleNamespace(offset=OFFSET_INVALID if self._failures else 7))
        self._failures -= self._failures > 0
        return dict.fromkeys(specs, future)


def offset(code: int, failures: int = 2, milliseconds: int = 60_000, partition: int = 0) -> int:
    config = {"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": str(milliseconds)}
    admin: Any = Cluster(to_librdkafka(config)).admin()
    admin.api = FakeClient(code, failures)
    topics: Any = {"t": SimpleNamespace(partitions={0: None})}
    request = OffsetRequest(lambda: admin, lambda: topics, {("t", partition): LATEST}, read_committed=False)
    return request.results()["t", partition]()


@pytest.mark.parametrize(
    "code",
    [
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError._NOENT,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
        INVALID,
    ],
)
def test_leader_errors_are_retried(code: int) -> None:
    assert offset(code) == 7


def test_other_errors_are_raised() -> None:
    with pytest.raises(BrokerError, match="INVALID_MSG"):
        offset(KafkaError.INVALID_MSG)


def test_a_partition_that_does_not_exist() -> None:
    with pytest.raises(TopicNotFoundError, match=r"t\[1\] does not exist on 127\.0\.0\.1:1"):
        offset(KafkaError._UNKNOWN_PARTITION, partition=1)


def test_a_partition_that_has_no_leader_for_too_long() -> None:
    expected = (
        r"completed the request ListOffsets for t\[0\] within 0\.2 s: .*LEADER_NOT_AVAILABLE.*"
        r"'properties\.default\.api\.timeout\.ms' sets how long to retry"
    )
    with pytest.raises(BrokerUnreachableError, match=expected):
        offset(INVALID, failures=1_000, milliseconds=200)
