"""Run one node of the embedded cluster: a broker process that can be stopped, killed, paused and restarted."""

from __future__ import annotations

import contextlib
import select
import signal
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kafka_sql.embedded.jars import KAFKA_VERSION
from kafka_sql.embedded.loopback import HOST
from kafka_sql.embedded.process import WatchedProcess
from kafka_sql.embedded.settings import RACKS
from kafka_sql.errors import EmbeddedKafkaError

START_SECONDS = 120.0
STOP_SECONDS = 10.0
# A Metadata request of version 2, which needs no client library (Kafka's protocol guide, "Metadata API (Key: 3)"):
# size; API key, version, correlation id, null client id, no topics
_METADATA_V2: Final = struct.pack(">ihhihi", 14, 3, 2, 0, -1, 0)
_STOPPED: Final = ("T", "t", "Z", "X")  # states of threads that do not run


class ClusterState(NamedTuple):
    """The cluster id and the ids of the nodes that are up, as a broker reports them."""

    cluster: str | None
    nodes: set[int]


class Node(WatchedProcess):
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
            cluster: cluster id, which distinguishes the broker from another one that has taken its port.
            lock_fd: file descriptor that locks the data; the node's processes inherit it. None if the parent of the
                folder is temporary and must be removed when this process exits.
        """
        super().__init__(f"Node {node}", folder / "broker.log")
        self.id, self.rack, self.port = node, RACKS[node - 1], port
        self._cluster, self._folder, self._command, self._lock_fd = cluster, folder, command, lock_fd

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
        self._launch(self._command, self._folder.parent if self._lock_fd is None else None, self._lock_fd)

    def terminate(self) -> None:
        """Send SIGTERM without waiting. Also works for a paused broker."""
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)

    def sees_nodes(self, expected: set[int]) -> bool:
        """Return whether the broker responds and reports all expected nodes as up."""
        state = fetch_cluster_state(self.port)
        return state is not None and state.cluster == self._cluster and expected <= state.nodes


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


def fetch_cluster_state(port: int, seconds: float = 2.0) -> ClusterState | None:
    """Return the state of the cluster as the broker at a port reports it; None if it does not respond.

    A node is up if it is registered and not fenced. The cluster id shows whether another broker has taken the port.

    Args:
        port: a PLAINTEXT listener on 127.0.0.1.
    """
    try:
        with socket.create_connection((HOST, port), seconds) as connection:
            connection.sendall(_METADATA_V2)
            with connection.makefile("rb") as stream:
                (size,) = struct.unpack(">i", stream.read(4))
                return parse_metadata_response(stream.read(size))
    except (OSError, struct.error):  # refused, reset, or closed within a response: not ready
        return None


def parse_metadata_response(body: bytes) -> ClusterState:
    """Parse a Metadata response of version 2, without its size.

    Raises:
        struct.error: the response is truncated.
    """
    (count,) = struct.unpack_from(">i", body, 4)  # after the correlation id
    offset, nodes = 8, set()
    for _ in range(count):
        (node,) = struct.unpack_from(">i", body, offset)
        _, offset = _string(body, offset + 4)  # host
        _, offset = _string(body, offset + 4)  # port, rack
        nodes.add(node)
    cluster, _ = _string(body, offset)
    return ClusterState(cluster, nodes)


def _string(body: bytes, offset: int) -> tuple[str | None, int]:
    """Return a nullable string and the offset after it."""
    (length,) = struct.unpack_from(">h", body, offset)
    if length < 0:
        return None, offset + 2
    (text,) = struct.unpack_from(f"{length}s", body, offset + 2)
    return text.decode(errors="replace"), offset + 2 + length
