"""Describe how each part was set up: the client of each peer, the compression, and the modes of Spark and Flink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks import engines, real_time
from benchmarks.floor import FLOOR, client_config
from benchmarks.peers.environments import BYTEWAX, PATHWAY, QUIX
from benchmarks.peers.launch import FLINK, OURS, SPARK
from kafka_sql.kafka.client_choice import choose_reader, choose_writer
from kafka_sql.options.connector import AUTO, DIRECT

JAVA: Final = "Java's client"
_CLIENTS: Final = {
    SPARK: JAVA,
    FLINK: JAVA,
    PATHWAY: "librdkafka (rust-rdkafka)",
    QUIX: "librdkafka (confluent-kafka)",
    BYTEWAX: "librdkafka (confluent-kafka)",
    FLOOR: "librdkafka (confluent-kafka)",
}
_NONE: Final = "none"
_BY_ROW: Final = "none, or as named in the row"
_BATCH: Final = "batch, `local[2]`"
_FLINK_BATCH: Final = "batch, parallelism 2"
_FLINK_STREAMING: Final = "streaming, parallelism 2"
_MICRO_BATCHES: Final = "micro-batches"


@dataclass(frozen=True)
class Setup:
    """How a part was set up.

    Attributes:
        spark: Spark's mode, for this project and Spark's connector; empty without Spark.
        flink: Flink's mode.
        compression: of the topics.
        clients: exceptions from the peers' usual clients, by peer.
    """

    spark: str
    flink: str = ""
    compression: str = _NONE
    clients: tuple[tuple[str, str], ...] = ()


SETUPS: Final = {
    "read": Setup(_BATCH, _FLINK_BATCH, _BY_ROW),
    "sizes": Setup(_BATCH, _FLINK_BATCH),
    "cores": Setup("batch, `local[1]`", "batch, parallelism 1"),
    "write": Setup(_BATCH, _FLINK_BATCH, _BY_ROW),
    "start": Setup(_BATCH, _FLINK_BATCH),
    "latency": Setup(f"{_MICRO_BATCHES}, `foreachBatch`, `local[2]`"),
    real_time.GROUP: Setup(
        f"as named in the row, `local[{real_time.CORES}]`",
        clients=((OURS, f"{JAVA} in real-time mode, {{ours}} in micro-batches"),),
    ),
    "stream": Setup(f"{_MICRO_BATCHES}, Trigger.AvailableNow, `local[2]`", _FLINK_STREAMING),
    engines.GROUP: Setup(f"batch in the row 'read', {_MICRO_BATCHES} in the others, `local[2]`"),
    "changelogs": Setup(f"{_MICRO_BATCHES}, `local[2]`", _FLINK_STREAMING),
    "changelog-keys": Setup(f"batch and {_MICRO_BATCHES}, `local[2]`"),
    "floor": Setup(""),
    "growth": Setup(_BATCH),
    "unused": Setup(_BATCH),
    "stages": Setup(_BATCH, clients=((OURS, "{ours}, or as named in the row"),)),
}


def describe_setup(group: str, peers: Sequence[str]) -> str:
    """Return a paragraph for the table of a part, or an empty string if nothing is known about the part."""
    if (setup := SETUPS.get(group)) is None:
        return ""
    exceptions = dict(setup.clients)
    peers_of: dict[str, list[str]] = {}
    for peer in peers:
        client = exceptions.get(peer, "{ours}" if peer == OURS else _CLIENTS.get(peer, ""))
        peers_of.setdefault(client.format(ours=our_client()), []).append(peer)
    clients = [f"{client} ({', '.join(names)})" for client, names in peers_of.items() if client]
    parts = [f"Clients: {'; '.join(clients)}"]
    parts.append(f"Compression: {setup.compression}")
    if setup.spark:
        parts.append(f"Spark: {setup.spark}")
    if setup.flink and FLINK in peers:
        parts.append(f"Flink: {setup.flink}")
    return ". ".join(parts) + "."


def our_client() -> str:
    """Return the client that this project's tables of the benchmark are read and written with."""
    config = client_config("localhost:9092")
    reader, writer = choose_reader(AUTO, config), choose_writer(AUTO, config)
    names = {
        choice.client: "the direct client" if choice.client == DIRECT else "librdkafka" for choice in (reader, writer)
    }
    return " and ".join(names.values())
