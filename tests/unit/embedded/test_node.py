"""Test how the process of a node starts and ends, with other programs instead of the broker."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kafka_sql.embedded.loopback import free_ports
from kafka_sql.embedded.node import Node, await_ready
from kafka_sql.errors import EmbeddedKafkaError

pytestmark = pytest.mark.large  # each test starts a process


def node(folder: Path, *command: str) -> Node:
    return Node(1, free_ports(1)[0], "cluster", folder, list(command), None)


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_failed_start_reports_the_log_tail(tmp_path: Path) -> None:
    broken = node(tmp_path, "sh", "-c", "printf 'first\n\n\tat a.b.C(D.java:1)\n\t... 9 more\nCaused by: x\n'; exit 1")
    broken.launch()
    with pytest.raises(EmbeddedKafkaError) as caught:
        await_ready([broken], {1})
    broken.wait_for_exit(1)
    assert str(caught.value).endswith("node 1, exited during start-up:\nfirst\nCaused by: x")


def test_an_exited_node_is_detected_while_others_start(tmp_path: Path) -> None:
    folders = [tmp_path / "1", tmp_path / "2"]
    for folder in folders:
        folder.mkdir()
    starting, broken = node(folders[0], "sleep", "100"), node(folders[1], "sh", "-c", "echo broken; exit 1")
    for each in (starting, broken):
        each.launch()
    try:
        with pytest.raises(EmbeddedKafkaError, match="broken"):
            await_ready([starting, broken], {1, 2})
    finally:
        for each in (starting, broken):
            each.kill()


def test_a_node_that_is_never_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_sql.embedded.node.START_SECONDS", 0.1)
    slow = node(tmp_path, "sleep", "100")
    slow.launch()
    try:
        with pytest.raises(EmbeddedKafkaError, match=r"was not ready in time:\n\(no output\)"):
            await_ready([slow], {1})
    finally:
        slow.kill()


def test_a_command_that_cannot_run(tmp_path: Path) -> None:
    broken = node(tmp_path, str(tmp_path / "none"))
    broken.launch()
    with pytest.raises(EmbeddedKafkaError, match="FileNotFoundError"):
        await_ready([broken], {1})
    broken.wait_for_exit(1)


def test_log_tail_is_of_the_last_start(tmp_path: Path) -> None:
    broken = node(tmp_path, "sh", "-c", "echo $$")
    for _ in range(2):
        broken.launch()
        pid = broken.pid
        broken.wait_for_exit(5)
    assert broken.log_tail() == str(pid)
    assert len((tmp_path / "broker.log").read_text().splitlines()) == 2


def test_kill(tmp_path: Path) -> None:
    running = node(tmp_path, "sleep", "100")
    running.launch()
    pid = running.pid
    assert pid is not None
    running.kill()
    assert not exists(pid)
    assert running.pid is None
    running.kill()  # nothing to do


def test_stop_kills_a_process_that_ignores_sigterm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_sql.embedded.node.STOP_SECONDS", 0.2)
    stubborn = node(tmp_path, sys.executable, "-c", "import signal\nsignal.signal(15, signal.SIG_IGN)\nsignal.pause()")
    stubborn.launch()
    pid = stubborn.pid
    assert pid is not None
    stubborn.stop()
    assert not exists(pid)


def test_stop_reaches_a_paused_process(tmp_path: Path) -> None:
    paused = node(tmp_path, "sleep", "100")
    paused.launch()
    paused.pause()
    start = time.monotonic()
    paused.stop()
    assert time.monotonic() - start < 5


PARENT = """
import os, signal, sys, time
from pathlib import Path
from kafka_sql.embedded.node import Node
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it
lock_fd = None if sys.argv[2] == "scratch" else os.open(sys.argv[1], os.O_RDONLY)
node = Node(1, 1, "cluster", Path(sys.argv[1]), ["sleep", "100"], lock_fd)
node.launch()
print(node.pid, flush=True)
time.sleep(100)
"""


@pytest.mark.parametrize("data", ["scratch", "kept"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_node_exits_with_its_parent(tmp_path: Path, data: str, number: signal.Signals) -> None:
    folder = tmp_path / "cluster/node-1"
    folder.mkdir(parents=True)
    command = [sys.executable, "-c", PARENT, str(folder), data]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent, contextlib.ExitStack() as cleanup:
        cleanup.callback(parent.kill)  # otherwise a failed assertion would wait for the process
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert exists(pid)
        parent.send_signal(number)
        assert parent.wait() == -number
    deadline = time.monotonic() + 10
    while exists(pid) or (data == "scratch" and folder.parent.exists()):
        assert time.monotonic() < deadline, f"{pid} or {folder} outlived the parent"
        time.sleep(0.01)
    assert folder.exists() == (data == "kept")


def test_a_signal_between_the_exits_of_broker_and_watchdog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = node(tmp_path, "sleep", "100")
    running.launch()
    pid = running.pid

    def kill(target: int, number: int) -> None:
        assert (target, number) == (pid, signal.SIGTERM)
        raise ProcessLookupError

    with monkeypatch.context() as patch:
        patch.setattr("os.kill", kill)
        running._signal(signal.SIGTERM)
    running.kill()
