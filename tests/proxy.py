"""TCP proxies that can cut, stall, delay and throttle connections, to simulate network failures."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from types import TracebackType

from kafka_sql.embedded.loopback import HOST
from tests.background_loop import BackgroundLoop

_CHUNK = 16_384
_QUEUED_CHUNKS = 64

Chunk = tuple[float, bytes]


class ProxyNetwork:
    """Proxies on 127.0.0.1 in one thread, for a ``with`` block. Failures apply to all of them.

    Args:
        ports: the target port of each listening port.
    """

    def __init__(self, ports: dict[int, int]) -> None:
        self._ports = ports
        self._delay, self._rate, self._is_cut = 0.0, 0.0, False
        self._open: set[asyncio.StreamWriter] = set()
        self._servers: list[asyncio.Server] = []
        self._background = BackgroundLoop()
        self._gate = asyncio.Event()  # of new connections
        self._gate.set()

    def __enter__(self) -> ProxyNetwork:
        self._background.start()
        for port, target in self._ports.items():
            self._background.run(self._listen(port, target))
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._background.run(self._stop())
        self._background.close()

    def cut(self) -> None:
        """Reset all connections, and each new one."""
        self._is_cut = True
        self._call(self._abort)

    def stall(self) -> None:
        """Stop forwarding without closing connections."""
        self._call(self._gate.clear)

    def drop_connections(self) -> None:
        """Stop forwarding on all current connections, as if a firewall had dropped their state; new ones work."""
        self._call(self._gate.clear)
        self._gate = asyncio.Event()
        self._call(self._gate.set)

    def delay(self, seconds: float) -> None:
        """Delay all bytes."""
        self._delay = seconds

    def limit(self, bytes_per_second: float) -> None:
        """Limit the rate of each connection and direction."""
        self._rate = bytes_per_second

    def restore(self) -> None:
        """End all failures, and forward what was stalled."""
        self._is_cut, self._delay, self._rate = False, 0.0, 0.0
        self._call(self._gate.set)

    def _call(self, function: Callable[[], object]) -> None:
        async def call() -> None:
            function()

        self._background.run(call())

    async def _listen(self, port: int, target: int) -> None:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            # when the proxy stops: asyncio requests the exception of each task, which a canceled one does not have
            with contextlib.suppress(asyncio.CancelledError):
                await self._connected(reader, writer, target)

        self._servers.append(await asyncio.start_server(connected, HOST, port))

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: int) -> None:
        try:
            if self._is_cut:
                raise ConnectionError
            target_reader, target_writer = await asyncio.open_connection(HOST, target)
        except OSError:  # as when a broker is down
            writer.transport.abort()
            return
        self._open |= {writer, target_writer}
        gate = self._gate
        tasks = []
        for source, sink in ((reader, target_writer), (target_reader, writer)):
            queue: asyncio.Queue[Chunk] = asyncio.Queue(_QUEUED_CHUNKS)
            tasks += [
                asyncio.create_task(self._receive(source, queue)),
                asyncio.create_task(self._send(queue, sink, gate)),
            ]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for each in (writer, target_writer):
            each.transport.abort()
            self._open.discard(each)

    async def _receive(self, source: asyncio.StreamReader, queue: asyncio.Queue[Chunk]) -> None:
        while data := await source.read(_CHUNK):
            await queue.put((self._background.loop.time() + self._delay, data))
        while not queue.empty():
            await asyncio.sleep(0.01)  # the rest is still to be sent

    async def _send(self, queue: asyncio.Queue[Chunk], sink: asyncio.StreamWriter, gate: asyncio.Event) -> None:
        while True:
            when, data = await queue.get()
            await asyncio.sleep(when - self._background.loop.time())
            if self._rate:
                await asyncio.sleep(len(data) / self._rate)
            await gate.wait()
            sink.write(data)
            await sink.drain()

    def _abort(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def _stop(self) -> None:
        for server in self._servers:
            server.close()
        self._abort()
