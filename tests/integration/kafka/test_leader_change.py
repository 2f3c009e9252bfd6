"""A partition's leader dies while it is read: of three nodes, another one goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.admin.descriptions import topic_ids
from kafka_sql.kafka.admin.topics import TopicSettings, ensure_topics
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.records import BatchSize
from kafka_sql.kafka.types import Split
from tests.batch_read import Streaming, declared, read
from tests.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(600)]
COUNT = 30_000
TOPIC = "replicated"


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(nodes=3) as nodes:
        admin = AdminClient({"bootstrap.servers": nodes.bootstrap_servers, "log_level": 0})
        admin.create_topics([NewTopic(TOPIC, 1, 3)])[TOPIC].result(30)
        put(nodes, range(COUNT))
        yield nodes


def put(nodes: EmbeddedKafka, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": nodes.bootstrap_servers, "acks": "all", "log_level": 0})
    for number in numbers:
        producer.produce(TOPIC, b"%d" % number + b" " * 1000, partition=0)
        producer.poll(0)
    assert producer.flush(120) == 0


def leader(nodes: EmbeddedKafka) -> int:
    admin = AdminClient({"bootstrap.servers": nodes.bootstrap_servers, "log_level": 0})
    return int(admin.list_topics(TOPIC, timeout=30).topics[TOPIC].partitions[0].leader)


def kill_leader(nodes: EmbeddedKafka) -> int:
    number = leader(nodes)
    next(node for node in nodes.nodes if node.id == number).kill()
    return number


def test_a_task_goes_on_with_the_new_leader(cluster: EmbeddedKafka) -> None:
    few = {"properties_queued_max_messages_kbytes": "1024", "properties_max_partition_fetch_bytes": "1048576"}
    config = declared(Topics(cluster.bootstrap_servers), TOPIC, **few).client
    found: list[int] = []
    killed = None
    for records in read_records(config, Split(TOPIC, 0, 0, COUNT), size=BatchSize(max_rows=500)):
        found += records.offsets.tolist()
        if killed is None and len(found) > COUNT // 4:
            killed = kill_leader(cluster)
    assert found == list(range(COUNT))
    next(node for node in cluster.nodes if node.id == killed).restart()


def test_a_stream_and_a_batch_go_on_with_the_new_leader(cluster: EmbeddedKafka) -> None:
    topics = Topics(cluster.bootstrap_servers)
    definition = declared(topics, TOPIC, scan_topic__partition__discovery_interval="1 ms")
    query = Streaming(definition)
    found = query.values()
    killed = kill_leader(cluster)
    found += query.values()  # nothing new; nobody leads for a while
    put(cluster, range(COUNT, COUNT + 100))
    found += query.values()
    assert [int(value or b"") for value in found] == list(range(COUNT + 100))
    node = next(node for node in cluster.nodes if node.id == killed)
    node.restart()
    kill_leader(cluster)
    assert len(read(definition)) == COUNT + 100


def test_the_broker_that_clients_take_for_the_controller_dies(cluster: EmbeddedKafka) -> None:
    """librdkafka waits for the controller that it knows, for as long as nobody asks for metadata."""
    config = declared(Topics(cluster.bootstrap_servers), TOPIC).client
    asking, creating = Cluster(config), Cluster(config)
    ids = topic_ids(asking.admin(), [TOPIC])
    assert ids.keys() == {TOPIC}
    known = {one.admin().api.list_topics(timeout=30).controller_id for one in (asking, creating)}
    for number in known:
        dead = next(node for node in cluster.nodes if node.id == number)
        dead.kill()
        began = time.monotonic()
        assert topic_ids(asking.admin(), [TOPIC]) == ids
        name = f"created-{number}"
        assert ensure_topics(creating, (name,), TopicSettings(1, 2, {}), "t", {}) == [name]
        assert time.monotonic() - began < asking.admin().timeout
        dead.restart()
