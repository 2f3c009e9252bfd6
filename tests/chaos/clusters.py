"""Clusters to break: which node leads or coordinates what, when all are well again, and a network before them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

from confluent_kafka.admin import AdminClient

from kafka_sql.embedded import EmbeddedKafka, Node, cluster, settings
from kafka_sql.embedded.node import await_ready
from kafka_sql.embedded.protocol_probe import HOST, free_ports
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.protocol import transactions
from kafka_sql.kafka.protocol.connection import Connection
from tests.proxy import Network

TIMEOUT = 240.0  # seconds, for what takes a few
_PAUSE = 0.1


def wait_until(there: Callable[[], object], what: str, patience: float = TIMEOUT) -> None:
    """Wait for something that tells nobody.

    Raises:
        AssertionError: it did not come.
    """
    deadline = time.monotonic() + patience
    while not there():
        assert time.monotonic() < deadline, f"{what}: not within {patience:g} s"
        time.sleep(_PAUSE)


def leader_of(kafka: EmbeddedKafka, topic: str, partition: int = 0) -> Node:
    """The node that leads a partition; waits until there is one."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    found: list[Node] = []

    def look() -> bool:
        described = admin.list_topics(topic, timeout=30).topics[topic].partitions.get(partition)
        found[:] = [node for node in kafka.nodes if described is not None and node.id == described.leader]
        return bool(found)

    wait_until(look, f"a leader of {topic}[{partition}]")
    return found[0]


def coordinator_of(kafka: EmbeddedKafka, transactional_id: str) -> Node:
    """The node that coordinates a transactional id, by FindCoordinator."""
    config = to_librdkafka({"bootstrap.servers": kafka.bootstrap_servers})
    found: list[Node] = []

    def look() -> bool:
        for node in kafka.nodes:
            try:
                connection = Connection((HOST, node.port), config)
                answer = transactions.read_coordinators(connection.ask(transactions.coordinators([transactional_id])))
                connection.close()
            except OSError:
                continue
            code, (_, port) = answer[transactional_id]
            found[:] = [one for one in kafka.nodes if not code and one.port == port]
            if found:
                return True
        return False

    wait_until(look, f"the coordinator of '{transactional_id}'")
    return found[0]


def wait_for_replicas(kafka: EmbeddedKafka) -> None:
    """Return when all nodes are up and each replica of each partition is in sync."""
    await_ready(kafka.nodes, {node.id for node in kafka.nodes})
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})

    def look() -> bool:
        known = admin.list_topics(timeout=30).topics.values()
        return all(len(p.isrs) == len(p.replicas) and p.leader > 0 for t in known for p in t.partitions.values())

    wait_until(look, "all replicas in sync")


def start_all(kafka: EmbeddedKafka) -> None:
    """Start the nodes that are down, all at once: a quorum needs most of them."""
    for node in kafka.nodes:
        if node.pid is None:
            node.launch()
    wait_for_replicas(kafka)


@contextmanager
def cluster_behind_proxy(nodes: int) -> Iterator[tuple[EmbeddedKafka, str, Network]]:
    """A cluster, the bootstrap servers by which clients go over a network, and that network."""
    inner, outer = free_ports(nodes), free_ports(nodes)
    original = settings.server_properties

    def own(node: int, ports: list[int], controllers: list[int], given: settings.Properties) -> dict[str, str]:
        more = {
            "listeners": f"FAR://{HOST}:{inner[node - 1]}",
            "advertised.listeners": f"FAR://{HOST}:{outer[node - 1]}",
            "listener.security.protocol.map": "FAR:PLAINTEXT",
        }
        return original(node, ports, controllers, {**given, **more})

    ways = Network(dict(zip(outer, inner, strict=True)))
    with mock.patch.object(cluster, "server_properties", own), EmbeddedKafka(nodes) as kafka, ways as network:
        yield kafka, ",".join(f"{HOST}:{port}" for port in outer), network
