"""Run one node of the embedded cluster: a broker process that can be stopped, killed, paused and restarted."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from kafka_sql.embedded.jar_lockfile import KAFKA_VERSION
from kafka_sql.embedded.loopback import HOST
from kafka_sql.embedded.protocol_probe import fetch_cluster_state
from kafka_sql.embedded.settings import RACKS
from kafka_sql.errors import EmbeddedKafkaError

START_SECONDS = 120.0
STOP_SECONDS = 10.0
_STOPPED: Final = ("T", "t", "Z", "X")  # states of threads that do not run


class Node:
    """A broker process.

    Attributes:
        id: ``node.id``, from 1.
        rack: ``broker.rack``.
        port: port of its PLAINTEXT listener.
        log: file with its output.
        pid: process id of the JVM; None while it is not running.
    """

    def __init__(
        self, node: int, port: int, cluster: str, folder: Path, command: list[str], lock_fd: int | None
    ) -> None:
        """Create a node without starting it.

        Args:
            node: ``node.id``, from 1.
            port: port of the PLAINTEXT listener.
            cluster: cluster id, which distinguishes the broker from another one that has taken its port.
            folder: working directory with the broker's files.
            command: command line of the broker.
            lock_fd: file descriptor that locks the data; the node's processes inherit it. None if the parent of the
                folder is temporary and must be removed when this process exits.
        """
        self.id, self.rack, self.port = node, RACKS[node - 1], port
        self.log = folder / "broker.log"
        self.pid: int | None = None
        self._cluster, self._folder, self._command, self._lock_fd = cluster, folder, command, lock_fd
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    def __repr__(self) -> str:
        return f"Node({self.id}, rack={self.rack!r}, address={self.address!r}, pid={self.pid})"

    @property
    def address(self) -> str:
        """``host:port`` for ``bootstrap.servers``."""
        return f"{HOST}:{self.port}"

    def restart(self) -> None:
        """Start the broker again, with its port and data, and wait until it is ready. If it is running, stop it first.

        Raises:
            EmbeddedKafkaError: it does not start.
        """
        self.stop()
        self.launch()
        await_ready([self], {self.id})

    def stop(self) -> None:
        """Send SIGTERM and wait: a controlled shutdown, which moves the leaders of its partitions first."""
        self.terminate()
        self.wait_for_exit(STOP_SECONDS)

    def kill(self) -> None:
        """Send SIGKILL and wait."""
        self._signal(signal.SIGKILL)
        self.wait_for_exit(STOP_SECONDS)

    def pause(self) -> None:
        """Send SIGSTOP: connections stay open, but the broker does not respond.

        On Linux, wait until all threads have stopped: on a busy machine, one could still respond after the signal.
        """
        self._signal(signal.SIGSTOP)
        while any(state not in _STOPPED for state in self._thread_states()):
            time.sleep(0.001)

    def _thread_states(self) -> Iterator[str]:
        """Yield the state of each thread: one letter of /proc/PID/stat; none on other systems than Linux."""
        for file in Path(f"/proc/{self.pid}/task").glob("*/stat"):
            with contextlib.suppress(OSError):  # the thread has exited
                yield file.read_text("utf-8", "replace").rpartition(")")[2].split()[0]

    def resume(self) -> None:
        """Send SIGCONT: continue after ``pause``."""
        self._signal(signal.SIGCONT)

    def launch(self) -> None:
        """Start the process without waiting until it is ready."""
        # -I -S: isolate the watchdog from the caller's environment and packages; it starts in 20 ms
        command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("watchdog.py"))]
        command += [str(self._folder.parent) if self._lock_fd is None else "", *self._command]
        with self.log.open("ab") as output:
            self._log_start = output.tell()
            self._watchdog = subprocess.Popen(
                command,
                cwd=self._folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                start_new_session=True,
                pass_fds=() if self._lock_fd is None else (self._lock_fd,),
            )
        assert self._watchdog.stdout is not None
        self.pid = int(self._watchdog.stdout.readline() or 0) or None

    def terminate(self) -> None:
        """Send SIGTERM without waiting. Also works for a paused broker."""
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)

    def wait_for_exit(self, seconds: float) -> None:
        """Wait until the process exits, and kill it after ``seconds``."""
        if self._watchdog is None:
            return
        try:
            self._watchdog.wait(seconds)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._watchdog.wait()
        for pipe in (self._watchdog.stdin, self._watchdog.stdout):
            assert pipe is not None
            pipe.close()
        self._watchdog, self.pid = None, None

    def fileno(self) -> int:
        """Return a file descriptor that becomes readable when the process exits, for ``select``."""
        if self._watchdog is None or self._watchdog.stdout is None:
            raise EmbeddedKafkaError(f"Node {self.id} is not running.")
        return self._watchdog.stdout.fileno()

    def log_tail(self, lines: int = 15) -> str:
        """Return the last lines that the broker printed since its last start, without Java stack frames."""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            text = log.read().decode(errors="replace")
        relevant = [
            line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("at ", "... "))
        ]
        return "\n".join(relevant[-lines:]) or "(no output)"

    def sees_nodes(self, expected: set[int]) -> bool:
        """Return whether the broker responds and reports all expected nodes as up."""
        state = fetch_cluster_state(self.port)
        return state is not None and state.cluster == self._cluster and expected <= state.nodes

    def _signal(self, number: signal.Signals) -> None:
        # The watchdog reaps the broker and exits at once. While the watchdog runs, the process id is either the
        # broker's or, briefly, unused.
        if self._watchdog is not None and self.pid is not None and self._watchdog.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


def await_ready(nodes: Sequence[Node], expected: set[int]) -> None:
    """Wait until all nodes respond and report all expected brokers as up.

    Raises:
        EmbeddedKafkaError: a node exited, or START_SECONDS passed. The message has the last lines of its log.
    """
    deadline = time.monotonic() + START_SECONDS
    waiting = list(nodes)
    while waiting := [node for node in waiting if not node.sees_nodes(expected)]:
        exited, _, _ = select.select(nodes, [], [], 0.03)
        if exited or time.monotonic() > deadline:
            node, problem = (exited[0], "exited during start-up") if exited else (waiting[0], "was not ready in time")
            raise EmbeddedKafkaError(f"Apache Kafka {KAFKA_VERSION}, node {node.id}, {problem}:\n{node.log_tail()}")
