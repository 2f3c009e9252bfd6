"""All connections go silent, as if a firewall had dropped them: requests and reads continue over new connections."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pyarrow as pa
import pytest

from kafka_sql.errors import BrokerUnreachableError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.direct.writes.producer import cached_direct_producer
from kafka_sql.kafka.direct.writes.transactional_producer import open_direct_transaction
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.librdkafka import consumer
from kafka_sql.kafka.split import Split
from tests.chaos.clusters import cluster_behind_proxy
from tests.proxy import ProxyNetwork
from tests.topics import Topics

pytestmark = pytest.mark.integration

Proxied = tuple[Topics, str, ProxyNetwork]


@pytest.fixture(scope="module")
def proxied() -> Iterator[Proxied]:
    """Topics over direct connections, the bootstrap servers behind a proxy, and the proxy."""
    with cluster_behind_proxy(1) as (kafka, servers, network):
        yield Topics(kafka.bootstrap_servers), servers, network


@pytest.mark.long
def test_admin_requests_are_repeated(proxied: Proxied) -> None:
    topics, servers, network = proxied
    topic = topics.create(2)
    cluster = Cluster(to_librdkafka({"bootstrap.servers": servers}))
    partitions = cluster.partitions((topic,))
    assert cluster.latest(partitions) == {(topic, 0): 0, (topic, 1): 0}
    topics.produce(topic, b"a", b"b")
    network.drop_connections()
    assert cluster.latest(partitions) == {(topic, 0): 2, (topic, 1): 0}
    assert set(cluster.topics()) >= {topic}


@pytest.mark.long
def test_reader_with_a_dropped_connection(proxied: Proxied) -> None:
    topics, servers, network = proxied
    topic = topics.create()
    topics.produce(topic, *(b"%d" % i for i in range(10)))
    config = to_librdkafka({"bootstrap.servers": servers, "request.timeout.ms": "3000"})
    for start in (0, 5):
        found = [
            v for records in read_records(config, Split(topic, 0, start, start + 5)) for v in records.values.to_pylist()
        ]
        assert found == [b"%d" % i for i in range(start, start + 5)]
        network.drop_connections()
    consumer._CACHE.close()


@pytest.mark.long
@pytest.mark.parametrize("transactional", [pytest.param(False, marks=pytest.mark.long), True])
def test_writer_with_a_dropped_connection(proxied: Proxied, transactional: bool) -> None:
    topics, servers, network = proxied
    topic = topics.create()
    config = to_librdkafka({"bootstrap.servers": servers, "transaction.timeout.ms": "60000"})
    for turn in range(2):
        began = time.monotonic()
        with (
            open_direct_transaction(config, f"{topic}-{turn}", topic)
            if transactional
            else cached_direct_producer(config, topic)
        ) as producer:
            producer.produce(pa.array([b"a"], pa.binary()))
            producer.flush()
        assert time.monotonic() - began < 29  # seconds; much less than 'request.timeout.ms'
        network.drop_connections()
    assert len(topics.consume(topic, 2, **{"isolation.level": "read_uncommitted"})) == 2


@pytest.mark.long
def test_first_request_has_the_connect_timeout(proxied: Proxied) -> None:
    _, servers, network = proxied
    network.stall()
    try:
        began = time.monotonic()
        with pytest.raises(BrokerUnreachableError, match=r"within 4 s.*socket\.connection\.setup\.timeout\.ms"):
            Cluster(
                to_librdkafka({"bootstrap.servers": servers, "socket.connection.setup.timeout.ms": "4000"})
            ).topics()
        assert time.monotonic() - began < 30
    finally:
        network.restore()
