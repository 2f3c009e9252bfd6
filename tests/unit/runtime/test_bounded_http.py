"""HTTP servers that trickle, never end, or send bombs: the request fails at its deadline, within its memory."""

from __future__ import annotations

import gzip
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import httpx
import pytest

from kafka_sql.runtime.bounded_http import ResponseTooLargeError, create_client, send_request

HEAD = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def server(respond: Callable[[socket.socket, threading.Event], None]) -> Iterator[str]:
    """Serve one connection with ``respond`` after its request was read. The event is set at the end of the test."""
    over = threading.Event()

    def run() -> None:
        with suppress(OSError), listening.accept()[0] as connection:
            connection.recv(10_000)
            respond(connection, over)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        over.set()
        thread.join(30)


def send(url: str, seconds: float = 60, max_size: int = 100_000) -> bytes:
    with create_client(verify=False, seconds=30) as client:
        return send_request(client, "GET", url, time.monotonic() + seconds, max_size).content


def trickle(start: bytes) -> Callable[[socket.socket, threading.Event], None]:
    def respond(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(start)
        while not over.wait(0.02):
            connection.sendall(b"x")

    return respond


def whole(data: bytes) -> Callable[[socket.socket, threading.Event], None]:
    return lambda connection, _: connection.sendall(data)


def compressed(data: bytes, encoding: str = "gzip") -> Callable[[socket.socket, threading.Event], None]:
    return whole(HEAD + f"Content-Encoding: {encoding}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)


@pytest.mark.parametrize(
    "start",
    [
        b"",
        HEAD + b"X-Header: ",
        HEAD + b"Content-Length: 1000000\r\n\r\n",
        HEAD + b"\r\n",
        HEAD + b"Content-Encoding: gzip\r\n\r\n",
    ],
    ids=["status", "header", "body", "body without a length", "compressed body"],
)
def test_a_response_that_trickles_ends_at_the_deadline(start: bytes) -> None:
    began = time.monotonic()
    with server(trickle(start)) as url, pytest.raises(httpx.ReadTimeout, match="the response is incomplete"):
        send(url, seconds=0.3)
    assert 0.3 <= time.monotonic() - began < 20


def test_a_response_before_the_deadline() -> None:
    with server(whole(HEAD + b"\r\ncontent")) as url:
        assert send(url) == b"content"
    with server(compressed(gzip.compress(b"content"))) as url:
        assert send(url) == b"content"


def test_the_deadline_ends_no_later_request() -> None:
    with create_client(verify=False, seconds=30) as client:
        for _ in range(2):
            with server(whole(HEAD + b"\r\ncontent")) as url:
                assert send_request(client, "GET", url, time.monotonic() + 0.5, 100).content == b"content"
            time.sleep(0.6)


@pytest.mark.parametrize("size", [100_001, 50_000_000])
def test_a_response_that_is_too_large(size: int) -> None:
    with server(whole(HEAD + b"\r\n" + bytes(size))) as url, pytest.raises(ResponseTooLargeError):
        send(url)
    with server(compressed(gzip.compress(bytes(size)))) as url, pytest.raises(ResponseTooLargeError):
        send(url)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (gzip.compress(b"content")[:-9], "gzip"),
        (b"content", "gzip"),
        (zlib.compress(b"content"), "deflate"),
        (b"content", "br"),
        (b"content", "zstd"),
        (gzip.compress(gzip.compress(b"content")), "gzip, gzip"),
    ],
    ids=["truncated gzip", "no gzip", "deflate", "br", "zstd", "gzip twice"],  # not the data, which has the time in it
)
def test_a_body_that_cannot_be_decompressed(data: bytes, encoding: str) -> None:
    with server(compressed(data, encoding)) as url, pytest.raises(httpx.DecodingError):
        send(url)


def test_redirects_are_returned() -> None:
    with (
        server(whole(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")) as url,
        create_client(verify=False, seconds=30) as client,
    ):
        assert send_request(client, "GET", url, time.monotonic() + 60, 100).status_code == 302
