"""Partitions without a leader, or with a new one: the request for an offset is retried.

Real brokers cannot be made to return these errors at a given time, so the client is a fake.
"""

from __future__ import annotations

import contextlib
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafka_sql.kafka.admin.offsets import LATEST, OffsetRequest


class FakeAdmin:
    """Fails some requests with an error, then returns the offset 7."""

    def __init__(self, code: int, failures: int) -> None:
        self.servers, self.timeout, self.api, self._code, self._failures = "here:9092", 5.0, self, code, failures

    translate_errors, use_api_timeout = contextlib.nullcontext, staticmethod(lambda: None)

    def list_offsets(self, specs: dict[Any, Any], **_: object) -> dict[Any, Future[Any]]:
        future: Future[Any] = Future()
        if self._failures:
            self._failures -= 1
            future.set_exception(KafkaException(KafkaError(self._code)))
        else:
            future.set_result(SimpleNamespace(offset=7))
        return dict.fromkeys(specs, future)


def offset(code: int) -> int:
    admin: Any = FakeAdmin(code, 2)
    topics = {"t": SimpleNamespace(partitions={0: None})}
    request = OffsetRequest(lambda: admin, lambda: topics, {("t", 0): LATEST}, read_committed=False)
    return request.results(30)["t", 0]()


@pytest.mark.parametrize("name", ["UNKNOWN_LEADER_EPOCH", "FENCED_LEADER_EPOCH", "OFFSET_NOT_AVAILABLE"])
def test_leader_errors_are_retried(name: str) -> None:
    assert offset(getattr(KafkaError, name)) == 7


def test_other_errors_are_raised() -> None:
    with pytest.raises(KafkaException):
        offset(KafkaError.INVALID_MSG)
