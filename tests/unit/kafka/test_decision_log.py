"""The log of decisions where brokers refuse it or are away. Their answers are a double's here, as real ones seldom give
them; the log itself is tested on real brokers.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from kafka_sql.errors import AuthorizationError, BrokerError, TransactionError
from kafka_sql.kafka import decision_log
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.decision_log import _NO_TOPIC, LOG_TOPIC, make_log, read_log
from kafka_sql.kafka.decision_log_writer import LogWriter
from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import Reader
from kafka_sql.kafka.protocol.connection import Request
from kafka_sql.kafka.protocol.connection_pool import Brokers

AWAY = {"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": "200"}
CONFIG = to_librdkafka(AWAY)


def answers(**methods: Callable[..., Any]) -> Callable[..., Any]:
    """A client of these methods, in place of any."""
    client = SimpleNamespace(close=lambda: None, assign=lambda _: None, **methods)
    return lambda *_: client


def failing(code: int, words: str = "said so") -> Callable[..., Any]:
    def fails(*_: object, **__: object) -> Any:
        raise KafkaException(KafkaError(code, words))

    return fails


def test_brokers_that_are_away() -> None:
    with pytest.raises(TransactionError, match=rf"topic '{LOG_TOPIC}', transactional id 'x'\) could not be begun"):
        LogWriter(CONFIG, "x").fence()


def test_a_configuration_that_librdkafka_refuses() -> None:
    given = to_librdkafka({**AWAY, "security.protocol": "SSL", "ssl.ca.location": "/nowhere.pem"})
    with pytest.raises(BrokerError, match="The Kafka client could not start: "):
        make_log(given)


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, AuthorizationError, "Grant the user READ, WRITE and DESCRIBE"),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, AuthorizationError, "may not create it"),
        (KafkaError.POLICY_VIOLATION, BrokerError, r"could not be created: said so \(POLICY_VIOLATION\)"),
    ],
)
def test_a_log_that_may_not_be_made(
    monkeypatch: pytest.MonkeyPatch, code: int, error: type[Exception], words: str
) -> None:
    monkeypatch.setattr(decision_log, "_client", answers(list_topics=failing(code)))
    with pytest.raises(error, match=words):
        make_log(CONFIG)


def test_a_log_that_another_made_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_log, "_there", set())
    none: Any = SimpleNamespace(topics={}, brokers={1: "a"})
    made = answers(list_topics=lambda **_: none, create_topics=failing(KafkaError.TOPIC_ALREADY_EXISTS))
    monkeypatch.setattr(decision_log, "_client", made)
    make_log(CONFIG)
    assert CONFIG["bootstrap.servers"] in decision_log._there


def reading(monkeypatch: pytest.MonkeyPatch, code: int | None) -> None:
    """A log with one record more than is ever given, and messages of an error."""
    message = SimpleNamespace(error=lambda: KafkaError(code, "said so")) if code is not None else None
    place = TopicPartition(LOG_TOPIC, 0, 0)
    monkeypatch.setattr(decision_log, "_client", answers(poll=lambda _: message, position=lambda _: [place]))
    monkeypatch.setattr(decision_log, "_end", lambda *_, **__: 1)
    monkeypatch.setattr(decision_log, "_VISIBLE_SECONDS", 0.1)


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, AuthorizationError, "cannot be read: said so. Grant the user READ"),
        (KafkaError._AUTHENTICATION, BrokerError, f"'{LOG_TOPIC}' cannot be read: said so"),
        (KafkaError._PARTITION_EOF, BrokerError, r"\[0\]@0: a transaction of the log has been open for 0.1 s"),
        (None, BrokerError, r"\[0\]@0: a transaction of the log has been open for 0.1 s"),
    ],
)
def test_a_log_that_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, code: int | None, error: type[Exception], words: str
) -> None:
    reading(monkeypatch, code)
    with pytest.raises(error, match=words):
        read_log(CONFIG)


@pytest.fixture
def behind(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Brokers of which none has heard of the topic; what they are asked."""
    asked = list[Request]()
    unknown = codec.pack("ii", 0, 0) + codec.string(None) + codec.pack("iih", -1, 1, _NO_TOPIC)
    answer = unknown + codec.string(LOG_TOPIC) + codec.pack("?i", True, 0)

    def ask(request: Request) -> Reader:
        asked.append(request)
        return Reader(answer)

    monkeypatch.setattr(decision_log, "_there", set())
    monkeypatch.setattr(Brokers, "any", lambda _: SimpleNamespace(ask=ask))
    return asked


def test_there_may_be_no_log(behind: list[Request]) -> None:
    assert read_log(CONFIG) == {}
    assert len(behind) == 1


def test_a_log_that_a_broker_does_not_know_yet_is_not_taken_for_none(behind: list[Request]) -> None:
    decision_log._there.add(CONFIG["bootstrap.servers"])
    with pytest.raises(BrokerError, match=rf"topic '{LOG_TOPIC}' did not answer within 0.2 s: .*Unknown topic"):
        read_log(CONFIG)
    assert len(behind) > 2
