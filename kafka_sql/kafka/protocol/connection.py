"""Connect to one broker over TCP, TLS and SASL, and exchange requests and responses."""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.config.properties import CONNECT_TIMEOUT
from kafka_sql.kafka.error_codes import ErrorCode, error_text
from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import ApiKey, MalformedResponse, Reader
from kafka_sql.kafka.protocol.sasl import mechanism, sasl_exchange
from kafka_sql.kafka.protocol.tls import tls_context

Address = tuple[str, int]

_DEFAULT_CLIENT_ID: Final = "kafka_sql"
_LARGE_PART: Final = 1 << 16  # bytes; from this size on, parts of a request are sent without copying them
_MAX_RESPONSE: Final = "receive.message.max.bytes"


class Request(NamedTuple):
    """An encoded request.

    Attributes:
        flexible: whether this version of the API has compact types, and tagged fields in the headers.
    """

    key: ApiKey
    version: int
    body: bytes
    flexible: bool = False


class Connection:
    """An open connection, authenticated and ready for requests.

    Attributes:
        versions: the latest version of each API that the broker supports, by API key.
    """

    def __init__(self, address: Address, config: Mapping[str, str]) -> None:
        """Connect and authenticate.

        Args:
            config: librdkafka's configuration, with references to secrets resolved.

        Raises:
            OSError: the broker is not reachable now, or the address is invalid.
            BrokerError: the broker rejected the client or its credentials, or its certificate is not trusted. A retry
                would not help.
        """
        self._correlation_id, self._max_response = 0, int(config.get(_MAX_RESPONSE, "100000000"))
        self._client_id = config.get("client.id", _DEFAULT_CLIENT_ID)
        protocol = config.get("security.protocol", "plaintext").lower()
        self._socket = _connect(address, int(config[CONNECT_TIMEOUT]) / 1000)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if protocol in ("ssl", "sasl_ssl"):
                self._socket = self._start_tls(address, config)
            if protocol.startswith("sasl"):
                self._authenticate(address, config)
            self._socket.settimeout(int(config.get("socket.timeout.ms", "60000")) / 1000)
            self.versions = self._request_versions()
        except BaseException:
            self._socket.close()
            raise

    def ask(self, request: Request, seconds: float | None = None) -> Reader:
        """Send a request and wait for its response.

        Args:
            seconds: the timeout for the response; None for 'socket.timeout.ms'.

        Raises:
            OSError: as ``send`` and ``receive``.
        """
        return self.receive(request, self.send(request), seconds)

    def ask_all(self, requests: Sequence[Request]) -> list[Reader]:
        """Send several requests at once and wait for all responses, which arrive in the same order.

        Raises:
            OSError: the connection broke, a response is not complete within 'socket.timeout.ms', or is malformed. Any
                of the requests may have been processed.
        """
        self._socket.sendall(b"".join(self._frame(request) for request in requests))
        first = self._correlation_id - len(requests) + 1
        return [self.receive(request, first + i) for i, request in enumerate(requests)]

    def send(self, request: Request, parts: Sequence[bytes | memoryview] = ()) -> int:
        """Send a request, followed by ``parts``.

        Returns:
            the correlation id, for ``receive``.

        Raises:
            OSError: the connection broke. The request may have been processed.
        """
        buffer = bytearray(self._frame(request, sum(map(len, parts))))
        for part in parts:
            if len(part) < _LARGE_PART:
                buffer += part
            else:
                self._socket.sendall(buffer)
                self._socket.sendall(part)
                buffer.clear()
        self._socket.sendall(buffer)
        return self._correlation_id

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _frame(self, request: Request, parts_size: int = 0) -> bytes:
        self._correlation_id += 1
        header = codec.pack("hhi", request.key, request.version, self._correlation_id) + codec.string(self._client_id)
        message = header + (codec.NO_TAGS if request.flexible else b"") + request.body
        return codec.pack("i", len(message) + parts_size) + message

    def receive(self, request: Request, correlation_id: int, seconds: float | None = None) -> Reader:
        """Wait for the response to the oldest request without one.

        Args:
            seconds: the timeout for the complete response; None for 'socket.timeout.ms'.

        Raises:
            OSError: the connection broke, or the response is incomplete after the timeout, or is malformed.
        """
        socket_timeout = self._socket.gettimeout()
        timeout = socket_timeout if seconds is None else seconds
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            (size,) = struct.unpack(">i", self._read(4, deadline))
            if not 4 <= size <= self._max_response:
                raise MalformedResponse(
                    f"the size of the response is {size} bytes. Check that the server is a Kafka broker, and "
                    f"'properties.{_MAX_RESPONSE}'"
                )
            response = Reader(self._read(size, deadline))
        finally:
            self._socket.settimeout(socket_timeout)
        if response.number("i") != correlation_id:
            raise MalformedResponse("the responses are out of order")
        if request.flexible:
            response.tags()
        return response

    def _read(self, size: int, deadline: float | None) -> bytearray:
        content, at = bytearray(size), 0  # the kernel allocates pages only as they are written
        view = memoryview(content)
        while at < size:
            if deadline is not None:  # for the complete response: a slow trickle of bytes must not extend it
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError("timed out")
                self._socket.settimeout(left)
            count = self._socket.recv_into(view[at:])
            if not count:
                raise ConnectionError("the broker closed the connection")
            at += count
        return content

    def _start_tls(self, address: Address, config: Mapping[str, str]) -> ssl.SSLSocket:
        try:
            return tls_context(config).wrap_socket(self._socket, server_hostname=address[0])
        except ssl.SSLCertVerificationError as e:
            raise BrokerError(
                f"{address[0]}:{address[1]}: the broker's certificate is not trusted: {e.verify_message}.",
                servers=f"{address[0]}:{address[1]}",
            ) from e

    def _authenticate(self, address: Address, config: Mapping[str, str]) -> None:
        name = mechanism(config)
        response = self.ask(Request(ApiKey.SASL_HANDSHAKE, 1, codec.string(name)))
        if response.number("h") != ErrorCode.NONE:
            supported = ", ".join(str(m) for m in response.array(response.string))
            raise BrokerError(
                f"{address[0]}:{address[1]} does not support SASL mechanism '{name}'. It supports: {supported}.",
                servers=f"{address[0]}:{address[1]}",
            )
        exchange = sasl_exchange(config, address[0])
        try:
            message = next(exchange)
            while True:
                response = self.ask(Request(ApiKey.SASL_AUTHENTICATE, 0, codec.data(message)))
                code, text, challenge = response.number("h"), response.string(), response.data()
                if code != ErrorCode.NONE:
                    raise BrokerError(
                        f"{address[0]}:{address[1]}: SASL authentication failed: {text or error_text(code)}. "
                        "Check 'properties.sasl.*'.",
                        servers=f"{address[0]}:{address[1]}",
                    )
                message = exchange.send(challenge)
        except StopIteration:
            return
        except ValueError:  # invalid base64 or UTF-8
            raise BrokerError(
                f"{address[0]}:{address[1]}: SASL: malformed response of the broker.",
                servers=f"{address[0]}:{address[1]}",
            ) from None

    def _request_versions(self) -> dict[int, int]:
        response = self.ask(Request(ApiKey.API_VERSIONS, 0, b""))
        code = response.number("h")
        if code != ErrorCode.NONE:
            raise BrokerError(f"The broker did not return its API versions: {error_text(code)}.")
        return {key: latest for key, _, latest in response.array(lambda: [response.number("h") for _ in range(3)])}


def _connect(address: Address, seconds: float) -> socket.socket:
    try:
        return socket.create_connection(address, seconds)
    except (OverflowError, ValueError):  # a broker may advertise any port and any host name
        raise ConnectionError(f"{address[0]!r}:{address[1]} is not a valid address") from None
