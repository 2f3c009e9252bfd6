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
    assert "No broker of '127.0.0.1:1' (option 'properties.bootstrap.servers') completed the request " in str(e.value)
    assert f"request Metadata within {seconds:g} s: " in str(e.value)
    assert f"'properties.{option}' sets how long to retry" in str(e.value)
    assert str(e.value).count("Local: Broker transport failure") == 1, "the reason is not repeated for each broker"
