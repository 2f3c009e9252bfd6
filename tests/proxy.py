"""A TCP proxy that can be cut, held, slowed down and narrowed: a network for tests. It rewrites nothing."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any

from kafka_sql.embedded.protocol_probe import HOST

_CHUNK = 16_384
_AHEAD = 64  # chunks that are on their way

Chunk = tuple[float, bytes]


class Network:
    """Proxies on 127.0.0.1, in a thread of their own, all of which behave alike; for a ``with`` block.

    Args:
        ways: the port that is listened on, and the one behind it.
    """

    def __init__(self, ways: dict[int, int]) -> None:
        self._ways = ways
        self._delay, self._rate, self._is_cut = 0.0, 0.0, False
        self._open: set[asyncio.StreamWriter] = set()
        self._servers: list[asyncio.Server] = []
        self._loop = asyncio.new_event_loop()
        self._gate = asyncio.Event()  # of connections that are made from now on
        self._gate.set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Network:
        self._thread.start()
        for port, target in self._ways.items():
            self._do(self._listen(port, target))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self) -> None:
        """Connections are reset, and so is each new one."""
        self._is_cut = True
        self._call(self._abort)

    def stall(self) -> None:
        """Nothing gets through, and nobody is told."""
        self._call(self._gate.clear)

    def drop_connections(self) -> None:
        """Connections stay silent for good, as if a firewall had forgotten them; new ones are well."""
        self._call(self._gate.clear)
        self._gate = asyncio.Event()
        self._call(self._gate.set)

    def delay(self, seconds: float) -> None:
        """Each byte comes so much later."""
        self._delay = seconds

    def limit(self, bytes_per_second: float) -> None:
        """So much of each connection and direction."""
        self._rate = bytes_per_second

    def restore(self) -> None:
        """As at the beginning; what was held goes on its way."""
        self._is_cut, self._delay, self._rate = False, 0.0, 0.0
        self._call(self._gate.set)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def _call(self, work: Callable[[], object]) -> None:
        async def call() -> None:
            work()

        self._do(call())

    async def _listen(self, port: int, target: int) -> None:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            # at the network's end: asyncio asks each of these for its exception, which a cancelled one does not have
            with contextlib.suppress(asyncio.CancelledError):
                await self._connected(reader, writer, target)

        self._servers.append(await asyncio.start_server(connected, HOST, port))

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: int) -> None:
        try:
            if self._is_cut:
                raise ConnectionError
            behind, onward = await asyncio.open_connection(HOST, target)
        except OSError:  # as when a broker is down
            writer.transport.abort()
            return
        self._open |= {writer, onward}
        gate = self._gate
        tasks = []
        for source, sink in ((reader, onward), (behind, writer)):
            line: asyncio.Queue[Chunk] = asyncio.Queue(_AHEAD)
            tasks += [asyncio.create_task(self._take(source, line)), asyncio.create_task(self._give(line, sink, gate))]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for one in (writer, onward):
            one.transport.abort()
            self._open.discard(one)

    async def _take(self, source: asyncio.StreamReader, line: asyncio.Queue[Chunk]) -> None:
        while data := await source.read(_CHUNK):
            await line.put((self._loop.time() + self._delay, data))
        while not line.empty():
            await asyncio.sleep(0.01)  # the rest is still to be given

    async def _give(self, line: asyncio.Queue[Chunk], sink: asyncio.StreamWriter, gate: asyncio.Event) -> None:
        while True:
            when, data = await line.get()
            await asyncio.sleep(when - self._loop.time())
            if self._rate:
                await asyncio.sleep(len(data) / self._rate)
            await gate.wait()
            sink.write(data)
            await sink.drain()

    def _abort(self) -> None:
        for one in self._open:
            one.transport.abort()

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        self._abort()
        rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
