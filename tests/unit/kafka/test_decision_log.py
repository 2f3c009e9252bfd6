"""The decision log when brokers return errors or are unavailable.

Real brokers rarely return these errors, so clients are fakes or the broker is simulated. The log itself is tested on
real brokers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import NewTopic

from kafka_sql.errors import AuthorizationError, BrokerError, TransactionError
from kafka_sql.kafka import decision_log
from kafka_sql.kafka.admin import client
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.decision_log import LOG_TOPIC, create_log, read_decisions
from kafka_sql.kafka.decision_log_writer import DecisionLogWriter, LogWriterFenced
from kafka_sql.kafka.error_codes import ErrorCode, error_text
from kafka_sql.kafka.librdkafka.client import ClientErrors
from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import ApiKey, Reader
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.kafka.protocol.messages import Request
from tests.unit.kafka.direct.simulated_broker import LOST, SimulatedBroker, simulated_broker

UNREACHABLE = {"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": "200"}
CONFIG = to_librdkafka(UNREACHABLE)


def fake_client(**methods: Callable[..., Any]) -> Callable[..., Any]:
    """Return a stand-in for ``open_client`` whose clients have these methods."""
    client = SimpleNamespace(close=lambda: None, assign=lambda _: None, **methods)
    return lambda *_: (client, ClientErrors({}, str))


def fake_admin(monkeypatch: pytest.MonkeyPatch, **methods: Callable[..., Any]) -> None:
    """Let admin clients have these methods."""
    monkeypatch.setattr(client, "open_client", fake_client(poll=lambda _: 0, **methods))


def failing(code: int, message: str = "as configured") -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        raise KafkaException(KafkaError(code, message))

    return fail


def test_unreachable_brokers() -> None:
    with pytest.raises(TransactionError, match=rf"topic '{LOG_TOPIC}', transactional id 'x'\) cannot be opened"):
        DecisionLogWriter(CONFIG, "x").fence_older_writers()


def test_rejected_configuration() -> None:
    config = to_librdkafka({**UNREACHABLE, "security.protocol": "SSL", "ssl.ca.location": "/nowhere.pem"})
    with pytest.raises(BrokerError, match="The Kafka client could not start: "):
        create_log(config)


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, AuthorizationError, "Grant the user READ, WRITE and DESCRIBE"),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, AuthorizationError, "may not create it"),
        (KafkaError.POLICY_VIOLATION, BrokerError, r"could not be created: as configured \(POLICY_VIOLATION\)"),
    ],
)
def test_creation_fails(monkeypatch: pytest.MonkeyPatch, code: int, error: type[Exception], message: str) -> None:
    fake_admin(monkeypatch, list_topics=failing(code))
    with pytest.raises(error, match=message):
        create_log(CONFIG)


def test_log_was_created_concurrently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_log, "_clusters_with_log", set())
    metadata: Any = SimpleNamespace(topics={}, brokers={1: "a"})
    codes = [KafkaError.TOPIC_ALREADY_EXISTS, KafkaError.NOT_CONTROLLER, KafkaError._TIMED_OUT]

    def create(topics: list[NewTopic], request_timeout: float) -> Any:
        assert [topic.topic for topic in topics] == [LOG_TOPIC]
        raise KafkaException(KafkaError(codes.pop()))

    fake_admin(monkeypatch, list_topics=lambda **_: metadata, create_topics=create)
    create_log(to_librdkafka({"bootstrap.servers": "127.0.0.1:1"}))
    assert codes == []
    assert CONFIG["bootstrap.servers"] in decision_log._clusters_with_log


def patch_reads(monkeypatch: pytest.MonkeyPatch, code: int | None) -> None:
    """Fake a log with one record that never arrives, and messages with an error."""
    event = SimpleNamespace(error=lambda: KafkaError(code, "as configured")) if code is not None else None
    position = TopicPartition(LOG_TOPIC, 0, 0)
    monkeypatch.setattr(decision_log, "open_client", fake_client(poll=lambda _: event, position=lambda _: [position]))
    monkeypatch.setattr(decision_log, "_end_offset", lambda *_, **__: 1)
    monkeypatch.setattr(decision_log, "_READ_SECONDS", 0.1)


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        (
            KafkaError.TOPIC_AUTHORIZATION_FAILED,
            AuthorizationError,
            "cannot be read: as configured. Grant the user READ",
        ),
        (KafkaError._AUTHENTICATION, BrokerError, f"'{LOG_TOPIC}' cannot be read: as configured"),
        (KafkaError._PARTITION_EOF, BrokerError, r"\[0\]@0: a transaction of the decision log has been open for 0.1 s"),
        (None, BrokerError, r"\[0\]@0: a transaction of the decision log has been open for 0.1 s"),
    ],
)
def test_read_fails(monkeypatch: pytest.MonkeyPatch, code: int | None, error: type[Exception], message: str) -> None:
    patch_reads(monkeypatch, code)
    with pytest.raises(error, match=message):
        read_decisions(CONFIG)


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Make brokers return that the topic is unknown, and return the requests sent."""
    sent = list[Request]()
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    unknown = codec.pack("ii", 0, 0) + codec.string(None) + codec.pack("iih", -1, 1, code)
    response = unknown + codec.string(LOG_TOPIC) + codec.pack("?i", True, 0)

    def send(request: Request) -> int:
        sent.append(request)
        return len(sent)

    def receive(request: Request, correlation_id: int, seconds: float | None) -> Reader:
        return Reader(response, version=4)

    monkeypatch.setattr(decision_log, "_clusters_with_log", set())
    monkeypatch.setattr(ConnectionPool, "any_connection", lambda _: SimpleNamespace(send=send, receive=receive))
    return sent


def test_missing_log_is_empty(requests: list[Request]) -> None:
    assert read_decisions(CONFIG) == {}
    assert len(requests) == 1


def test_stale_metadata_is_not_a_missing_log(requests: list[Request]) -> None:
    decision_log._clusters_with_log.add(CONFIG["bootstrap.servers"])
    with pytest.raises(BrokerError, match=rf"topic '{LOG_TOPIC}' within 0.2 s: .*UNKNOWN_TOPIC"):
        read_decisions(CONFIG)
    assert len(requests) > 2


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimulatedBroker]:
    monkeypatch.setattr(decision_log, "_clusters_with_log", set())
    with simulated_broker(**{LOG_TOPIC: 1}) as running:
        yield running


@pytest.fixture
def writer(broker: SimulatedBroker) -> Iterator[DecisionLogWriter]:
    with closing(DecisionLogWriter(broker.config(), "writer")) as opened:
        yield opened


def test_decisions_are_written_in_transactions(broker: SimulatedBroker, writer: DecisionLogWriter) -> None:
    assert broker.requests == []
    writer.fence_older_writers()
    writer.write({"a": b"1", "b": None})
    writer.write({})
    writer.announce_write()
    writer.write({"a": b"2"})
    assert broker.values(LOG_TOPIC) == [b"1", None, b"2"]
    assert broker.ended == [(101, 3, True)] * 2
    assert broker.requests.count(ApiKey.ADD_PARTITIONS_TO_TXN) == 2
    writer.fence_older_writers()
    writer.write({"a": b"3"})
    assert broker.values(LOG_TOPIC)[-1] == b"3"
    assert broker.ended[-1] == (102, 3, True)


@pytest.mark.parametrize("key", [ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.PRODUCE, ApiKey.END_TXN])
def test_fenced_writer(broker: SimulatedBroker, writer: DecisionLogWriter, key: ApiKey) -> None:
    writer.fence_older_writers()
    broker.errors[key] = [ErrorCode.INVALID_PRODUCER_EPOCH]
    with pytest.raises(LogWriterFenced, match="writer"):
        writer.write({"a": b"1"})


@pytest.mark.parametrize(
    ("code", "error"),
    [(ErrorCode.TOPIC_AUTHORIZATION_FAILED, AuthorizationError), (ErrorCode.MESSAGE_TOO_LARGE, TransactionError)],
)
def test_rejected_decisions(
    broker: SimulatedBroker, writer: DecisionLogWriter, code: int, error: type[BrokerError]
) -> None:
    writer.fence_older_writers()
    broker.errors[ApiKey.PRODUCE] = [code]
    with pytest.raises(error, match=r"transactional id 'writer'\) cannot be written: .* requires WRITE and DESCRIBE"):
        writer.write({"a": b"1"})
    assert not broker.ended


def test_rotated_credentials_reconnect(broker: SimulatedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLIENT", "old")
    with closing(DecisionLogWriter(broker.config(client_id="${env:CLIENT}"), "writer")) as writer:
        writer.fence_older_writers()
        writer.write({"a": b"1"})
        before = writer._leaders.any_connection(), writer._coordinators.any_connection()
        writer.write({"a": b"2"})
        assert (writer._leaders.any_connection(), writer._coordinators.any_connection()) == before
        monkeypatch.setenv("CLIENT", "new")
        writer.write({"a": b"3"})
        assert writer._leaders.any_connection() is not before[0]
        assert writer._coordinators.any_connection() is not before[1]
    assert broker.values(LOG_TOPIC) == [b"1", b"2", b"3"]


def test_end_of_the_log(broker: SimulatedBroker, writer: DecisionLogWriter) -> None:
    writer.fence_older_writers()
    writer.write({"a": b"1", "b": b"2"})
    broker.last_stable_offset = 1
    broker.errors[ApiKey.LIST_OFFSETS] = [ErrorCode.NOT_LEADER_OR_FOLLOWER, LOST]
    assert decision_log._end_offset(broker.config(), committed=False) == 2
    assert decision_log._end_offset(broker.config(), committed=True) == 1
    broker.errors[ApiKey.LIST_OFFSETS] = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    with pytest.raises(AuthorizationError, match=r"cannot be read: .* Grant the user READ"):
        decision_log._end_offset(broker.config(), committed=False)
    broker.errors[ApiKey.METADATA] = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    with pytest.raises(AuthorizationError, match="does not exist, or the user is not authorized"):
        decision_log._end_offset(broker.config(), committed=False)


@pytest.mark.parametrize("code", [ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.UNKNOWN_SERVER_ERROR, 999])
def test_other_errors_of_the_log_are_not_retried(broker: SimulatedBroker, code: int) -> None:
    broker.errors[ApiKey.METADATA] = [code]
    with pytest.raises(BrokerError, match=rf"'{LOG_TOPIC}' cannot be read: {re.escape(error_text(code))}\."):
        decision_log._end_offset(broker.config(), committed=False)
    assert broker.requests == [ApiKey.METADATA]
