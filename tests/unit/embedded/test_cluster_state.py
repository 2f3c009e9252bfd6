"""Test how a broker is probed with a Metadata request."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.embedded.loopback import free_ports
from kafka_sql.embedded.node import ClusterState, fetch_cluster_state, parse_metadata_response


def nullable(text: str | None) -> bytes:
    return struct.pack(">h", -1) if text is None else struct.pack(">h", len(text.encode())) + text.encode()


def metadata(cluster: str | None, brokers: list[tuple[int, str, int, str | None]]) -> bytes:
    """Return a Metadata response of version 2 without topics, according to the protocol guide."""
    body = struct.pack(">ii", 0, len(brokers))
    for node, host, port, rack in brokers:
        body += struct.pack(">i", node) + nullable(host) + struct.pack(">i", port) + nullable(rack)
    return body + nullable(cluster) + struct.pack(">ii", brokers[0][0] if brokers else -1, 0)


broker = st.tuples(
    st.integers(0, 2**31 - 1), st.text(max_size=20), st.integers(0, 65535), st.none() | st.text(max_size=5)
)


@given(st.none() | st.text(max_size=22), st.lists(broker, max_size=4, unique_by=lambda entry: entry[0]))
def test_parse_metadata_response(cluster: str | None, brokers: list[tuple[int, str, int, str | None]]) -> None:
    assert parse_metadata_response(metadata(cluster, brokers)) == ClusterState(cluster, {entry[0] for entry in brokers})


def test_a_truncated_response() -> None:
    complete = metadata("c", [(1, "127.0.0.1", 9092, "a")])
    for end in range(len(complete) - 8):  # the controller and the topics, 8 bytes, are not read
        with pytest.raises(struct.error):
            parse_metadata_response(complete[:end])


@contextmanager
def server(reply: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """Accept one connection, record the request, send the reply and close. Yield the port and the request."""
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                requests.append(connection.recv(100))
                connection.sendall(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1], requests
        thread.join()


def test_fetch_cluster_state() -> None:
    body = metadata("cluster", [(1, "127.0.0.1", 9092, "a"), (3, "127.0.0.1", 9094, None)])
    with server(struct.pack(">i", len(body)) + body) as (port, requests):
        assert fetch_cluster_state(port) == ClusterState("cluster", {1, 3})
    # size 14: Metadata (3), version 2, correlation 0, client id null, no topics
    assert requests == [bytes.fromhex("0000000e 0003 0002 00000000 ffff 00000000")]


@pytest.mark.parametrize("reply", [b"", b"\0\0", b"\0\0\0\x20\0\0", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_a_server_that_is_not_a_broker(reply: bytes) -> None:
    with server(reply) as (port, _):
        assert fetch_cluster_state(port) is None


def test_a_closed_port() -> None:
    assert fetch_cluster_state(free_ports(1)[0]) is None
