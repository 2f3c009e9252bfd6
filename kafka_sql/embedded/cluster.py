"""Start and stop the embedded Kafka cluster: one node, or three nodes in three racks."""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from kafka_sql.embedded.jars import kafka_jars
from kafka_sql.embedded.java import find_java
from kafka_sql.embedded.loopback import check_port, free_ports
from kafka_sql.embedded.node import STOP_SECONDS, Node, await_ready
from kafka_sql.embedded.settings import (
    Properties,
    cluster_id,
    format_storage,
    properties_text,
    random_uuid,
    server_properties,
)
from kafka_sql.errors import EmbeddedKafkaError

ATTEMPTS = 5  # a free port may be taken by the time the broker binds it

# by another process, or by another listener in the caller's properties
_PORT_TAKEN = ("Address already in use", "two listeners on the same port")
# for a fast start and low memory use
FAST_JVM: Sequence[str] = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class EmbeddedKafka:
    """Apache Kafka on 127.0.0.1 during a ``with`` block, or from start() to stop().

    The brokers exit when this process exits, even by SIGKILL.

    Args:
        nodes: 1, or 3 (racks a, b, c; replication 3, min.insync.replicas 2).
        data: folder for the topics, which is kept and can be used again; by default a temporary folder.
        port: listener port of the first node; the other nodes use the following ports. By default free ports.
        properties: broker settings. ``listeners``, ``advertised.listeners`` and ``listener.security.protocol.map`` are
            appended to the node's own values.
        java_options: options of the nodes' JVMs. The default starts fast and uses little memory. For measurements, use
            server settings: ``["-Xmx1g"]``.

    Attributes:
        nodes: the running nodes. Each Node has pid, rack, stop(), kill(), restart(), pause() and resume().
    """

    def __init__(
        self,
        nodes: int = 1,
        data: str | Path | None = None,
        port: int | None = None,
        properties: Properties | None = None,
        java_options: Sequence[str] | None = None,
    ) -> None:
        if nodes not in (1, 3):
            raise EmbeddedKafkaError(f"The embedded Kafka supports 1 or 3 nodes, not {nodes}.")
        self.nodes: list[Node] = []
        self._count, self._port, self._properties = nodes, port, dict(properties or {})
        self._java_options = FAST_JVM if java_options is None else java_options
        self._data = None if data is None else Path(data).absolute()
        self._folder: Path | None = None
        self._lock_fd: int | None = None

    @property
    def bootstrap_servers(self) -> str:
        """Value of ``properties.bootstrap.servers``; empty if the cluster is not started."""
        return ",".join(node.address for node in self.nodes)

    def start(self) -> EmbeddedKafka:
        """Start all nodes and wait until each of them is ready and sees the others.

        The first start on a machine downloads Apache Kafka (44 MB) into the user's cache.

        Raises:
            EmbeddedKafkaError: no Java, no network, or a setting that the broker rejects (with its log).
        """
        if self.nodes:
            raise EmbeddedKafkaError(f"The embedded Kafka is already running at {self.bootstrap_servers}.")
        java = find_java()
        classpath = os.pathsep.join(str(jar) for jar in kafka_jars(java))
        logging_option = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.xml').as_uri()}"
        command = [java, *self._java_options, logging_option, "-cp", classpath, "kafka.Kafka", "server.properties"]
        attempts = ATTEMPTS if self._port is None else 1
        while True:
            try:
                self._launch(command)
                await_ready(self.nodes, {node.id for node in self.nodes})
                return self
            except BaseException as error:
                self.stop()
                attempts -= 1
                if not attempts or not any(message in str(error) for message in _PORT_TAKEN):
                    raise

    def stop(self) -> None:
        """Stop all nodes and remove a temporary folder. Does nothing if already stopped."""
        for node in self.nodes:
            if self._data is None:
                node.kill()
            else:
                node.terminate()  # all at once: the last node of a quorum would wait for the others
        for node in self.nodes:
            node.wait_for_exit(STOP_SECONDS)
        self.nodes = []
        if self._data is None and self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock_fd is not None:
            os.close(self._lock_fd)
        self._folder, self._lock_fd = None, None

    def wait(self) -> Node:
        """Wait until a node exits, and return it."""
        exited, _, _ = select.select(self.nodes, [], [])
        node: Node = exited[0]
        return node

    def __enter__(self) -> EmbeddedKafka:
        return self.start()

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _launch(self, command: list[str]) -> None:
        available_ports = free_ports(2 * self._count)
        ports, controller_ports = available_ports[: self._count], available_ports[self._count :]
        if self._port is not None:
            ports = [self._port + i for i in range(self._count)]
            for port in ports:
                check_port(port)
        ids = range(1, self._count + 1)
        texts = [properties_text(server_properties(i, ports, controller_ports, self._properties)) for i in ids]
        try:
            if self._data is None:
                self._folder = Path(tempfile.mkdtemp(prefix="kafka_sql-"))
            else:
                self._folder = self._data
                self._lock_fd = _lock_folder(self._data)
            folders = [self._folder / f"node-{i}" for i in ids]
            cluster = self._cluster_id(folders)
            for i, folder, text in zip(ids, folders, texts, strict=True):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # the properties may contain passwords
                if cluster_id(folder) is None:
                    format_storage(folder, i, cluster)
                (folder / "server.properties").write_text(text)
                self.nodes.append(Node(i, ports[i - 1], cluster, folder, command, self._lock_fd))
        except OSError as error:
            raise EmbeddedKafkaError(f"The broker's data cannot be stored: {error}. Use another folder.") from error
        for node in self.nodes:
            node.launch()

    def _cluster_id(self, folders: list[Path]) -> str:
        """Return the id of the cluster whose data is in the folders; a new id if they are empty."""
        assert self._folder is not None
        meta_files = sorted(self._folder.glob("node-*/data/meta.properties"))
        if meta_files and [path.parent.parent for path in meta_files] != folders:
            raise EmbeddedKafkaError(
                f"{self._folder} has the data of {len(meta_files)} nodes, but {self._count} were requested. "
                f"Set nodes={len(meta_files)}, or use another folder.",
                path=str(self._folder),
            )
        return (cluster_id(folders[0]) if meta_files else None) or random_uuid()


def _lock_folder(folder: Path) -> int:
    """Lock the folder (a file lock), and create it if it is missing. Return the file descriptor that holds the lock.

    Kafka has its own lock, but writes to the metadata log before checking it. The nodes' watchdogs inherit the
    descriptor, so the lock is held until the brokers of a killed process have exited.
    """
    folder.mkdir(parents=True, exist_ok=True)
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(fd)
        raise EmbeddedKafkaError(
            f"Another broker is using the data in {folder}. Stop it first.", path=str(folder)
        ) from error
    return fd
