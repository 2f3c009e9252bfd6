"""The admin client without a broker: how long it waits, and which option the error names."""

from __future__ import annotations

import time

import pytest

from kafka_sql.errors import BrokerUnreachableError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.config.properties import to_librdkafka

UNREACHABLE = {"bootstrap.servers": "127.0.0.1:1"}


@pytest.mark.parametrize(
    ("option", "milliseconds"), [("default.api.timeout.ms", "300"), ("socket.connection.setup.timeout.ms", "1000")]
)
def test_first_request(option: str, milliseconds: str) -> None:
    cluster = Cluster(to_librdkafka({**UNREACHABLE, option: milliseconds}))
    seconds = int(milliseconds) / 1000
    began = time.monotonic()
    with pytest.raises(BrokerUnreachableError) as e:
        cluster.topics()
    assert 0.9 * seconds < time.monotonic() - began < seconds + 3
    assert f"'127.0.0.1:1' (option 'properties.bootstrap.servers') responded within {seconds:g} s: " in str(e.value)
    assert f"'properties.{option}' sets how long to wait" in str(e.value)


def test_a_cluster_that_has_responded_may_be_silent_for_longer() -> None:
    admin = Cluster(to_librdkafka({**UNREACHABLE, "socket.connection.setup.timeout.ms": "1000"})).admin()
    assert admin.timeout == 1
    admin.use_api_timeout()
    assert admin.timeout == 60
    admin.use_connect_timeout()
    assert admin.timeout == 1
