"""Answers of brokers that do not lead a partition yet, or no longer: the next leader is asked.

No broker can be made to give these answers at a given moment: the client is one of the test.
"""

from __future__ import annotations

import contextlib
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafka_sql.kafka.admin.offsets import LATEST, Question


class Leader:
    """Refuses so many times with an error, then tells the offset 7."""

    def __init__(self, code: int, times: int) -> None:
        self.servers, self.wait, self.api, self._code, self._times = "here:9092", 5.0, self, code, times

    named, works = contextlib.nullcontext, staticmethod(lambda: None)

    def list_offsets(self, asked: dict[Any, Any], **_: object) -> dict[Any, Future[Any]]:
        answer: Future[Any] = Future()
        if self._times:
            self._times -= 1
            answer.set_exception(KafkaException(KafkaError(self._code)))
        else:
            answer.set_result(SimpleNamespace(offset=7))
        return dict.fromkeys(asked, answer)


def offset(code: int) -> int:
    leader: Any = Leader(code, 2)
    listed = {"t": SimpleNamespace(partitions={0: None})}
    question = Question(lambda: leader, lambda: listed, {("t", 0): LATEST}, stable=False)
    return question.answers(30)["t", 0]()


@pytest.mark.parametrize("name", ["UNKNOWN_LEADER_EPOCH", "FENCED_LEADER_EPOCH", "OFFSET_NOT_AVAILABLE"])
def test_a_leader_that_is_not_ready_is_asked_again(name: str) -> None:
    assert offset(getattr(KafkaError, name)) == 7


def test_another_answer_is_an_error() -> None:
    with pytest.raises(KafkaException):
        offset(KafkaError.INVALID_MSG)
