"""Help with clusters under fault: find leaders and coordinators, wait for recovery, put a proxy before brokers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from unittest import mock

from confluent_kafka.admin import AdminClient

from kafka_sql.embedded import EmbeddedKafka, Node, cluster, settings
from kafka_sql.embedded.loopback import HOST, free_ports
from kafka_sql.embedded.node import await_ready
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.protocol import transactions
from kafka_sql.kafka.protocol.connection import Connection
from tests.proxy import ProxyNetwork
from tests.waiting import wait_until

FREEZE_SECONDS = 4.0  # longer than the session timeout of a broker, so that its partitions get other leaders
_CONNECT_TIMEOUT = 0.5  # seconds; a connection on this host takes less than a millisecond
_MAX_BACKLOG = 16


def leader_of(kafka: EmbeddedKafka, topic: str, partition: int = 0) -> Node:
    """Return the leader of a partition; wait until there is one."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    nodes: list[Node] = []

    def poll() -> bool:
        metadata = admin.list_topics(topic, timeout=30).topics[topic].partitions.get(partition)
        nodes[:] = [node for node in kafka.nodes if metadata is not None and node.id == metadata.leader]
        return bool(nodes)

    wait_until(poll, f"a leader of {topic}[{partition}]")
    return nodes[0]


def coordinator_of(kafka: EmbeddedKafka, transactional_id: str) -> Node:
    """Return the coordinator of a transactional id, by FindCoordinator."""
    config = to_librdkafka({"bootstrap.servers": kafka.bootstrap_servers})
    nodes: list[Node] = []

    def poll() -> bool:
        for node in kafka.nodes:
            try:
                connection = Connection((HOST, node.port), config)
                coordinators = transactions.find_coordinators(connection, [transactional_id])
                connection.close()
            except OSError:
                continue
            code, (_, port) = coordinators[transactional_id]
            nodes[:] = [n for n in kafka.nodes if not code and n.port == port]
            if nodes:
                return True
        return False

    wait_until(poll, f"the coordinator of '{transactional_id}'")
    return nodes[0]


def wait_for_replicas(kafka: EmbeddedKafka) -> None:
    """Wait until all nodes are up and all replicas are in sync."""
    await_ready(kafka.nodes, {node.id for node in kafka.nodes})
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})

    def poll() -> bool:
        topics = admin.list_topics(timeout=30).topics.values()
        return all(len(p.isrs) == len(p.replicas) and p.leader > 0 for t in topics for p in t.partitions.values())

    wait_until(poll, "all replicas in sync")


def start_all(kafka: EmbeddedKafka) -> None:
    """Start all stopped nodes at once; a quorum needs the majority."""
    for node in kafka.nodes:
        if node.pid is None:
            node.launch()
    wait_for_replicas(kafka)


def roll(kafka: EmbeddedKafka) -> None:
    """Restart all nodes one after another, with a controlled shutdown. Wait each time until replicas are in sync."""
    for node in kafka.nodes:
        node.restart()
        wait_for_replicas(kafka)


@contextmanager
def silent_server() -> Iterator[str]:
    """Yield the address of a server that accepts connections, and never responds."""
    with socket.create_server((HOST, 0)) as server:
        yield f"{HOST}:{server.getsockname()[1]}"


@contextmanager
def black_hole() -> Iterator[str]:
    """Yield an address that drops connection requests, as an unreachable host does: its queue of them is full."""
    with socket.create_server((HOST, 0), backlog=0) as server, ExitStack() as stack:
        address = server.getsockname()
        with suppress(TimeoutError):
            for _ in range(_MAX_BACKLOG):
                stack.enter_context(socket.create_connection(address, _CONNECT_TIMEOUT))
            raise AssertionError("the queue of connections does not fill")
        yield f"{HOST}:{address[1]}"


@contextmanager
def cluster_behind_proxy(nodes: int) -> Iterator[tuple[EmbeddedKafka, str, ProxyNetwork]]:
    """Yield a cluster, the bootstrap servers of a proxy before it, and the proxy."""
    inner, outer = free_ports(nodes), free_ports(nodes)
    original = settings.server_properties

    def with_proxy(
        node: int, ports: list[int], controllers: list[int], properties: settings.Properties
    ) -> dict[str, str]:
        listeners = {
            "listeners": f"FAR://{HOST}:{inner[node - 1]}",
            "advertised.listeners": f"FAR://{HOST}:{outer[node - 1]}",
            "listener.security.protocol.map": "FAR:PLAINTEXT",
        }
        return original(node, ports, controllers, {**properties, **listeners})

    proxy = ProxyNetwork(dict(zip(outer, inner, strict=True)))
    with mock.patch.object(cluster, "server_properties", with_proxy), EmbeddedKafka(nodes) as kafka, proxy as network:
        yield kafka, ",".join(f"{HOST}:{port}" for port in outer), network
