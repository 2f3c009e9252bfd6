"""A partition's leader is killed during a read: another one of three nodes takes over."""

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
from kafka_sql.kafka.split import Split
from tests.batch_read import StreamingRead, define_table, read
from tests.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(600)]
COUNT = 30_000
TOPIC = "replicated"


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(nodes=3) as nodes:
        admin = AdminClient({"bootstrap.servers": nodes.bootstrap_servers, "log_level": 0})
        admin.create_topics([NewTopic(TOPIC, 1, 3)])[TOPIC].result(30)
        produce_numbers(nodes, range(COUNT))
        yield nodes


def produce_numbers(nodes: EmbeddedKafka, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": nodes.bootstrap_servers, "acks": "all", "log_level": 0})
    for number in numbers:
        producer.produce(TOPIC, b"%d" % number + b" " * 1000, partition=0)
        producer.poll(0)
    assert producer.flush(120) == 0


def leader_id(nodes: EmbeddedKafka) -> int:
    admin = AdminClient({"bootstrap.servers": nodes.bootstrap_servers, "log_level": 0})
    return int(admin.list_topics(TOPIC, timeout=30).topics[TOPIC].partitions[0].leader)


def kill_leader(nodes: EmbeddedKafka) -> int:
    number = leader_id(nodes)
    next(node for node in nodes.nodes if node.id == number).kill()
    return number


def test_a_task_resumes_with_the_new_leader(cluster: EmbeddedKafka) -> None:
    small_fetches = {"properties_queued_max_messages_kbytes": "1024", "properties_max_partition_fetch_bytes": "1048576"}
    config = define_table(Topics(cluster.bootstrap_servers), TOPIC, **small_fetches).client_config
    offsets: list[int] = []
    killed = None
    for records in read_records(config, Split(TOPIC, 0, 0, COUNT), size=BatchSize(max_rows=500)):
        offsets += records.offsets.tolist()
        if killed is None and len(offsets) > COUNT // 4:
            killed = kill_leader(cluster)
    assert offsets == list(range(COUNT))
    next(node for node in cluster.nodes if node.id == killed).restart()


def test_a_stream_and_a_batch_resume_with_the_new_leader(cluster: EmbeddedKafka) -> None:
    topics = Topics(cluster.bootstrap_servers)
    definition = define_table(topics, TOPIC, scan_topic__partition__discovery_interval="1 ms")
    query = StreamingRead(definition)
    values = query.values()
    killed = kill_leader(cluster)
    values += query.values()  # nothing new; the partition has no leader for a while
    produce_numbers(cluster, range(COUNT, COUNT + 100))
    values += query.values()
    assert [int(value or b"") for value in values] == list(range(COUNT + 100))
    node = next(node for node in cluster.nodes if node.id == killed)
    node.restart()
    kill_leader(cluster)
    assert len(read(definition)) == COUNT + 100


def test_the_broker_that_clients_use_as_controller_is_killed(cluster: EmbeddedKafka) -> None:
    """librdkafka waits for the controller that it knows until metadata is requested."""
    config = define_table(Topics(cluster.bootstrap_servers), TOPIC).client_config
    reader, creator = Cluster(config), Cluster(config)
    ids = topic_ids(reader.admin(), [TOPIC])
    assert ids.keys() == {TOPIC}
    controllers = {
        cluster_client.admin().api.list_topics(timeout=30).controller_id for cluster_client in (reader, creator)
    }
    for number in controllers:
        killed_node = next(node for node in cluster.nodes if node.id == number)
        killed_node.kill()
        started = time.monotonic()
        assert topic_ids(reader.admin(), [TOPIC]) == ids
        name = f"created-{number}"
        assert ensure_topics(creator, (name,), TopicSettings(1, 2, {}), "t", {}) == [name]
        assert time.monotonic() - started < reader.admin().limit().seconds
        killed_node.restart()
