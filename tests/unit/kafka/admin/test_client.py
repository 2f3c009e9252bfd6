"""Which failed requests of the admin client are repeated."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.admin.client import Admin
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.config.properties import to_librdkafka


def unreachable_admin(seconds: float) -> Admin:
    timeout = str(int(seconds * 1000))
    config = {"bootstrap.servers": "127.0.0.1:1", "socket.connection.setup.timeout.ms": timeout}
    return Cluster(to_librdkafka(config)).admin()


@pytest.mark.parametrize(
    "code",
    [KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR],
)
def test_a_coordinator_that_is_loading_or_moving_is_asked_again(code: int) -> None:
    responses = [code, code]

    def request(api: AdminClient, seconds: float) -> str:
        if responses:
            raise KafkaException(KafkaError(responses.pop()))
        return "offsets"

    assert unreachable_admin(10).call_coordinator(request) == "offsets"


def test_a_coordinator_that_stays_unavailable_is_an_error() -> None:
    requests = []

    def request(api: AdminClient, seconds: float) -> str:
        requests.append(seconds)
        raise KafkaException(KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS))

    with pytest.raises(BrokerError, match="COORDINATOR_LOAD_IN_PROGRESS"):
        unreachable_admin(1).call_coordinator(request)
    assert len(requests) > 2


def test_other_errors_are_raised_at_once() -> None:
    requests = []

    def request(api: AdminClient, seconds: float) -> str:
        requests.append(seconds)
        raise KafkaException(KafkaError(KafkaError.INVALID_GROUP_ID))

    with pytest.raises(BrokerError, match="INVALID_GROUP_ID"):
        unreachable_admin(10).call_coordinator(request)
    assert len(requests) == 1
