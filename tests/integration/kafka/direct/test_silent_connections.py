"""All connections fall silent, as when a firewall has forgotten them: what is asked and read goes on by new ones."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pyarrow as pa
import pytest

from kafka_sql.errors import BrokerUnreachableError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.direct.producer import cached_direct_producer
from kafka_sql.kafka.direct.transactional_producer import open_direct_transaction
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.librdkafka import consumer
from kafka_sql.kafka.types import Split
from tests.chaos.clusters import cluster_behind_proxy
from tests.proxy import Network
from tests.topics import Topics

pytestmark = pytest.mark.integration

Far = tuple[Topics, str, Network]


@pytest.fixture(scope="module")
def far() -> Iterator[Far]:
    """Topics by the direct way, the bootstrap servers behind the network, and the network."""
    with cluster_behind_proxy(1) as (kafka, servers, network):
        yield Topics(kafka.bootstrap_servers), servers, network


def test_a_cluster_that_has_answered_is_asked_again(far: Far) -> None:
    topics, servers, network = far
    topic = topics.create(2)
    cluster = Cluster(to_librdkafka({"bootstrap.servers": servers}))
    places = cluster.partitions((topic,))
    assert cluster.latest(places) == {(topic, 0): 0, (topic, 1): 0}
    topics.put(topic, b"a", b"b")
    network.drop_connections()
    assert cluster.latest(places) == {(topic, 0): 2, (topic, 1): 0}
    assert set(cluster.topics()) >= {topic}


def test_a_reader_whose_connection_was_forgotten(far: Far) -> None:
    topics, servers, network = far
    topic = topics.create()
    topics.put(topic, *(b"%d" % i for i in range(10)))
    config = to_librdkafka({"bootstrap.servers": servers, "request.timeout.ms": "3000"})
    for start in (0, 5):
        found = [
            v for records in read_records(config, Split(topic, 0, start, start + 5)) for v in records.values.to_pylist()
        ]
        assert found == [b"%d" % i for i in range(start, start + 5)]
        network.drop_connections()
    consumer._CACHE.close()


@pytest.mark.parametrize("transactional", [False, True])
def test_a_writer_whose_connection_was_forgotten(far: Far, transactional: bool) -> None:
    topics, servers, network = far
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
        assert time.monotonic() - began < 29  # seconds; far less than 'request.timeout.ms'
        network.drop_connections()
    assert len(topics.take(topic, 2, **{"isolation.level": "read_uncommitted"})) == 2


def test_one_that_has_never_answered_is_not_waited_for_as_long(far: Far) -> None:
    _, servers, network = far
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
