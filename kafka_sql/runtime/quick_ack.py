"""The connection of a worker and Spark's JVM, without waits for acknowledgements.

Neither side turns Nagle's algorithm off: the second part of what one side writes waits until the other acknowledges the
first, and where that one has nothing to say, it does so after 40 ms (RFC 1122, 4.2.3.2 and 4.2.3.4). The JVM writes a
task and then its input, so each task would wait that long before it begins.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any, Final

from kafka_sql.runtime.worker_process import is_worker

_ACKNOWLEDGE_AT_ONCE: Final = getattr(socket, "TCP_QUICKACK", None)  # Linux has it
_connections: list[socket.socket] | None = None


class Prompt:
    """A part of what Spark sends as a task: once a worker has it, it acknowledges at once what follows."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """As pickle does without it."""
        self.__dict__.update(state)
        if is_worker():
            _be_prompt()


def _be_prompt() -> None:
    global _connections
    if _connections is None:  # a worker has one as long as it lives; to others of the process it does no harm
        _connections = list(_connected())
        for connection in _connections:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if _ACKNOWLEDGE_AT_ONCE is not None:
        for connection in _connections:  # for each task anew: the kernel goes back to delays when the worker answers
            connection.setsockopt(socket.IPPROTO_TCP, _ACKNOWLEDGE_AT_ONCE, 1)


def _connected() -> Iterator[socket.socket]:
    """The process' TCP connections, each under a descriptor of its own."""
    with suppress(FileNotFoundError):  # a system without this folder
        for fd in map(int, os.listdir("/dev/fd")):
            with suppress(OSError), ExitStack() as stack:  # not open any more, as the listing's own, or not connected
                if stat.S_ISSOCK(os.fstat(fd).st_mode):
                    found = stack.enter_context(socket.socket(fileno=os.dup(fd)))
                    found.getpeername()
                    if found.family in (socket.AF_INET, socket.AF_INET6) and found.type == socket.SOCK_STREAM:
                        stack.pop_all()
                        yield found
