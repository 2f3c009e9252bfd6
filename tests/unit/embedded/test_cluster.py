"""Test how the embedded cluster checks its arguments and its data, without brokers."""

import os
import socket
from pathlib import Path

import pytest

from kafka_sql.embedded import EmbeddedKafka, Node
from kafka_sql.embedded.__main__ import main
from kafka_sql.embedded.cluster import _lock_folder
from kafka_sql.embedded.loopback import free_ports
from kafka_sql.embedded.settings import format_storage
from kafka_sql.errors import EmbeddedKafkaError


def test_one_or_three_nodes() -> None:
    with pytest.raises(EmbeddedKafkaError, match="supports 1 or 3 nodes, not 2"):
        EmbeddedKafka(nodes=2)


@pytest.fixture
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Download nothing, and fail if a broker is started."""

    def launch(self: object) -> None:
        raise AssertionError("a broker was started")

    monkeypatch.setattr("kafka_sql.embedded.cluster.find_java", lambda: "java")
    monkeypatch.setattr("kafka_sql.embedded.cluster.kafka_jars", lambda java: [Path("a.jar")])
    monkeypatch.setattr("kafka_sql.embedded.node.Node.launch", launch)


@pytest.mark.usefixtures("no_broker")
@pytest.mark.parametrize(("stored_nodes", "nodes"), [(1, 3), (3, 1)])
def test_data_of_a_different_number_of_nodes(tmp_path: Path, stored_nodes: int, nodes: int) -> None:
    for i in range(1, stored_nodes + 1):
        (tmp_path / f"node-{i}").mkdir()
        format_storage(tmp_path / f"node-{i}", i, "cluster")
    message = f"data of {stored_nodes} nodes, but {nodes} were requested. Set nodes"
    with pytest.raises(EmbeddedKafkaError, match=message):
        EmbeddedKafka(nodes, data=tmp_path).start()


@pytest.mark.usefixtures("no_broker")
def test_data_that_cannot_be_stored(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EmbeddedKafkaError, match=r"broker's data cannot be stored: .*Use another folder"):
        EmbeddedKafka(data=tmp_path / "file").start()


def test_the_file_lock_is_held_until_the_watchdog_exits(tmp_path: Path) -> None:
    lock_fd = _lock_folder(tmp_path)
    node = Node(1, free_ports(1)[0], "cluster", tmp_path, ["sleep", "100"], lock_fd)
    node.launch()
    os.close(lock_fd)  # as if this process had exited
    with pytest.raises(EmbeddedKafkaError, match="Another broker is using the data in"):
        _lock_folder(tmp_path)
    node.kill()
    os.close(_lock_folder(tmp_path))


@pytest.mark.parametrize("arguments", [["--nodes", "2"], ["--property", "a"], ["--property", "=a"], ["--port", "x"]])
def test_invalid_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert f"argument {arguments[0]}: " in capsys.readouterr().err


@pytest.mark.usefixtures("no_broker")
def test_a_port_that_another_program_uses(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert main(["--port", str(port)]) == 1
    message = capsys.readouterr().err
    assert message.startswith(f"[EMBEDDED_KAFKA] Port {port} of 127.0.0.1 cannot be used: Address already in use. Use ")


@pytest.mark.usefixtures("no_broker")
@pytest.mark.parametrize("port", [-1, 0, 65_536])
def test_a_port_that_does_not_exist(port: int) -> None:
    with pytest.raises(EmbeddedKafkaError, match=f"There is no port {port}. Use one from 1024 to 65535"):
        EmbeddedKafka(port=port).start()
