"""Connect to one broker over TCP, TLS and SASL, and exchange requests and responses."""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Mapping, Sequence
from typing import Final

from kafka_sql.errors import BrokerError, UnsupportedVersionError
from kafka_sql.kafka.config.properties import CONNECT_TIMEOUT
from kafka_sql.kafka.error_codes import ErrorCode, error_text
from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.addresses import (
    Address,
    Endpoint,
    connection_timeout,
    note_failure,
    note_success,
    resolve,
)
from kafka_sql.kafka.protocol.codec import ApiKey, MalformedResponse, Reader
from kafka_sql.kafka.protocol.messages import Request, make_request, read_response
from kafka_sql.kafka.protocol.sasl import discard_credentials, get_credentials, mechanism, sasl_exchange
from kafka_sql.kafka.protocol.tls import tls_context
from kafka_sql.version import VERSION

_DEFAULT_CLIENT_ID: Final = "kafka_sql"
# Requests that a broker with SASL has to support, even if it does not list them.
_UNLISTED_SASL_VERSIONS: Final[dict[int, tuple[int, int]]] = {
    ApiKey.SASL_HANDSHAKE: (1, 1),
    ApiKey.SASL_AUTHENTICATE: (0, 0),
}
_WITHOUT_TRANSACTIONS: Final = (
    "Upgrade the brokers to Apache Kafka 3.0 or later, or set 'sink.delivery-guarantee' to 'at-least-once'"
)
_UPGRADES: Final = {
    ApiKey.PRODUCE: "Upgrade the brokers to Apache Kafka 2.1 or later",
    ApiKey.ADD_PARTITIONS_TO_TXN: _WITHOUT_TRANSACTIONS,
    ApiKey.END_TXN: _WITHOUT_TRANSACTIONS,
    ApiKey.DESCRIBE_PRODUCERS: _WITHOUT_TRANSACTIONS,
    ApiKey.DESCRIBE_TRANSACTIONS: _WITHOUT_TRANSACTIONS,
    ApiKey.LIST_TRANSACTIONS: _WITHOUT_TRANSACTIONS,
}
_LARGE_PART: Final = 1 << 16  # bytes; from this size on, parts of a request are sent without copying them
_MAX_RESPONSE: Final = "receive.message.max.bytes"
_BUFFERS: Final = {  # of a socket, in bytes; by default the operating system sizes them
    "socket.send.buffer.bytes": socket.SO_SNDBUF,
    "socket.receive.buffer.bytes": socket.SO_RCVBUF,
}
# Firewalls and load balancers drop idle connections silently, most of them after four minutes or more. Not every
# platform has all of these options. macOS calls the first one TCP_KEEPALIVE.
_KEEPALIVE: Final = (("TCP_KEEPIDLE", 60), ("TCP_KEEPALIVE", 60), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 6))
# When this process sent the latest of the requests that timed out, in seconds of time.monotonic.
_last_timed_out: Final[list[float]] = [0.0]


class Connection:
    """An open connection, authenticated and ready for requests.

    Attributes:
        address: the address of the broker.
        versions: the oldest and the latest version of each API that the broker supports, by API key.
        ready_at: when the next request may be sent, in seconds of ``time.monotonic``; see ``throttle``.
    """

    def __init__(self, address: Address, config: Mapping[str, str]) -> None:
        """Connect and authenticate.

        Args:
            config: librdkafka's configuration, with references to secrets resolved.

        Raises:
            OSError: the broker is not reachable now, the address is invalid, or a token endpoint is unavailable
                (``TokenEndpointUnavailableError``).
            BrokerError: the broker rejected the client or its credentials, or its certificate is not trusted. A retry
                would not help.
        """
        self.address, self.ready_at = address, 0.0
        self._server = f"{address[0]}:{address[1]}"  # for errors
        self._max_response = int(config.get(_MAX_RESPONSE, "100000000"))
        self._client_id = config.get("client.id", _DEFAULT_CLIENT_ID)
        if _uses_sasl(config):
            config = get_credentials(config, int(config[CONNECT_TIMEOUT]) / 1000)
        try:
            self._connect_to_any(resolve(address, int(config[CONNECT_TIMEOUT]) / 1000), config)
        except OSError as e:
            note_failure(address, e)
            raise
        note_success(address)

    def _connect_to_any(self, endpoints: Sequence[Endpoint], config: Mapping[str, str]) -> None:
        failure: OSError | None = None
        for endpoint in endpoints:
            try:
                self._open(endpoint, config)
            except OSError as e:
                if endpoint.address != self.address:
                    note_failure(endpoint.address, e)
                failure = e
            else:
                note_success(endpoint.address)
                return
        raise failure or ConnectionError("the name has no address")

    def _open(self, endpoint: Endpoint, config: Mapping[str, str]) -> None:
        self._correlation_id, self._responses, self._last_received_at = 0, 0, time.monotonic()
        self._message, self._filled, self._has_size = bytearray(4), 0, False  # the response that is being received
        self._timeout = min(
            connection_timeout(address, int(config[CONNECT_TIMEOUT]) / 1000)
            for address in (self.address, endpoint.address)
        )
        self._setup_deadline: float | None = time.monotonic() + self._timeout  # for all of the following
        self._socket = _connect(endpoint, self._timeout)
        try:
            _set_options(self._socket, config)
            if config.get("security.protocol", "plaintext").lower() in ("ssl", "sasl_ssl"):
                self._socket = self._start_tls(config)
            self.versions: dict[int, tuple[int, int]] = {ApiKey.API_VERSIONS: (0, 3)}
            self.versions = self._request_versions()
            if _uses_sasl(config):
                self._authenticate(config)
            self._timeout, self._setup_deadline = int(config.get("socket.timeout.ms", "60000")) / 1000, None
            self._socket.settimeout(self._timeout)
        except BaseException:
            self._socket.close()
            raise

    def choose_version(self, api: ApiKey, oldest: int, latest: int) -> int:
        """Return the latest version of an API that the broker supports too.

        Raises:
            UnsupportedVersionError: the broker supports none of these versions.
        """
        supported = self.versions.get(api)
        if supported is not None and max(oldest, supported[0]) <= min(latest, supported[1]):
            return min(latest, supported[1])
        offered = "none" if supported is None else f"{supported[0]} to {supported[1]}"
        needed = f"kafka_sql needs one of {oldest} to {latest}"
        is_newer = supported is not None and supported[0] > latest
        advice = "Upgrade kafka_sql" if is_newer else _UPGRADES.get(api, "Upgrade the brokers")
        raise UnsupportedVersionError(
            f"Broker {self._server} does not support request {api.title} in a suitable version: it supports {offered}, "
            f"{needed}. {advice}.",
            servers=self._server,
        )

    def throttle(self, milliseconds: int) -> None:
        """Delay the next request by the time that the broker demands because of a quota (KIP-219)."""
        if milliseconds > 0:
            self.ready_at = max(self.ready_at, time.monotonic() + milliseconds / 1000)

    def note_timeout(self, sent_at: float) -> None:
        """Note that a request got no response in time.

        Args:
            sent_at: when it was sent, in seconds of ``time.monotonic``.
        """
        note_failure(self.address, TimeoutError())
        _last_timed_out[0] = max(_last_timed_out[0], sent_at)

    def may_be_dead(self) -> bool:
        """Return whether this idle connection should be replaced.

        A firewall that drops the state of one connection usually drops that of others, too. If a request on another
        connection has timed out, and nothing has arrived on this one since it was sent, this one may be dead as well.
        Each dead connection would cost another timeout.
        """
        return self._last_received_at < _last_timed_out[0] and self._responses == self._correlation_id

    def is_idle(self, seconds: float) -> bool:
        """Return whether nothing has arrived for ``seconds``, and no response is outstanding."""
        return self._responses == self._correlation_id and time.monotonic() - self._last_received_at > seconds

    def fileno(self) -> int:
        """Return the file descriptor, to wait for responses."""
        return self._socket.fileno()

    def has_response(self) -> bool:
        """Return whether ``receive`` would return or raise at once. Reads what has arrived, without waiting."""
        try:
            self._socket.settimeout(0)
            try:
                self._read_message(None)
            finally:
                self._socket.settimeout(self._timeout)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return False
        except OSError:
            pass  # receive raises it
        return True

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
        self._wait_until_ready()
        self._socket.sendall(b"".join(self._frame(request) for request in requests))
        first = self._correlation_id - len(requests) + 1
        return [self.receive(request, first + i) for i, request in enumerate(requests)]

    def send(self, request: Request, parts: Sequence[bytes | memoryview] = ()) -> int:
        """Send a request, followed by ``parts``. Waits until ``ready_at``, but at most for 'socket.timeout.ms'.

        Returns:
            the correlation id, for ``receive``.

        Raises:
            OSError: the connection broke. The request may have been processed.
        """
        self._wait_until_ready()
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
        version = self.choose_version(request.key, request.oldest, request.latest)
        flexible = codec.is_flexible(request.key, version)
        self._correlation_id += 1
        header = codec.pack("hhi", request.key, version, self._correlation_id) + codec.string(self._client_id)
        message = header + codec.tags(flexible) + request.encode(version, flexible)
        return codec.pack("i", len(message) + parts_size) + message

    def receive(self, request: Request, correlation_id: int, seconds: float | None = None) -> Reader:
        """Wait for the response to the oldest request without one.

        Args:
            seconds: the timeout for the complete response; None for 'socket.timeout.ms'.

        Raises:
            OSError: the connection broke, or the response is incomplete after the timeout, or is malformed.
        """
        began = time.monotonic()
        deadline = began + (self._timeout if seconds is None else seconds)
        try:
            self._read_message(deadline if self._setup_deadline is None else self._setup_deadline)
        except TimeoutError:
            if self._setup_deadline is None:
                self.note_timeout(began)
            raise
        finally:
            self._socket.settimeout(self._timeout)
        version = self.choose_version(request.key, request.oldest, request.latest)
        throttle = self.throttle if version >= request.key.first_throttled else lambda milliseconds: None
        response = Reader(self._message, version, codec.is_flexible(request.key, version), throttle)
        self._message, self._filled, self._has_size = bytearray(4), 0, False
        self._responses += 1
        if response.number("i") != correlation_id:
            raise MalformedResponse("the responses are out of order")
        if request.key != ApiKey.API_VERSIONS:  # its response has the oldest header in all versions (KIP-511)
            response.tags()
        return response

    def _wait_until_ready(self) -> None:
        delay = self.ready_at - time.monotonic()
        if delay > 0:
            time.sleep(min(delay, self._timeout))

    def _read_message(self, deadline: float | None) -> None:
        """Read the rest of the response; without a deadline, what can be read without waiting."""
        self._fill(deadline)
        if self._has_size:
            return
        (size,) = struct.unpack(">i", self._message)
        if not 4 <= size <= self._max_response:
            raise MalformedResponse(
                f"the size of the response is {size} bytes. Check that the server is a Kafka broker, and "
                f"'properties.{_MAX_RESPONSE}'"
            )
        # the kernel allocates only the pages that are written
        self._message, self._filled, self._has_size = bytearray(size), 0, True
        self._fill(deadline)

    def _fill(self, deadline: float | None) -> None:
        view = memoryview(self._message)
        while self._filled < len(view):
            if deadline is not None:  # for the complete response: a slow trickle of bytes must not extend it
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    raise TimeoutError("timed out")
                self._socket.settimeout(remaining)
            count = self._socket.recv_into(view[self._filled :])
            if not count:
                raise ConnectionError("the broker closed the connection")
            self._filled += count
            self._last_received_at = time.monotonic()

    def _remaining(self) -> float:
        """Return the seconds that remain to set up the connection."""
        assert self._setup_deadline is not None
        return max(0.001, self._setup_deadline - time.monotonic())

    def _start_tls(self, config: Mapping[str, str]) -> ssl.SSLSocket:
        try:
            context = tls_context(config)
            self._socket.settimeout(self._remaining())
            return context.wrap_socket(self._socket, server_hostname=self.address[0])
        except ssl.SSLCertVerificationError as e:
            raise BrokerError(
                f"{self._server}: the broker's certificate is not trusted: {e.verify_message}.",
                servers=self._server,
            ) from e

    def _authenticate(self, config: Mapping[str, str]) -> None:
        name = mechanism(config)
        self.versions = {**_UNLISTED_SASL_VERSIONS, **self.versions}
        handshake = self.ask(make_request(ApiKey.SASL_HANDSHAKE, mechanism=name))
        response = read_response(handshake, ApiKey.SASL_HANDSHAKE)
        if response["error_code"] != ErrorCode.NONE:
            supported = ", ".join(response["mechanisms"])
            raise BrokerError(
                f"{self._server} does not support SASL mechanism '{name}'. It supports: {supported}.",
                servers=self._server,
            )
        exchange = sasl_exchange(config, self.address[0])
        try:
            message = next(exchange)
            while True:
                request = make_request(ApiKey.SASL_AUTHENTICATE, auth_bytes=message)
                response = read_response(self.ask(request), ApiKey.SASL_AUTHENTICATE)
                code, text = response["error_code"], response["error_message"]
                if code != ErrorCode.NONE:
                    if discard_credentials(config):
                        raise ConnectionError(f"SASL authentication failed: {text or error_text(code)}")
                    raise BrokerError(
                        f"{self._server}: SASL authentication failed: {text or error_text(code)}. "
                        "Check 'properties.sasl.*'.",
                        servers=self._server,
                    )
                message = exchange.send(bytes(response["auth_bytes"]))
        except StopIteration:
            return
        except ValueError:  # invalid base64 or UTF-8
            raise BrokerError(
                f"{self._server}: SASL: malformed response of the broker.",
                servers=self._server,
            ) from None

    def _request_versions(self) -> dict[int, tuple[int, int]]:
        # brokers show the name and version of a client to their operators (KIP-511)
        response = self.ask(
            make_request(ApiKey.API_VERSIONS, client_software_name="kafka-sql", client_software_version=VERSION)
        )
        code = response.number("h")
        if code == ErrorCode.UNSUPPORTED_VERSION and response.version > 0:
            self.versions = {ApiKey.API_VERSIONS: (0, 0)}  # which every broker supports
            return self._request_versions()
        if code != ErrorCode.NONE:
            raise BrokerError(f"{self._server}: the broker did not return its API versions: {error_text(code)}.")

        def supported() -> tuple[int, tuple[int, int]]:
            key, versions = response.number("h"), (response.number("h"), response.number("h"))
            response.tags()
            return key, versions

        versions = dict(response.array(supported))
        if response.version > 0:
            response.throttle(response.number("i"))
        return versions


def _uses_sasl(config: Mapping[str, str]) -> bool:
    return config.get("security.protocol", "plaintext").lower().startswith("sasl")


def _connect(endpoint: Endpoint, seconds: float) -> socket.socket:
    opened = socket.socket(endpoint.family, socket.SOCK_STREAM)
    try:
        opened.settimeout(seconds)
        opened.connect(endpoint.socket_address)
    except BaseException:
        opened.close()
        raise
    return opened


def _set_options(opened: socket.socket, config: Mapping[str, str]) -> None:
    for key, option in _BUFFERS.items():
        if int(config.get(key, "0")) > 0:
            opened.setsockopt(socket.SOL_SOCKET, option, int(config[key]))
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        if hasattr(socket, name):
            opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
