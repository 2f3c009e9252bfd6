"""The embedded cluster: one node, or three in three racks."""

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
from kafka_sql.embedded.node import STOP_SECONDS, Node, await_ready
from kafka_sql.embedded.protocol_probe import free_ports
from kafka_sql.embedded.settings import (
    Properties,
    cluster_id,
    format_storage,
    properties_text,
    random_uuid,
    server_properties,
)
from kafka_sql.errors import EmbeddedKafkaError

ATTEMPTS = 5  # a port that was free may be taken when the broker, a second later, wants it

# by another process, or by a listener of the given properties
_PORT_TAKEN = ("Address already in use", "two listeners on the same port")
_JVM = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")  # for a quick start and little memory


class EmbeddedKafka:
    """Apache Kafka on 127.0.0.1 for the length of a ``with`` block, or from start() to stop().

    It ends with its process, however that ends; SIGKILL included.

    Args:
        nodes: 1, or 3 (racks a, b, c; replication 3, min.insync.replicas 2).
        data: a folder for the topics, which is kept and can be started again; by default a temporary one.
        port: of the first node's listener, the others following; by default whatever is free.
        properties: broker settings, in Kafka's own names. ``listeners``, ``advertised.listeners`` and
            ``listener.security.protocol.map`` are added to those of the broker itself.
        java_options: of the nodes' JVMs; by default such that they start quickly and take little memory. What is to be
            measured is measured with a server's: ``["-Xmx1g"]``.

    Attributes:
        nodes: the running nodes, each a Node with pid, rack, stop(), kill(), restart(), pause(), resume().
    """

    def __init__(
        self,
        nodes: int = 1,
        data: str | Path | None = None,
        port: int | None = None,
        properties: Properties | None = None,
        java_options: Sequence[str] = _JVM,
    ) -> None:
        if nodes not in (1, 3):
            raise EmbeddedKafkaError(f"The embedded Kafka has 1 or 3 nodes, not {nodes}.")
        self.nodes: list[Node] = []
        self._count, self._port, self._properties = nodes, port, dict(properties or {})
        self._java_options = java_options
        self._data = None if data is None else Path(data).absolute()
        self._folder: Path | None = None
        self._lock_fd: int | None = None

    @property
    def bootstrap_servers(self) -> str:
        """The value of ``properties.bootstrap.servers``; empty when the cluster is not started."""
        return ",".join(node.address for node in self.nodes)

    def start(self) -> EmbeddedKafka:
        """Starts all nodes and returns when every one of them serves and knows of the others.

        The first start on a machine downloads Apache Kafka (44 MB) into the user's cache.

        Raises:
            EmbeddedKafkaError: no Java, no network, a setting that the broker refuses (with its own words).
        """
        if self.nodes:
            raise EmbeddedKafkaError(f"The embedded Kafka runs already, at {self.bootstrap_servers}.")
        java = find_java()
        classpath = os.pathsep.join(str(jar) for jar in kafka_jars(java))
        logging = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.xml').as_uri()}"
        command = [java, *self._java_options, logging, "-cp", classpath, "kafka.Kafka", "server.properties"]
        attempts = ATTEMPTS if self._port is None else 1
        while True:
            try:
                self._launch(command)
                await_ready(self.nodes, {node.id for node in self.nodes})
                return self
            except BaseException as error:
                self.stop()
                attempts -= 1
                if not attempts or not any(words in str(error) for words in _PORT_TAKEN):
                    raise

    def stop(self) -> None:
        """Ends all nodes; a temporary folder is removed. Nothing happens when it is stopped already."""
        for node in self.nodes:
            if self._data is None:
                node.kill()
            else:
                node.terminate()  # all at once: the last node of a quorum would wait for the others in vain
        for node in self.nodes:
            node.wait_for_exit(STOP_SECONDS)
        self.nodes = []
        if self._data is None and self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock_fd is not None:
            os.close(self._lock_fd)
        self._folder, self._lock_fd = None, None

    def wait(self) -> Node:
        """Blocks until a node ends, and returns it."""
        ended, _, _ = select.select(self.nodes, [], [])
        node: Node = ended[0]
        return node

    def __enter__(self) -> EmbeddedKafka:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _launch(self, command: list[str]) -> None:
        free = free_ports(2 * self._count)
        ports = free[: self._count] if self._port is None else [self._port + i for i in range(self._count)]
        ids = range(1, self._count + 1)
        files = [properties_text(server_properties(i, ports, free[self._count :], self._properties)) for i in ids]
        try:
            if self._data is None:
                self._folder = Path(tempfile.mkdtemp(prefix="kafka_sql-"))
            else:
                self._folder = self._data
                self._lock_fd = _lock_folder(self._data)
            folders = [self._folder / f"node-{i}" for i in ids]
            cluster = self._cluster(folders)
            for i, folder, text in zip(ids, folders, files, strict=True):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # the properties may have passwords in them
                if cluster_id(folder) is None:
                    format_storage(folder, i, cluster)
                (folder / "server.properties").write_text(text)
                self.nodes.append(Node(i, ports[i - 1], cluster, folder, command, self._lock_fd))
        except OSError as error:
            raise EmbeddedKafkaError(f"The broker's data cannot be stored: {error}. Take another folder.") from error
        for node in self.nodes:
            node.launch()

    def _cluster(self, folders: list[Path]) -> str:
        """The id of the cluster whose data the folders have; a new one where they have none."""
        assert self._folder is not None
        stored = sorted(self._folder.glob("node-*/data/meta.properties"))
        if stored and [path.parent.parent for path in stored] != folders:
            raise EmbeddedKafkaError(
                f"{self._folder} has the data of {len(stored)} nodes, and {self._count} were asked for. "
                f"Start it with nodes={len(stored)} or take another folder."
            )
        return (cluster_id(folders[0]) if stored else None) or random_uuid()


def _lock_folder(folder: Path) -> int:
    """Locks the folder, which is made where it is not there; the file descriptor holds the lock.

    Kafka has a lock of its own, but writes to the metadata log before it looks at it. The nodes' watchdogs keep this
    one open, so it also holds while the brokers of a process that was killed are ending.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(lock)
        raise EmbeddedKafkaError(f"Another broker is running on the data in {folder}. End it first.") from error
    return lock
