"""One node of the embedded cluster: a broker process to stop, kill, pause and start again."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from kafka_sql.embedded.jar_lockfile import VERSION
from kafka_sql.embedded.protocol_probe import HOST, fetch_cluster_state
from kafka_sql.embedded.settings import RACKS
from kafka_sql.errors import EmbeddedKafkaError

START_SECONDS = 120.0
STOP_SECONDS = 10.0


class Node:
    """A broker.

    Attributes:
        id: ``node.id``, from 1.
        rack: ``broker.rack``.
        port: of its PLAINTEXT listener.
        log: what it prints.
        pid: of the Java process; None while there is none.
    """

    def __init__(
        self, node: int, port: int, cluster: str, folder: Path, command: list[str], lock_fd: int | None
    ) -> None:
        """A node that is not running yet.

        Args:
            cluster: id of the cluster, by which the broker is told from one that has taken its port.
            folder: where it runs; has the broker's files.
            command: runs the broker.
            lock: file descriptor by which the data is locked, which the node's processes keep open;
                None where the folder's parent is temporary and to be removed when this process dies.
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
        """Starts the broker again, on its port and its data, and waits until it serves; ends a running one.

        Raises:
            EmbeddedKafkaError: it does not come up.
        """
        self.stop()
        self.launch()
        await_ready([self], {self.id})

    def stop(self) -> None:
        """SIGTERM, a controlled shutdown: it hands its partitions over first. Waits for the end."""
        self.terminate()
        self.wait_for_exit(STOP_SECONDS)

    def kill(self) -> None:
        """SIGKILL, and waits for the end."""
        self._signal(signal.SIGKILL)
        self.wait_for_exit(STOP_SECONDS)

    def pause(self) -> None:
        """SIGSTOP: its connections stay open, and nothing answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)

    def launch(self) -> None:
        """Starts the process and returns at once."""
        # -I -S: nothing of the caller's environment or packages gets into the watchdog, which is up in 20 ms.
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
        """SIGTERM, without waiting; a paused broker hears it too."""
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)

    def wait_for_exit(self, seconds: float) -> None:
        """Waits for the end, kills after `seconds`, and lets go of the process."""
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
        """A file that becomes readable when the process ends, for ``select``."""
        if self._watchdog is None or self._watchdog.stdout is None:
            raise EmbeddedKafkaError(f"Node {self.id} does not run.")
        return self._watchdog.stdout.fileno()

    def log_tail(self, lines: int = 15) -> str:
        """The end of what the broker printed since its last start, without Java's stack frames."""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            text = log.read().decode(errors="replace")
        told = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("at ", "... "))]
        return "\n".join(told[-lines:]) or "(it printed nothing)"

    def sees_nodes(self, expected: set[int]) -> bool:
        """Whether it answers and knows all the expected nodes to be up."""
        answer = fetch_cluster_state(self.port)
        return answer is not None and answer.cluster == self._cluster and expected <= answer.nodes

    def _signal(self, number: signal.Signals) -> None:
        # The watchdog reaps the broker and ends at once: while it runs, the process id is the broker's or, for
        # that moment, nobody's.
        if self._watchdog is not None and self.pid is not None and self._watchdog.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


def await_ready(nodes: Sequence[Node], expected: set[int]) -> None:
    """Waits until every one of the nodes answers and knows all expected brokers to be up.

    Raises:
        EmbeddedKafkaError: one of them ended, or START_SECONDS passed; with the broker's own last lines.
    """
    deadline = time.monotonic() + START_SECONDS
    waiting = list(nodes)
    while waiting := [node for node in waiting if not node.sees_nodes(expected)]:
        ended, _, _ = select.select(nodes, [], [], 0.03)
        late = time.monotonic() > deadline
        if ended or late:
            node, fault = (ended[0], "ended at its start") if ended else (waiting[0], "was not ready in time")
            raise EmbeddedKafkaError(f"Apache Kafka {VERSION}, node {node.id}, {fault}:\n{node.log_tail()}")
