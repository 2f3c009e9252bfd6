"""Create a node's configuration (server.properties) and storage identity (meta.properties)."""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Mapping
from pathlib import Path

from kafka_sql.embedded.loopback import HOST
from kafka_sql.errors import EmbeddedKafkaError

Properties = Mapping[str, str | int | bool]

RACKS = "abc"
# relative to the node's folder: log.dirs is a list, and a comma in an absolute path would split it
_DATA_FOLDER = "data"

_RESERVED = (
    "node.id",
    "process.roles",
    "controller.quorum.voters",
    "controller.listener.names",
    "log.dirs",
    "log.dir",
)
_LISTENER_PROPERTIES = ("listeners", "advertised.listeners", "listener.security.protocol.map")


def server_properties(node: int, ports: list[int], controllers: list[int], overrides: Properties) -> dict[str, str]:
    """Return the properties of a node.

    Args:
        overrides: the caller's properties, which take precedence. Its listeners are added to those of the node.

    Raises:
        EmbeddedKafkaError: a property is managed by the embedded broker, or its name is invalid.
    """
    nodes, port = len(ports), ports[node - 1]
    min_isr = min(nodes, 2)
    settings: dict[str, str | int | bool] = {
        "process.roles": "broker,controller",
        "node.id": node,
        "broker.rack": RACKS[node - 1],
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        "controller.quorum.voters": ",".join(f"{i}@{HOST}:{p}" for i, p in enumerate(controllers, 1)),
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controllers[node - 1]}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": _DATA_FOLDER,
        "auto.create.topics.enable": False,  # a misspelled topic is an error
        "default.replication.factor": nodes,
        "min.insync.replicas": min_isr,
        "offsets.topic.replication.factor": nodes,
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.replication.factor": nodes,
        "transaction.state.log.min.isr": min_isr,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.replication.factor": nodes,
        "share.coordinator.state.topic.min.isr": min_isr,
        # A killed node can rejoin, and its partitions get a new leader, only after its session has expired.
        "broker.session.timeout.ms": 1500,
        "broker.heartbeat.interval.ms": 300,
        "controller.quorum.election.timeout.ms": 500,
        "controller.quorum.fetch.timeout.ms": 1000,
        "replica.lag.time.max.ms": 3000,
        "group.initial.rebalance.delay.ms": 0,
        # for a heap of 256 MB and few cores
        "log.cleaner.dedupe.buffer.size": 2 * 1024 * 1024,
        "log.cleaner.threads": 1,
        "background.threads": 2,
        "num.io.threads": 4,
        "num.network.threads": 2,
    }
    for key, value in overrides.items():
        if key in _RESERVED:
            raise EmbeddedKafkaError(f"Broker property '{key}' is managed by the embedded broker. Remove it.")
        if not re.fullmatch(r"[\w.\-]+", key, re.ASCII):
            raise EmbeddedKafkaError(
                f"Broker property '{key}' is not a valid name. Use ASCII letters, digits, '.', '-' and '_'."
            )
        settings[key] = f"{settings[key]},{value}" if key in _LISTENER_PROPERTIES else value
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in settings.items()}


def properties_text(settings: Mapping[str, str]) -> str:
    """Return the content of a Java properties file (ISO 8859-1 with escapes, for java.util.Properties.load)."""
    return "".join(f"{key}={_escape(value)}\n" for key, value in settings.items())


def _escape(value: str) -> str:
    units = value.encode("utf-16-be", "surrogatepass")
    codes = [int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2)]
    text = "".join(chr(code) if 0x20 <= code < 0x7F and code != 0x5C else f"\\u{code:04x}" for code in codes)
    return "\\" + text if text.startswith(" ") else text


def format_storage(folder: Path, node: int, cluster: str) -> None:
    """Write meta.properties, as ``kafka-storage.sh format`` does."""
    (folder / _DATA_FOLDER).mkdir(exist_ok=True)
    (folder / _DATA_FOLDER / "meta.properties").write_text(
        f"version=1\ncluster.id={cluster}\nnode.id={node}\ndirectory.id={random_uuid()}\n"
    )


def cluster_id(folder: Path) -> str | None:
    """Return the id of the cluster that a node's data belongs to; None if the folder is empty."""
    meta = folder / _DATA_FOLDER / "meta.properties"
    if not meta.exists():
        return None
    match = re.search(r"^cluster\.id=(\S+)$", meta.read_text(), re.MULTILINE)
    if match is None:
        raise EmbeddedKafkaError(
            f"{meta} has no cluster.id: the data of this broker is damaged. Use another folder.", path=str(meta)
        )
    return match[1]


def random_uuid() -> str:
    """Return a random id as Kafka writes it: 16 bytes as URL-safe base64, without a leading dash."""
    text = "-"
    while text.startswith("-"):
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return text
