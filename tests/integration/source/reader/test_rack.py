"""Test that readers use the replica in their rack, with three brokers in three racks."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.records import BatchSize
from kafka_sql.kafka.split import Split
from kafka_sql.source.client_config import task_client_config
from tests.batch_read import define_table
from tests.integration.source.reader import rack_functions
from tests.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]
COUNT, SIZE = 10_000, 1000
BYTES = COUNT * SIZE


class Racks:
    """Three brokers in three racks."""

    def __init__(self, nodes: EmbeddedKafka) -> None:
        self.nodes, self.topics = nodes, Topics(nodes.bootstrap_servers)

    def create(self, name: str, partitions: int = 1) -> str:
        """Create a topic with leader 1, a replica on each node and COUNT records."""
        admin = AdminClient({"bootstrap.servers": self.nodes.bootstrap_servers, "log_level": 0})
        placed = NewTopic(name, partitions, replica_assignment=[[1, 2, 3]] * partitions)
        admin.create_topics([placed])[name].result(30)
        producer = Producer({"bootstrap.servers": self.nodes.bootstrap_servers, "acks": "all", "log_level": 0})
        for number in range(COUNT):
            producer.produce(
                name, b'{"a": %d, "s": "%s"}' % (number, b"x" * (SIZE - 20)), partition=number % partitions
            )
            producer.poll(0)
        assert producer.flush(120) == 0
        return name

    def kill(self, rack: str) -> None:
        next(node for node in self.nodes.nodes if node.rack == rack).kill()


@pytest.fixture
def cluster() -> Iterator[Racks]:
    with EmbeddedKafka(nodes=3) as nodes:
        yield Racks(nodes)


@pytest.fixture
def statistics() -> Iterator[Statistics]:
    found, logger = Statistics(), logging.getLogger("kafka_sql.kafka.statistics")
    logger.addHandler(found)
    logger.setLevel(logging.INFO)
    logger.propagate = False  # a failing test would print thousands of records
    yield found
    logger.propagate = True
    logger.removeHandler(found)
    logger.setLevel(logging.NOTSET)


class Statistics(logging.Handler):
    """Keeps librdkafka's last statistics of bytes received per node."""

    def __init__(self) -> None:
        super().__init__()
        self.received: dict[int, int] = {}

    def emit(self, record: logging.LogRecord) -> None:
        self.received = received_bytes(json.loads(record.getMessage()))


def received_bytes(statistics: Any) -> dict[int, int]:
    """Return the number of bytes received from each node, from a client's statistics."""
    return {broker["nodeid"]: broker["rxbytes"] for broker in statistics["brokers"].values() if broker["nodeid"] > 0}


# many small fetches, so that statistics are reported well before the end
SMALL_FETCHES = {
    "properties_statistics_interval_ms": "20",
    "properties_queued_max_messages_kbytes": "256",
    "properties_max_partition_fetch_bytes": "20000",
    "properties_fetch_max_bytes": "1048576",
}


def read(topic: str, config: Mapping[str, str], at_first: Callable[[], None] = lambda: None) -> None:
    """Read all records in small batches.

    Args:
        at_first: called after the first batch.
    """
    offsets: list[int] = []
    for records in read_records(config, Split(topic, 0, 0, COUNT), size=BatchSize(max_rows=500)):
        if not offsets:
            at_first()
        offsets += records.offsets.tolist()
    assert offsets == list(range(COUNT))


def test_tasks_read_from_replicas_in_their_rack(
    cluster: Racks, statistics: Statistics, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    topic = cluster.create("near")
    (tmp_path / "rack").write_text("c\n")
    monkeypatch.setenv("NODE_AZ", "b")
    ways = {
        "env:NODE_AZ": 2,
        f"file:{tmp_path / 'rack'}": 3,
        "tests.integration.source.reader.rack_functions:none": 1,  # no rack: reads from the leader
    }
    for text, node in ways.items():
        read(topic, task_client_config(define_table(cluster.topics, topic, scan_rack__id=text, **SMALL_FETCHES), 0))
        mine = dict(statistics.received)
        assert mine.pop(node) > 100_000, text
        assert all(count < 100_000 for count in mine.values()), text
    # a rack without a replica: reads from the leader
    config = {**define_table(cluster.topics, topic, **SMALL_FETCHES).client_config, "client.rack": "nowhere"}
    read(topic, config)
    assert statistics.received[1] > 100_000
    # the replica in the rack fails while it is read: no records are missing
    read(topic, {**config, "client.rack": "b"}, lambda: cluster.kill("b"))


# -- executors ----------------------------------------------------------------------------------------------------

PROGRAM = """
import json, os, signal, sys, threading, time
import kafka_sql
from pyspark.sql import SparkSession

bootstrap, topic, folder, pids = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
spark = kafka_sql.enable(
    SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    .config("spark.sql.warehouse.dir", folder + "/warehouse").getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")
jvm = spark.sparkContext._jvm


def mbeans(pid):
    url = jvm.com.sun.tools.attach.VirtualMachine.attach(str(pid)).startLocalManagementAgent()
    service = jvm.javax.management.remote.JMXServiceURL(url)
    return jvm.javax.management.remote.JMXConnectorFactory.connect(service).getMBeanServerConnection()


brokers = [mbeans(pid) for pid in pids]
name = jvm.javax.management.ObjectName(f"kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec,topic={topic}")


def bytes_sent_by(broker):
    return broker.getAttribute(name, "Count") if broker.isRegistered(name) else 0


def bytes_sent():
    return [bytes_sent_by(broker) for broker in brokers]


spark.sql(f'''CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = '{topic}', 'format' = 'json',
  'properties.bootstrap.servers' = '{bootstrap}', 'scan.startup.mode' = 'earliest-offset',
  'properties.statistics.interval.ms' = '20', 'properties.queued.max.messages.kbytes' = '2048',
  'scan.rack-id' = 'tests.integration.source.reader.rack_functions:by_executor')''')
before = bytes_sent()
rows = spark.sql("SELECT count(*), count(DISTINCT a) FROM t").collect()[0]
after = bytes_sent()
results = {"rows": list(rows), "sent": [b - a for a, b in zip(before, after)]}


def kill_while_it_sends():
    while bytes_sent_by(brokers[1]) == after[1]:
        time.sleep(0.01)  # brokers do not signal it
    os.kill(pids[1], signal.SIGKILL)


killer = threading.Thread(target=kill_while_it_sends)
killer.start()
# many small fetches, so that the broker stops well before the end
rows = spark.sql('''SELECT count(*), count(DISTINCT a) FROM t /*+ OPTIONS(
  'properties.queued.max.messages.kbytes' = '256', 'properties.max.partition.fetch.bytes' = '20000',
  'properties.fetch.max.bytes' = '1048576', 'properties.statistics.interval.ms' = '0') */''').collect()[0]
killer.join()
results |= {"rows after the kill": list(rows), "sent by the leader": bytes_sent_by(brokers[0]) - after[0]}
print(json.dumps(results))
spark.stop()
"""


@pytest.mark.long  # a separate Spark application with three more JVMs, and three brokers
def test_executors_in_two_racks(cluster: Racks, tmp_path: Path) -> None:
    topic = cluster.create("two-racks", partitions=4)
    pids = json.dumps([node.pid for node in cluster.nodes.nodes])
    command = [sys.executable, "-c", PROGRAM, cluster.nodes.bootstrap_servers, topic, str(tmp_path), pids]
    here = str(Path(__file__).parents[4])
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": here,
        rack_functions.FOLDER: str(tmp_path),
    }
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=800, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    results = json.loads(done.stdout.splitlines()[-1])
    print(results)
    assert results["rows"] == results["rows after the kill"] == [COUNT, COUNT]
    assert results["sent by the leader"] > 0
    leader, b, c = results["sent"]
    assert leader == 0
    assert b > BYTES / 4
    assert c > BYTES / 4
    assert b + c > BYTES * 0.9
    for rack, node in (("b", 2), ("c", 3)):
        lines = (tmp_path / f"statistics-{rack}").read_text().splitlines()
        reports = [received_bytes(json.loads(line)) for line in lines]
        assert max(report.get(node, 0) for report in reports) > BYTES / 16  # a client discovers the nodes gradually
        assert all(report.get(n, 0) < BYTES / 100 for report in reports for n in {1, 2, 3} - {node})
