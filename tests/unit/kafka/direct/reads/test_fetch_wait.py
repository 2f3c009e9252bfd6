"""How long the direct reader waits for records, with a simulated clock."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_sql.errors import FetchError, TopicNotFoundError
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.direct.reads import fetch_wait
from kafka_sql.kafka.direct.reads.fetch_wait import FetchWait, fetch_settings
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol.errors import RetriableError, UnknownTopicError
from kafka_sql.kafka.protocol.fetch import FetchResult
from kafka_sql.kafka.split import Split

SPLIT = Split("t", 0, 0, 100)
EMPTY = FetchResult(ErrorCode.NONE, 100, -1, [], -1, memoryview(b""), 0)


class Clock:
    """The module ``time``, without waiting."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    simulated = Clock()
    monkeypatch.setattr(fetch_wait, "time", simulated)
    return simulated


def wait_for(offset: int, split: Split = SPLIT, **properties: str) -> FetchWait:
    named = {key.replace("_", "."): value for key, value in properties.items()}
    config = to_librdkafka({"bootstrap.servers": "b:9092", "default.api.timeout.ms": "20000", **named})
    return FetchWait(split, offset, fetch_settings(config, 1 << 20))


def test_the_wait_for_existing_records_doubles_up_to_its_maximum(clock: Clock) -> None:
    wait, waits = wait_for(5), list[int]()

    def receive_nothing() -> None:
        for _ in range(100):
            waits.append(wait.fetch_ms)
            assert wait.begin_request() >= wait.fetch_ms / 1000 + 1
            clock.sleep(wait.fetch_ms / 1000)
            wait.after_no_records(EMPTY)

    with pytest.raises(FetchError, match=r"no records arrived for 20 s, .* no records, and 100 as the end offset"):
        receive_nothing()
    assert waits[:11] == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5000, 5000]
    assert waits[-1] < 5000  # what is left of the timeout
    assert 1_020 < clock.now < 1_021


def test_a_longer_maximum(clock: Clock) -> None:
    wait, waits = wait_for(5, fetch_max_wait_ms="7000"), list[int]()
    for _ in range(2):
        waits.append(wait.fetch_ms)
        clock.sleep(wait.fetch_ms / 1000)
        wait.after_no_records(EMPTY)
    assert waits == [7000, 7000]


def test_the_wait_for_the_end_has_no_timeout(clock: Clock) -> None:
    wait = wait_for(100, replace(SPLIT, stop=200, end_may_not_exist=True), fetch_min_bytes="9")
    for _ in range(100):
        wait.begin_request()
        clock.sleep(wait.fetch_ms / 1000)
        wait.after_no_records(EMPTY)
    assert (wait.fetch_ms, wait.min_bytes) == (500, 9)
    assert clock.now > 1_040
    clock.sleep(19)  # without a response
    wait.after_failure(ConnectionError("lost"))
    clock.sleep(2)
    with pytest.raises(FetchError, match=r"no records arrived for 20 s, .* Client: lost\."):
        wait.after_failure(ConnectionError("lost"))


def test_the_end_is_the_last_stable_offset_if_only_committed_records_are_read(clock: Clock) -> None:
    open_transaction = EMPTY._replace(high_watermark=110, last_stable_offset=100)
    split = replace(SPLIT, stop=200, end_may_not_exist=True)
    wait = wait_for(100, split, isolation_level="read_committed")
    wait.after_no_records(open_transaction)
    assert wait.fetch_ms == 500
    wait = wait_for(100, split)
    wait.after_no_records(open_transaction)
    assert wait.fetch_ms == 20


def test_throttling_extends_the_timeout(clock: Clock) -> None:
    wait = wait_for(5)
    for _ in range(10):
        clock.sleep(10)
        wait.after_no_records(EMPTY._replace(throttle_ms=10_000))
    wait.after_no_records(EMPTY)
    clock.sleep(21)
    with pytest.raises(FetchError, match="no records arrived"):
        wait.after_no_records(EMPTY)


def test_responses_that_arrive_at_once_are_not_requested_at_once(clock: Clock) -> None:
    wait = wait_for(5)
    for _ in range(10):
        wait.begin_request()
        wait.after_no_records(EMPTY)
    assert 1_000.6 < clock.now < 1_001


@pytest.mark.parametrize(
    ("error", "expected"),
    [(RetriableError(ErrorCode.NOT_LEADER_OR_FOLLOWER), [2, 4, 8, 9, 9]), (OSError("lost"), [1, 2, 3, 3, 3])],
)
def test_waits_before_retries(clock: Clock, error: OSError | RetriableError, expected: list[int]) -> None:
    backoff = {"retry_backoff_ms": "2000", "retry_backoff_max_ms": "9000"}
    reconnect = {"reconnect_backoff_ms": "1000", "reconnect_backoff_max_ms": "3000"}
    wait = wait_for(5, default_api_timeout_ms="100000", **backoff, **reconnect)
    for seconds in expected:
        before = clock.now
        wait.after_failure(error)
        assert seconds * 0.8 <= clock.now - before <= seconds * 1.2


def test_a_topic_that_brokers_do_not_know_any_longer_was_deleted(clock: Clock) -> None:
    wait = wait_for(5)
    for _ in range(3):
        clock.sleep(5)
        wait.after_failure(UnknownTopicError())
        wait.after_failure(RetriableError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))  # of a leader that has just started
    wait = wait_for(5)
    wait.after_failure(UnknownTopicError())
    clock.sleep(9)
    wait.after_failure(UnknownTopicError())
    clock.sleep(1)
    with pytest.raises(TopicNotFoundError, match=r"t\[0\]@5: the topic no longer exists\. It was deleted"):
        wait.after_failure(UnknownTopicError())
