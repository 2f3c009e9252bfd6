"""Which failed requests of the admin client are repeated, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from kafka_sql.errors import BrokerError, BrokerUnreachableError
from kafka_sql.kafka.admin.client import Admin
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.protocol.codec import ApiKey


def fake_admin(milliseconds: int = 60_000, **methods: Callable[..., Any]) -> Admin:
    """Return a client whose requests for metadata are answered, and that has some methods of librdkafka's client."""
    config = {"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": str(milliseconds)}
    admin = Cluster(to_librdkafka(config)).admin()
    api: Any = SimpleNamespace(
        poll=lambda _: 0, list_topics=lambda timeout: SimpleNamespace(topics={}, brokers={}), **methods
    )
    admin.api = api
    return admin


def failing(*codes: int) -> Callable[[AdminClient, float], str]:
    remaining = list(codes)

    def request(api: AdminClient, seconds: float) -> str:
        if remaining:
            raise KafkaException(KafkaError(remaining.pop(0)))
        return "done"

    return request


COORDINATOR = (
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)


@pytest.mark.parametrize(
    ("api", "codes"),
    [
        (ApiKey.DESCRIBE_GROUPS, COORDINATOR),
        (ApiKey.OFFSET_FETCH, COORDINATOR),
        (ApiKey.CREATE_TOPICS, (KafkaError.NOT_CONTROLLER, KafkaError.THROTTLING_QUOTA_EXCEEDED)),
        (ApiKey.DESCRIBE_CONFIGS, (KafkaError.REQUEST_TIMED_OUT,)),
        (ApiKey.DESCRIBE_TOPIC_PARTITIONS, (KafkaError._TIMED_OUT, KafkaError._TRANSPORT)),
    ],
)
def test_retriable_errors(api: ApiKey, codes: tuple[int, ...]) -> None:
    assert fake_admin().call(api, failing(*codes)) == "done"


def test_an_error_that_stays() -> None:
    requests = []

    def request(api: AdminClient, seconds: float) -> str:
        requests.append(seconds)
        raise KafkaException(KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS))

    expected = (
        r"completed the request DescribeGroups within 0\.3 s: .*COORDINATOR_LOAD_IN_PROGRESS.*"
        r"'properties\.default\.api\.timeout\.ms' sets how long to retry"
    )
    with pytest.raises(BrokerUnreachableError, match=expected):
        fake_admin(300).call(ApiKey.DESCRIBE_GROUPS, request)
    assert len(requests) > 2


def test_other_errors_are_raised_at_once() -> None:
    with pytest.raises(BrokerError, match="INVALID_GROUP_ID"):
        fake_admin().call(ApiKey.DESCRIBE_GROUPS, failing(KafkaError.INVALID_GROUP_ID))
    with pytest.raises(BrokerError, match="COORDINATOR_LOAD_IN_PROGRESS"):
        fake_admin().call(ApiKey.DESCRIBE_CONFIGS, failing(KafkaError.COORDINATOR_LOAD_IN_PROGRESS))


def test_a_cluster_that_has_responded_has_more_time() -> None:
    config = {"bootstrap.servers": "127.0.0.1:1", "socket.connection.setup.timeout.ms": "1000"}
    admin = Cluster(to_librdkafka(config)).admin()
    assert admin.limit() == (1, "socket.connection.setup.timeout.ms")
    admin.api = fake_admin().api
    assert admin.list_topics() == {}
    assert admin.limit() == (60, "default.api.timeout.ms")


def test_metadata_is_enough_of_a_response() -> None:
    """The broker that the client considers the controller does not respond, but another one does."""
    config = {"bootstrap.servers": "127.0.0.1:1", "socket.connection.setup.timeout.ms": "1000"}
    admin = Cluster(to_librdkafka(config)).admin()
    admin.api = fake_admin().api
    # three pauses of 0.02 s and more; the last one would end after 'socket.connection.setup.timeout.ms'
    assert admin.call(ApiKey.CREATE_TOPICS, failing(*[KafkaError._TIMED_OUT] * 7)) == "done"
