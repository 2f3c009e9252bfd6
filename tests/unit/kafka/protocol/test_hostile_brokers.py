"""Brokers that hang or send oversized or malformed responses: an error within the timeout."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress

import pytest

from kafka_sql.errors import BrokerError, BrokerUnreachableError
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.librdkafka import producer_clients
from kafka_sql.kafka.protocol.codec import MalformedResponse, Reader, uvarint
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.sasl import sasl_exchange
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin

Serve = Callable[[socket.socket, threading.Event], None]


@contextmanager
def server(serve: Serve) -> Iterator[tuple[str, int]]:
    """Run a server that handles each connection with ``serve``. The event that ``serve`` gets is set at the end."""
    stopped = threading.Event()

    def handle(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            serve(connection, stopped)

    def run() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=handle, args=(listening.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=run, daemon=True).start()
        yield listening.getsockname()[:2]
        stopped.set()


def config(address: tuple[str, int], **more: str) -> dict[str, str]:
    properties = {
        "bootstrap.servers": f"{address[0]}:{address[1]}",
        "delivery.timeout.ms": "1",
        "linger.ms": "0",
        "socket.timeout.ms": "500",
        "socket.connection.setup.timeout.ms": "1000",
        **{key.replace("_", "."): value for key, value in more.items()},
    }
    return to_librdkafka(properties)


def silent(connection: socket.socket, stopped: threading.Event) -> None:
    """Accept requests and never respond."""
    stopped.wait(120)


def dripping(connection: socket.socket, stopped: threading.Event) -> None:
    """Send a long response byte by byte, each well within the socket timeout."""
    connection.sendall(b"\0\0\x40\0")
    while not stopped.wait(0.05):
        connection.sendall(b"\0")


def endless(connection: socket.socket, stopped: threading.Event) -> None:
    """Announce a response of two gigabytes."""
    connection.sendall(b"\x7f\xff\xff\xff" + b"x" * 1000)
    stopped.wait(120)


def http(connection: socket.socket, stopped: threading.Event) -> None:
    """Respond with another protocol."""
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def short(connection: socket.socket, stopped: threading.Event) -> None:
    """Respond to the first request with an incomplete body."""
    correlation_id = connection.recv(1000)[8:12]
    connection.sendall(b"\0\0\0\x0a" + correlation_id + b"\0\0\0\0\0\x05")
    stopped.wait(120)


@pytest.mark.parametrize(
    ("serve", "expected"),
    [
        (silent, "timed out"),
        (dripping, "timed out"),
        (endless, "the size of the response is 2147483647 bytes. Check that the server is a Kafka broker"),
        (http, "the size of the response is 1213486160 bytes"),
        (short, "the response ends early"),
    ],
)
def test_broker_without_a_complete_response(serve: Serve, expected: str) -> None:
    with server(serve) as address, pytest.raises(BrokerUnreachableError) as caught:
        TransactionAdmin(config(address)).list_ongoing("p")
    assert expected in str(caught.value)
    assert "completed the request ListTransactions within " in str(caught.value)


def test_response_in_pieces() -> None:
    def slow(connection: socket.socket, stopped: threading.Event) -> None:
        correlation_id = connection.recv(1000)[8:12]
        for byte in b"\0\0\0\x13" + correlation_id + b"\0\0" + b"\x02\0\x12\0\0\0\x03\0" + b"\0\0\0\0\0":
            connection.sendall(bytes([byte]))
        stopped.wait(120)

    with server(slow) as address:
        connection = Connection(address, config(address, socket_timeout_ms="60000"))
        assert connection.versions == {18: (0, 3)}
        assert connection._socket.gettimeout() == 60
        connection.close()


def test_new_producer_waits_for_silent_brokers_only_until_the_timeout() -> None:
    """The first write reports the failure."""
    with server(silent) as address, ExitStack() as stack:
        client_ = producer_clients._create(config(address), stack)
        began = time.monotonic()
        producer_clients.await_metadata(client_, "t", 0.2)
        assert 0.2 <= time.monotonic() - began < 20


@pytest.mark.parametrize("address", [("127.0.0.1", 70000), ("127.0.0.1", -1), ("a" * 64 + ".x", 9092), ("a\0b", 9092)])
def test_invalid_addresses(address: tuple[str, int]) -> None:
    with pytest.raises(OSError, match=r"."):
        Connection(address, config(("127.0.0.1", 1)))


@pytest.mark.parametrize("body", [b"\x80" * 5, b"\xff" * 100_000, uvarint(1 << 31)])
def test_oversized_lengths(body: bytes) -> None:
    with pytest.raises(MalformedResponse):
        Reader(body, flexible=True).string()


def test_string_that_is_not_utf_8() -> None:
    with pytest.raises(MalformedResponse, match="not UTF-8"):
        Reader(b"\0\x02\xff\xff").string()


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("r={nonce}x,s=QUJD,i=1", "first message is malformed"),
        ("r={nonce}x,s=QUJD,i=999", "first message is malformed"),
        ("r={nonce}x,s=QUJD,i=1000", "1000 iterations, fewer than the minimum of 4096"),
        ("r={nonce}x,s=QUJD,i=99999999", "first message is malformed"),
        ("r={nonce}x,s=QUJD,i=²", "first message is malformed"),
        ("r=other,s=QUJD,i=4096", "first message is malformed"),
        ("", "first message is malformed"),
        ("r={nonce},s=QUJD,i=4096", "first message is malformed"),  # the broker's part of the nonce is missing
        ("r={nonce}\u00fc,s=QUJD,i=4096", "first message is malformed"),
        ("m=x,r={nonce}x,s=QUJD,i=4096", "first message is malformed"),  # a mandatory extension
        ("r={nonce}x,s=QUJD,i=4096,m=x", "first message is malformed"),
        ("r={nonce}x,s=QUJD,i=-1", "first message is malformed"),
        ("r={nonce}x,s=QUJD,i=+4096", "first message is malformed"),
        ("r={nonce}x,s=QUJD,i=04096", "first message is malformed"),
        ("r={nonce}x,s=,i=4096", "first message is malformed"),
        ("r={nonce}x,s=Q*JD,i=4096", "first message is malformed"),
        ("r={nonce}x,i=4096", "first message is malformed"),
        ("r={nonce}x,s=QUJD,i=4096,r=other", None),
        ("r={nonce}x,s=QUJD,i=4096,x=unknown", None),
    ],
)
def test_scram_with_hostile_first_messages(first: str, expected: str | None) -> None:
    exchange = sasl_exchange({"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "u", "sasl.password": "p"}, "h")
    nonce = next(exchange).decode().partition("r=")[2]
    with pytest.raises(BrokerError, match=expected) if expected else nullcontext():
        assert exchange.send(first.replace("{nonce}", nonce).encode()).startswith(f"c=biws,r={nonce}x,p=".encode())


@pytest.mark.parametrize("final", ["", "v=", "v=QUJD", "v=%%%%", "e=invalid-proof", "x=1,v=QUJD", "v=QUJDé"])
def test_scram_with_hostile_final_messages(final: str) -> None:
    exchange = sasl_exchange({"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "u", "sasl.password": "p"}, "h")
    nonce = next(exchange).decode().partition("r=")[2]
    exchange.send(f"r={nonce}x,s=QUJD,i=4096".encode())
    with pytest.raises(BrokerError, match="the broker could not prove that it knows the password"):
        exchange.send(final.encode())
