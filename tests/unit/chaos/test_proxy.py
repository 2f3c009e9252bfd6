"""Test the proxy that simulates network faults."""

from __future__ import annotations

import socket
import socketserver
import threading
import time
from collections.abc import Iterator

import pytest

from kafka_sql.embedded.loopback import HOST, free_ports
from tests.proxy import ProxyNetwork

pytestmark = pytest.mark.large  # waits for timeouts


class Echo(socketserver.BaseRequestHandler):
    """Echoes data."""

    def handle(self) -> None:
        while data := self.request.recv(65_536):
            self.request.sendall(data)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


@pytest.fixture
def proxy() -> Iterator[tuple[int, ProxyNetwork]]:
    """Yield the port of a proxy before an echo server, and the proxy."""
    (port,) = free_ports(1)
    with Server((HOST, 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with ProxyNetwork({port: server.server_address[1]}) as network:
            yield port, network
        server.shutdown()
        thread.join()


def ask(connection: socket.socket, data: bytes) -> bytes:
    connection.sendall(data)
    return read(connection, len(data))


def read(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = connection.recv(size - len(received))
        if not part:
            raise ConnectionResetError
        received += part
    return received


def test_data_is_not_changed(proxy: tuple[int, ProxyNetwork]) -> None:
    data = bytes(range(256)) * 4_000
    with (
        socket.create_connection((HOST, proxy[0]), 60) as first,
        socket.create_connection((HOST, proxy[0]), 60) as second,
    ):
        for connection in (first, second):
            threading.Thread(target=connection.sendall, args=(data,), daemon=True).start()
        assert (read(first, len(data)), read(second, len(data))) == (data, data)


def test_cut_resets_open_and_new_connections(proxy: tuple[int, ProxyNetwork]) -> None:
    port, network = proxy
    with socket.create_connection((HOST, port), 60) as connection:
        assert ask(connection, b"a") == b"a"
        network.cut()
        with pytest.raises(ConnectionError):
            ask(connection, b"b")
    with socket.create_connection((HOST, port), 60) as connection, pytest.raises(ConnectionError):
        ask(connection, b"b")
    network.restore()
    with socket.create_connection((HOST, port), 60) as connection:
        assert ask(connection, b"c") == b"c"


def test_stalled_data_arrives_later(proxy: tuple[int, ProxyNetwork]) -> None:
    port, network = proxy
    with socket.create_connection((HOST, port), 60) as connection:
        assert ask(connection, b"a") == b"a"
        network.stall()
        connection.sendall(b"b")
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        network.restore()
        connection.settimeout(60)
        assert read(connection, 1) == b"b"


def test_dropped_connections_stay_silent_and_new_ones_work(proxy: tuple[int, ProxyNetwork]) -> None:
    port, network = proxy
    with socket.create_connection((HOST, port), 60) as connection, socket.create_connection((HOST, port), 60) as other:
        assert ask(connection, b"a") == ask(other, b"a") == b"a"
        network.drop_connections()
        network.restore()
        connection.sendall(b"b")
        with socket.create_connection((HOST, port), 60) as third:
            assert ask(third, b"c") == b"c"
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(1)


def test_delay_and_bandwidth_limit(proxy: tuple[int, ProxyNetwork]) -> None:
    port, network = proxy
    with socket.create_connection((HOST, port), 60) as connection:
        network.delay(0.1)
        started = time.monotonic()
        assert ask(connection, b"a") == b"a"
        assert time.monotonic() - started >= 0.19  # there and back
        network.restore()
        network.limit(100_000)
        started = time.monotonic()
        assert len(ask(connection, b"x" * 10_000)) == 10_000
        assert time.monotonic() - started >= 0.19
