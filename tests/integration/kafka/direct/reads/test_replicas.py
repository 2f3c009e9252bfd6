"""The direct reader fetches from the replica in its rack (KIP-392), and from the leader if that replica fails."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_sql.embedded import EmbeddedKafka, Node
from kafka_sql.kafka.direct.reads import reader
from kafka_sql.kafka.direct.reads.partition_fetcher import Brokers
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.librdkafka import consumer
from kafka_sql.kafka.records import BatchSize
from kafka_sql.kafka.split import Split
from tests.chaos.clusters import leader_of, wait_for_replicas
from tests.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(600)]
COUNT = 30_000
TOPIC = "replicated"
ALL = Split(TOPIC, 0, 0, COUNT)


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(nodes=3) as nodes:
        servers = {"bootstrap.servers": nodes.bootstrap_servers, "log_level": 0}
        admin = AdminClient(servers)
        admin.create_topics([NewTopic(TOPIC, 1, 3)])[TOPIC].result(30)
        producer = Producer({**servers, "acks": "all"})
        for number in range(COUNT):
            producer.produce(TOPIC, b"%d" % number + b" " * 1000, partition=0)
            producer.poll(0)
        assert producer.flush(120) == 0
        yield nodes


@pytest.fixture(autouse=True)
def _without_librdkafka(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def fail(*_: object) -> None:
        raise AssertionError("librdkafka was used")

    consumer._CACHE.close()
    monkeypatch.setattr(consumer._CACHE, "_create", fail)
    reader._CACHE.close()
    yield
    reader._CACHE.close()


def follower_of(cluster: EmbeddedKafka) -> Node:
    """Return a node that does not lead the partition."""
    leader = leader_of(cluster, TOPIC)
    return next(node for node in cluster.nodes if node is not leader)


def config_of(cluster: EmbeddedKafka, rack: str) -> dict[str, str]:
    return Topics(cluster.bootstrap_servers).client(client_rack=rack)


def read_node() -> int | None:
    """Return the replica that the last read ended at; None for the leader."""
    (idle,) = reader._CACHE._idle
    assert isinstance(idle.client, Brokers)
    replica = idle.client.replicas.get((TOPIC, 0))
    return None if replica is None else replica.node


def read_offsets(config: dict[str, str]) -> list[int]:
    return [offset for records in read_records(config, ALL) for offset in records.offsets.tolist()]


def test_the_replica_in_the_same_rack(cluster: EmbeddedKafka) -> None:
    for node in cluster.nodes:
        assert node.rack is not None
        assert read_offsets(config_of(cluster, node.rack)) == list(range(COUNT))
        assert read_node() == (None if node is leader_of(cluster, TOPIC) else node.id)
    assert read_offsets(config_of(cluster, "elsewhere")) == list(range(COUNT))
    assert read_node() is None


def test_the_replica_is_killed_during_a_read(cluster: EmbeddedKafka) -> None:
    follower = follower_of(cluster)
    assert follower.rack is not None
    offsets, size = list[int](), BatchSize(max_rows=500, max_bytes=1 << 20)
    for records in read_records(config_of(cluster, follower.rack), ALL, size=size):
        if not offsets:
            follower.kill()
        offsets += records.offsets.tolist()
    assert offsets == list(range(COUNT))
    assert read_node() is None
    follower.restart()
    wait_for_replicas(cluster)


def test_the_leader_is_killed_during_a_read(cluster: EmbeddedKafka) -> None:
    leader = leader_of(cluster, TOPIC)
    offsets, size = list[int](), BatchSize(max_rows=500, max_bytes=1 << 20)
    for records in read_records(config_of(cluster, ""), ALL, size=size):
        if not offsets:
            leader.kill()
        offsets += records.offsets.tolist()
    assert offsets == list(range(COUNT))
    leader.restart()
    wait_for_replicas(cluster)
