"""As much of Kafka's protocol as it takes to ask a broker whether it is ready, and free TCP ports.

Asking needs no client library: a Metadata request, version 2, is 18 bytes.
Source: the protocol guide of Apache Kafka, "Metadata API (Key: 3)".
"""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import NamedTuple

HOST = "127.0.0.1"

# Size; key, version, correlation id, no client id, no topic.
_METADATA_V2 = struct.pack(">ihhihi", 14, 3, 2, 0, -1, 0)


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that are free at this moment, all different."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.create_server((HOST, 0))) for _ in range(count)]
        return [taken.getsockname()[1] for taken in sockets]


class ClusterState(NamedTuple):
    """What a broker says of its cluster: the cluster's id, and the ids of the nodes that are up."""

    cluster: str | None
    nodes: set[int]


def fetch_cluster_state(port: int, timeout: float = 2.0) -> ClusterState | None:
    """What the broker at the port answers; None while it does not.

    A node is up when it is registered and not fenced. The cluster's id tells a broker from another that took its
    port.

    Args:
        port: of a PLAINTEXT listener on 127.0.0.1.
        timeout: seconds, for each step.
    """
    try:
        with socket.create_connection((HOST, port), timeout) as connection:
            connection.sendall(_METADATA_V2)
            with connection.makefile("rb") as stream:
                (size,) = struct.unpack(">i", stream.read(4))
                return parse_metadata_response(stream.read(size))
    except (OSError, struct.error):  # refused, reset, or closed in the middle of an answer: not ready
        return None


def parse_metadata_response(body: bytes) -> ClusterState:
    """A Metadata response, version 2, without its size.

    Raises:
        struct.error: it ends early.
    """
    (count,) = struct.unpack_from(">i", body, 4)  # behind the correlation id
    at, nodes = 8, set()
    for _ in range(count):
        (node,) = struct.unpack_from(">i", body, at)
        _, at = _string(body, at + 4)  # host
        _, at = _string(body, at + 4)  # port, rack
        nodes.add(node)
    cluster, _ = _string(body, at)
    return ClusterState(cluster, nodes)


def _string(body: bytes, at: int) -> tuple[str | None, int]:
    """A nullable string and the position behind it."""
    (length,) = struct.unpack_from(">h", body, at)
    if length < 0:
        return None, at + 2
    (text,) = struct.unpack_from(f"{length}s", body, at + 2)
    return text.decode(errors="replace"), at + 2 + length
