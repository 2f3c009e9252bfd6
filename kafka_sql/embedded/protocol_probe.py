"""Send a Metadata request to learn whether a broker is ready.

This needs no client library: a Metadata request of version 2 has 18 bytes.
Source: the protocol guide of Apache Kafka, "Metadata API (Key: 3)".
"""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

from kafka_sql.embedded.loopback import HOST

# size; API key, version, correlation id, null client id, no topics
_METADATA_V2 = struct.pack(">ihhihi", 14, 3, 2, 0, -1, 0)


class ClusterState(NamedTuple):
    """The cluster id and the ids of the nodes that are up, as a broker reports them."""

    cluster: str | None
    nodes: set[int]


def fetch_cluster_state(port: int, timeout: float = 2.0) -> ClusterState | None:
    """Return the state of the cluster as the broker at a port reports it; None if it does not respond.

    A node is up if it is registered and not fenced. The cluster id shows whether another broker has taken the port.

    Args:
        port: a PLAINTEXT listener on 127.0.0.1.
        timeout: seconds for each socket operation.
    """
    try:
        with socket.create_connection((HOST, port), timeout) as connection:
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
