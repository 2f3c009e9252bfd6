"""A connection to one broker: TCP, TLS, SASL, and requests with their responses in order."""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.config.properties import CONNECT_TIMEOUT
from kafka_sql.kafka.librdkafka import bindings
from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import BrokenAnswer, Reader
from kafka_sql.kafka.protocol.sasl import conversation, mechanism
from kafka_sql.kafka.protocol.tls import tls_context

Address = tuple[str, int]

API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36
_CLIENT: Final = "kafka_sql"
_PART: Final = 1 << 16  # bytes that are sent for themselves
_LARGEST: Final = "receive.message.max.bytes"


class Request(NamedTuple):
    """A request that is encoded already.

    Attributes:
        flexible: whether its version has compact types and tagged fields in its headers.
    """

    key: int
    version: int
    body: bytes
    flexible: bool = False


class Connection:
    """An open connection, ready for requests.

    Attributes:
        versions: the last version that the broker knows of each request.
    """

    def __init__(self, address: Address, config: Mapping[str, str]) -> None:
        """Connect.

        Args:
            config: librdkafka's, with references resolved.

        Raises:
            OSError: the broker cannot be reached now, or its address is none.
            BrokerError: it refuses the certificate or the user; trying again will not help.
        """
        self._last, self._largest = 0, int(config.get(_LARGEST, "100000000"))
        self._client = config.get("client.id", _CLIENT)
        protocol = config.get("security.protocol", "plaintext").lower()
        wait = int(config[CONNECT_TIMEOUT]) / 1000
        self._socket = _connected(address, wait)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if protocol in ("ssl", "sasl_ssl"):
                self._socket = self._secured(address, config)
            if protocol.startswith("sasl"):
                self._authenticate(address, config)
            self._socket.settimeout(int(config.get("socket.timeout.ms", "60000")) / 1000)
            self.versions = self._ask_versions()
        except BaseException:
            self._socket.close()
            raise

    def ask(self, request: Request, seconds: float | None = None) -> Reader:
        """Send one request and wait for its response.

        Args:
            seconds: for its response; None for 'socket.timeout.ms'.
        """
        return self.receive(request, self.send(request), seconds)

    def ask_all(self, requests: Sequence[Request]) -> list[Reader]:
        """Send requests at once and wait for all responses, which come in the same order.

        Raises:
            OSError: the connection broke, an answer is not whole within 'socket.timeout.ms', or is none; which of them
                were carried out is not known.
        """
        self._socket.sendall(b"".join(self._framed(request) for request in requests))
        return [self.receive(request, self._last - len(requests) + i) for i, request in enumerate(requests, 1)]

    def send(self, request: Request, parts: Sequence[bytes | memoryview] = ()) -> int:
        """Send a request and what follows its body; the number that ``receive`` takes.

        Raises:
            OSError: the connection broke; whether it was sent is not known.
        """
        small = bytearray(self._framed(request, sum(map(len, parts))))
        for part in parts:
            if len(part) < _PART:
                small += part
            else:  # not copied once more
                self._socket.sendall(small)
                self._socket.sendall(part)
                small.clear()
        self._socket.sendall(small)
        return self._last

    def close(self) -> None:
        """Close it."""
        self._socket.close()

    def _framed(self, request: Request, more: int = 0) -> bytes:
        """A request's bytes, which ``more`` bytes follow."""
        self._last += 1
        header = codec.pack("hhi", request.key, request.version, self._last) + codec.string(self._client)
        message = header + (codec.NO_TAGS if request.flexible else b"") + request.body
        return codec.pack("i", len(message) + more) + message

    def receive(self, request: Request, number: int, seconds: float | None = None) -> Reader:
        """The response to the oldest request that has none yet.

        Args:
            seconds: for the whole of it; None for 'socket.timeout.ms'.

        Raises:
            OSError: the connection broke, the answer is not whole in time, or is none.
        """
        patience = self._socket.gettimeout()
        wait = patience if seconds is None else seconds
        deadline = None if wait is None else time.monotonic() + wait
        try:
            (size,) = struct.unpack(">i", self._read(4, deadline))
            if not 4 <= size <= self._largest:
                raise BrokenAnswer(f"a response of {size} bytes: is it a broker? ('properties.{_LARGEST}')")
            answer = Reader(self._read(size, deadline))
        finally:
            self._socket.settimeout(patience)
        if answer.number("i") != number:
            raise BrokenAnswer("the broker's responses are out of order")
        if request.flexible:
            answer.tags()
        return answer

    def _read(self, size: int, deadline: float | None) -> bytearray:
        content, at = bytearray(size), 0  # of the memory that is not written to, none is taken
        view = memoryview(content)
        while at < size:
            if deadline is not None:  # for the whole answer: a byte now and then must not hold it up
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError("timed out")
                self._socket.settimeout(left)
            count = self._socket.recv_into(view[at:])
            if not count:
                raise ConnectionError("closed by the broker")
            at += count
        return content

    def _secured(self, address: Address, config: Mapping[str, str]) -> ssl.SSLSocket:
        try:
            return tls_context(config).wrap_socket(self._socket, server_hostname=address[0])
        except ssl.SSLCertVerificationError as e:
            raise BrokerError(
                f"{address[0]}:{address[1]}: the broker's certificate is refused: {e.verify_message}."
            ) from e

    def _authenticate(self, address: Address, config: Mapping[str, str]) -> None:
        name = mechanism(config)
        answer = self.ask(Request(SASL_HANDSHAKE, 1, codec.string(name)))
        if answer.number("h"):
            known = ", ".join(str(m) for m in answer.array(answer.string))
            raise BrokerError(f"{address[0]}:{address[1]} does not know SASL mechanism '{name}'. It knows: {known}.")
        talk, said = conversation(config, address[0]), b""
        try:
            message = next(talk)
            while True:
                answer = self.ask(Request(SASL_AUTHENTICATE, 0, codec.data(message)))
                code, words, said = answer.number("h"), answer.string(), answer.data()
                if code:
                    raise BrokerError(
                        f"{address[0]}:{address[1]}: SASL authentication failed: {words or bindings.reason(code)}. "
                        "Check 'properties.sasl.*'."
                    )
                message = talk.send(said)
        except StopIteration:
            return
        except ValueError:  # no base 64, no UTF-8
            raise BrokerError(f"{address[0]}:{address[1]}: SASL: the broker's answer is none.") from None

    def _ask_versions(self) -> dict[int, int]:
        answer = self.ask(Request(API_VERSIONS, 0, b""))
        code = answer.number("h")
        if code:
            raise BrokerError(f"The broker does not tell its versions: {bindings.reason(code)}.")
        return {key: last for key, _, last in answer.array(lambda: [answer.number("h") for _ in range(3)])}


def _connected(address: Address, wait: float) -> socket.socket:
    try:
        return socket.create_connection(address, wait)
    except (OverflowError, ValueError):  # a broker may tell any port, and a name that no host has
        raise ConnectionError(f"{address[0]!r}:{address[1]} is no address") from None
