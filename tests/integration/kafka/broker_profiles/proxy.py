"""A TCP proxy that makes an Apache Kafka broker look like a vendor's: its versions of requests and its limits.

It closes the connection on a request that the vendor's brokers do not support, as brokers do. Addresses in responses
need no change: the broker has a listener for the proxy, which advertises the proxy's port.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from types import TracebackType
from typing import Final, NamedTuple

from kafka_sql.embedded.loopback import HOST
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import ApiKey
from tests.background_loop import BackgroundLoop
from tests.integration.kafka.broker_profiles.profile import BrokerProfile

_FIRST_FLEXIBLE_VERSION: Final = 3  # version of ApiVersions; the header of its response has no tagged fields (KIP-511)


class ClientRequest(NamedTuple):
    """The header of a request."""

    key: int
    version: int
    correlation_id: int
    client_id: str

    def __str__(self) -> str:
        return f"{self.client_id}: request {self.key} version {self.version}"


class ProfileProxy:
    """A proxy on 127.0.0.1 in one thread, for a ``with`` block.

    Attributes:
        profile: may be replaced for later connections.
        delays: seconds by which requests, and those after them on the connection, are delayed, by API key.
        requests: the requests that were forwarded.
        refused: the requests that the profile does not allow.
        largest: size of the largest request, in bytes.
        closed: the number of connections that were closed because they were idle or a request was too large.
    """

    def __init__(self, profile: BrokerProfile, port: int, broker_port: int) -> None:
        """Listen on nothing yet.

        Args:
            port: the port to listen on.
            broker_port: the port of the broker's listener for this proxy.
        """
        self.profile, self._port, self._broker_port = profile, port, broker_port
        self.delays: dict[int, float] = {}
        self._background = BackgroundLoop()
        self.reset()

    @property
    def address(self) -> str:
        """The address of the proxy, for ``bootstrap.servers``."""
        return f"{HOST}:{self._port}"

    def reset(self) -> None:
        """Forget the requests so far."""
        self.requests: list[ClientRequest] = []
        self.refused: list[ClientRequest] = []
        self.largest = self.closed = 0

    def __enter__(self) -> ProfileProxy:
        self._background.start()
        self._background.run(self._listen())
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._background.run(self._stop())
        self._background.close()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._connected, HOST, self._port)

    async def _stop(self) -> None:
        self._server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # when the proxy stops: asyncio requests the exception of each task, which a canceled one does not have
        with contextlib.suppress(asyncio.CancelledError):
            try:
                broker_reader, broker_writer = await asyncio.open_connection(HOST, self._broker_port)
            except OSError:
                writer.transport.abort()
                return
            await self._relay(reader, writer, broker_reader, broker_writer)

    async def _relay(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        broker_reader: asyncio.StreamReader,
        broker_writer: asyncio.StreamWriter,
    ) -> None:
        api_versions: dict[int, int] = {}  # versions of requests without a response, by correlation id
        tasks = [
            asyncio.create_task(self._forward_requests(reader, broker_writer, writer, api_versions)),
            asyncio.create_task(self._forward_responses(broker_reader, writer, api_versions)),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            writer.close()
            broker_writer.close()

    async def _forward_requests(
        self,
        reader: asyncio.StreamReader,
        broker: asyncio.StreamWriter,
        client: asyncio.StreamWriter,
        api_versions: dict[int, int],
    ) -> None:
        profile = self.profile
        while True:
            try:
                size_bytes = await asyncio.wait_for(reader.readexactly(4), profile.idle_seconds)
            except asyncio.TimeoutError:
                self.closed += 1
                return
            (size,) = struct.unpack(">i", size_bytes)
            self.largest = max(self.largest, size)
            if profile.max_request_bytes is not None and size > profile.max_request_bytes:
                self.closed += 1
                return
            body = await reader.readexactly(size)
            request = parse_header(body)
            if request.key == ApiKey.API_VERSIONS and not profile.supports(request.key, request.version):
                if profile.closes_on_unknown_api_versions:
                    return
                client.write(_unsupported_api_versions(request.correlation_id, profile))
                continue
            if not profile.supports(request.key, request.version):
                self.refused.append(request)
                return
            await asyncio.sleep(self.delays.get(request.key, 0))
            self.requests.append(request)
            if request.key == ApiKey.API_VERSIONS:
                api_versions[request.correlation_id] = request.version
            broker.write(size_bytes + body)
            await broker.drain()

    async def _forward_responses(
        self, broker: asyncio.StreamReader, client: asyncio.StreamWriter, api_versions: dict[int, int]
    ) -> None:
        while True:
            size_bytes = await broker.readexactly(4)
            body = await broker.readexactly(*struct.unpack(">i", size_bytes))
            version = api_versions.pop(*struct.unpack_from(">i", body), None)
            if version is not None:
                body = restrict_api_versions(body, version, self.profile)
            client.write(struct.pack(">i", len(body)) + body)
            await client.drain()


def parse_header(body: bytes) -> ClientRequest:
    """Parse the header of a request, which begins alike in all versions."""
    key, version, correlation_id, length = struct.unpack_from(">hhih", body)
    return ClientRequest(key, version, correlation_id, body[10 : 10 + max(length, 0)].decode())


def restrict_api_versions(body: bytes, version: int, profile: BrokerProfile) -> bytes:
    """Reduce the versions of an ApiVersions response, without its size, to those of a profile.

    The features of the broker, which are tagged fields, are left out.
    """
    flexible = version >= _FIRST_FLEXIBLE_VERSION
    head, reader = body[:6], codec.Reader(body[6:], version, flexible)  # correlation id, error code

    def entry() -> tuple[int, int, int]:
        numbers = reader.number("h"), reader.number("h"), reader.number("h")
        reader.tags()
        return numbers

    entries = []
    for key, oldest, latest in reader.array(entry):
        profile_oldest, profile_latest = profile.versions.get(key, (0, -1))
        oldest, latest = max(oldest, profile_oldest), min(latest, profile_latest)
        if oldest <= latest:
            entries.append(codec.pack("hhh", key, oldest, latest) + codec.tags(flexible))
    throttle_time = codec.pack("i", reader.number("i")) if version else b""
    return head + codec.array(entries, flexible) + throttle_time + codec.tags(flexible)


def _unsupported_api_versions(correlation_id: int, profile: BrokerProfile) -> bytes:
    """Return a response of version 0 with the versions of ApiVersions, as brokers do (KIP-511)."""
    oldest, latest = profile.versions[ApiKey.API_VERSIONS]
    numbers = (correlation_id, ErrorCode.UNSUPPORTED_VERSION, 1, ApiKey.API_VERSIONS, oldest, latest)
    body = struct.pack(">ihihhh", *numbers)
    return struct.pack(">i", len(body)) + body
