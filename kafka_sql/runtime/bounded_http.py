"""Send HTTP requests with one deadline for the whole exchange and a limit on the size of the response.

A server that sends a byte now and then, in the headers or the body, stays within the timeouts of sockets and of httpx
forever. A small compressed body may decompress to gigabytes.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import httpx

_GZIP_WBITS: Final = 31  # selects the gzip format in zlib
_CONNECTED: Final = ".connect_tcp.complete"  # end of an event's name in httpcore's trace extension, even with a proxy


class ResponseTooLargeError(Exception):
    """A response has more bytes than allowed."""


def create_client(
    verify: ssl.SSLContext | bool, seconds: float, headers: Mapping[str, str] | None = None
) -> httpx.Client:
    """Return a client for ``send_request``. It opens a connection for each request.

    Args:
        seconds: the timeout to connect and for the next bytes of a response.
    """
    return httpx.Client(
        verify=verify, timeout=seconds, headers=headers, limits=httpx.Limits(max_keepalive_connections=0)
    )


def send_request(
    client: httpx.Client, method: str, url: str, deadline: float, max_size: int, **arguments: Any
) -> httpx.Response:
    """Send a request and return the response with its decompressed body. Redirects are returned, not followed.

    Args:
        deadline: when the response must be complete, in seconds of ``time.monotonic``.
        max_size: maximum bytes of the body, compressed and decompressed.
        arguments: as for ``httpx.Client.stream``: headers, auth, json, data.

    Raises:
        httpx.TransportError: no connection, or the response is incomplete at the deadline (``httpx.ReadTimeout``).
        httpx.DecodingError: the body cannot be decompressed.
        ResponseTooLargeError: the body is larger.
    """
    headers = {**arguments.pop("headers", {}), "Accept-Encoding": "gzip"}
    with _shutdown_at(deadline) as trace:
        extensions = {"trace": trace}
        with client.stream(
            method, url, headers=headers, extensions=extensions, follow_redirects=False, **arguments
        ) as response:
            content = _read(response, max_size)
    decompressed = _decompress(content, response.headers, max_size)
    return httpx.Response(response.status_code, content=decompressed, request=response.request)


@contextlib.contextmanager
def _shutdown_at(deadline: float) -> Iterator[Callable[[str, Mapping[str, Any]], None]]:
    """Yield a trace callback of httpcore for a request, whose connections are shut down at the deadline."""
    lock, is_over, sockets = threading.Lock(), threading.Event(), list[socket.socket]()

    def shut_down() -> None:
        for duplicate in sockets:
            with contextlib.suppress(OSError):  # already disconnected
                duplicate.shutdown(socket.SHUT_RDWR)

    def end() -> None:
        with lock:
            is_over.set()
            shut_down()

    def trace(event: str, info: Mapping[str, Any]) -> None:
        if event.endswith(_CONNECTED):
            with lock:
                # a duplicate: TLS moves the connection to another socket object
                sockets.append(info["return_value"].get_extra_info("socket").dup())
                if is_over.is_set():
                    shut_down()

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), end)
    timer.daemon = True
    timer.start()
    failure: httpx.TransportError | None = None
    try:
        yield trace
    except httpx.TransportError as e:
        failure = e
    finally:
        timer.cancel()
        with lock:
            for duplicate in sockets:
                duplicate.close()
            sockets.clear()
    if is_over.is_set():  # even without a failure: the end of a connection may look like the end of the body
        raise httpx.ReadTimeout("the response is incomplete") from failure
    if failure is not None:
        raise failure


def _read(response: httpx.Response, max_size: int) -> bytes:
    content = bytearray()
    for chunk in response.iter_raw():
        content += chunk
        if len(content) > max_size:
            raise ResponseTooLargeError
    return bytes(content)


def _decompress(content: bytes, headers: httpx.Headers, max_size: int) -> bytes:
    encoding = headers.get("Content-Encoding", "identity").strip().lower()
    if encoding == "identity" or not content:
        return content
    if encoding not in ("gzip", "x-gzip"):
        raise httpx.DecodingError("the response has a Content-Encoding that was not requested")
    stream = zlib.decompressobj(_GZIP_WBITS)
    try:
        decompressed = stream.decompress(content, max_size + 1)
    except zlib.error as e:
        raise httpx.DecodingError(str(e)) from None
    if len(decompressed) > max_size:
        raise ResponseTooLargeError
    if not stream.eof:
        raise httpx.DecodingError("the compressed response is incomplete")
    return decompressed
