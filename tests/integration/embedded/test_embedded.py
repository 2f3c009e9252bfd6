"""The embedded Kafka: it serves, keeps its data, fails with clear errors, and exits with its process."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_sql.embedded import EmbeddedKafka, cluster
from kafka_sql.embedded.loopback import free_ports
from kafka_sql.embedded.node import fetch_cluster_state
from kafka_sql.errors import EmbeddedKafkaError

pytestmark = pytest.mark.integration


def admin(kafka: EmbeddedKafka) -> AdminClient:
    return AdminClient({"bootstrap.servers": kafka.bootstrap_servers})


def create(kafka: EmbeddedKafka, topic: str) -> None:
    client = admin(kafka)  # keep a reference: the future needs it
    client.create_topics([NewTopic(topic, 1)])[topic].result(20)


def produce(kafka: EmbeddedKafka, topic: str, *values: bytes) -> None:
    failed: list[object] = []
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "message.timeout.ms": 30000})
    for value in values:
        producer.produce(topic, value, on_delivery=lambda error, _: failed.append(error) if error else None)
    assert producer.flush(30) == 0
    assert failed == []


def consume(kafka: EmbeddedKafka, topic: str, count: int) -> list[bytes]:
    settings = {"group.id": "g", "enable.auto.commit": False, "client.rack": "b"}
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, **settings})
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[bytes] = []
    deadline = time.monotonic() + 30
    while len(values) < count and time.monotonic() < deadline:
        values += [message.value() for message in consumer.consume(count - len(values), 0.5)]
    consumer.close()
    return values


def partition_count(client: AdminClient, topic: str) -> int:
    """Return the number of partitions that a broker knows: 0 until it learns of a new topic from the controller."""
    return len(client.list_topics(topic, timeout=10).topics[topic].partitions)


def await_true(condition: Callable[[], bool], description: str) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, f"not within 30 s: {description}"
        time.sleep(0.02)


def has_exited(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_records_round_trip() -> None:
    with EmbeddedKafka(properties={"num.partitions": 3}) as kafka:
        pid = kafka.nodes[0].pid
        assert pid is not None
        folder = kafka.nodes[0].log.parent.parent
        assert folder.is_dir()
        client = admin(kafka)
        assert set(client.list_topics("misspelt", timeout=10).topics["misspelt"].partitions) == set()
        client.create_topics([NewTopic("three")])["three"].result(20)
        await_true(lambda: partition_count(client, "three") == 3, "three partitions")
        create(kafka, "t")
        produce(kafka, "t", b"one", b"two")
        assert consume(kafka, "t", 2) == [b"one", b"two"]
    assert has_exited(pid)
    assert not folder.exists()
    assert kafka.bootstrap_servers == ""


@pytest.mark.long
def test_data_is_kept_in_the_given_folder(tmp_path: Path) -> None:
    data = tmp_path / "däta, [1]"
    with EmbeddedKafka(data=data) as kafka:
        create(kafka, "t")
        produce(kafka, "t", b"stopped")
    with EmbeddedKafka(data=data) as kafka:
        produce(kafka, "t", b"killed")
        kafka.nodes[0].kill()
    with EmbeddedKafka(data=data) as kafka:
        assert consume(kafka, "t", 2) == [b"stopped", b"killed"]
        with pytest.raises(EmbeddedKafkaError, match=r"Another broker is using the data in .*Stop it first"):
            EmbeddedKafka(data=data).start()


@pytest.mark.long
def test_three_nodes_survive_the_loss_of_one() -> None:
    with EmbeddedKafka(nodes=3) as kafka:
        assert [node.rack for node in kafka.nodes] == ["a", "b", "c"]
        create(kafka, "t")
        produce(kafka, "t", b"1")
        client = admin(kafka)

        def partition() -> tuple[int, set[int]]:
            metadata = client.list_topics("t", timeout=10).topics["t"].partitions[0]
            return metadata.leader, set(metadata.isrs)

        await_true(lambda: partition()[1] == {1, 2, 3}, "three replicas in sync")
        leader = kafka.nodes[partition()[0] - 1]
        leader.kill()
        produce(kafka, "t", b"2")
        assert partition()[0] != leader.id
        leader.restart()
        await_true(lambda: partition()[1] == {1, 2, 3}, "the killed node is in sync again")
        leader.stop()
        produce(kafka, "t", b"3")
        leader.restart()
        assert consume(kafka, "t", 3) == [b"1", b"2", b"3"]


@pytest.mark.long
def test_a_paused_node_is_fenced_and_rejoins() -> None:
    with EmbeddedKafka(nodes=3) as kafka:
        first, paused, _ = kafka.nodes

        def live() -> set[int]:
            state = fetch_cluster_state(first.port)
            return state.nodes if state else set()

        paused.pause()
        await_true(lambda: live() == {1, 3}, "the paused node is fenced")
        paused.resume()
        await_true(lambda: live() == {1, 2, 3}, "the resumed node has rejoined")


@pytest.mark.long
def test_additional_listener() -> None:
    port = free_ports(1)[0]
    properties = {
        "listeners": f"OTHER://127.0.0.1:{port}",
        "advertised.listeners": f"OTHER://127.0.0.1:{port}",
        "listener.security.protocol.map": "OTHER:PLAINTEXT",
    }
    with EmbeddedKafka(properties=properties):
        client = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"})
        assert [broker.port for broker in client.list_topics(timeout=10).brokers.values()] == [port]


@pytest.mark.long
def test_a_setting_that_the_broker_rejects() -> None:
    before = set(Path(tempfile.gettempdir()).glob("kafka_sql-*"))
    with pytest.raises(EmbeddedKafkaError, match=r"Invalid value banana for configuration log.segment.bytes"):
        EmbeddedKafka(nodes=3, properties={"log.segment.bytes": "banana"}).start()
    after = set(Path(tempfile.gettempdir()).glob("kafka_sql-*"))
    assert {folder for folder in after - before if (folder / "node-3").exists()} == set()


def test_a_taken_port() -> None:
    with EmbeddedKafka() as other, pytest.raises(EmbeddedKafkaError, match=r"in use\. Use another port"):
        EmbeddedKafka(port=other.nodes[0].port).start()


@pytest.mark.long
@pytest.mark.parametrize("position", [0, 1], ids=["broker", "controller"])
def test_a_port_that_is_taken_after_it_was_chosen(monkeypatch: pytest.MonkeyPatch, position: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        draws = [free_ports(2), free_ports(2)]
        draws[0][position] = taken.getsockname()[1]
        expected = f"127.0.0.1:{draws[1][0]}"
        monkeypatch.setattr(cluster, "free_ports", lambda count: draws.pop(0))
        with EmbeddedKafka() as kafka:
            assert kafka.bootstrap_servers == expected
    assert draws == []


@pytest.mark.long
def test_a_chosen_port_of_an_additional_listener(monkeypatch: pytest.MonkeyPatch) -> None:
    port, draws = free_ports(1)[0], [free_ports(2), free_ports(2)]
    draws[0][0] = port
    expected = f"127.0.0.1:{draws[1][0]}"
    monkeypatch.setattr(cluster, "free_ports", lambda count: draws.pop(0))
    properties = {"listeners": f"OTHER://127.0.0.1:{port}", "listener.security.protocol.map": "OTHER:PLAINTEXT"}
    with EmbeddedKafka(properties=properties) as kafka:
        assert kafka.bootstrap_servers == expected
    assert draws == []


PARENT = """
import time
from kafka_sql.embedded import EmbeddedKafka
kafka = EmbeddedKafka(nodes=3).start()
pids = [node.pid for node in kafka.nodes]
kafka.nodes[1].kill()
print(*pids, kafka.nodes[0].log.parent.parent, flush=True)
time.sleep(1000)
"""


@pytest.mark.long
def test_brokers_exit_when_their_process_is_killed() -> None:
    with (
        subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent,
        contextlib.ExitStack() as cleanup,
    ):
        cleanup.callback(parent.kill)  # otherwise a failed assertion would wait for the process
        assert parent.stdout is not None
        *pids, folder = parent.stdout.readline().split()
        assert len(pids) == 3
        assert [has_exited(int(pid)) for pid in pids] == [False, True, False]
        parent.send_signal(signal.SIGKILL)
        assert parent.wait() == -signal.SIGKILL
    await_true(lambda: all(has_exited(int(pid)) for pid in pids), "the brokers have exited")
    await_true(lambda: not Path(folder).exists(), "their folder is removed")


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_command_line(number: signal.Signals, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "kafka_sql.embedded",
        "--data",
        str(tmp_path / "d"),
        "--property",
        "num.partitions=2",
    ]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
        contextlib.ExitStack() as cleanup,
    ):
        cleanup.callback(process.kill)  # otherwise a failed assertion would wait for the process
        assert process.stdout is not None
        assert process.stderr is not None
        key, _, value = process.stdout.readline().strip().partition(" = ")
        assert key == "'properties.bootstrap.servers'"
        client = AdminClient({"bootstrap.servers": value.strip("'")})
        client.create_topics([NewTopic("t")])["t"].result(20)
        await_true(lambda: partition_count(client, "t") == 2, "two partitions")
        process.send_signal(number)
        assert process.wait(30) == 0
        assert process.stdout.read() == ""
        assert process.stderr.read().splitlines()[-1].endswith("Press Ctrl-C to stop.")


def test_command_line_reports_a_broker_that_failed() -> None:
    command = [sys.executable, "-m", "kafka_sql.embedded", "--property", "log.segment.bytes=banana"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Invalid value banana" in done.stderr
    assert "Traceback" not in done.stderr
