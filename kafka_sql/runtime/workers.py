"""Tune Spark's Python workers: garbage collections without loaded modules, and no delayed TCP acknowledgements.

Workers collect garbage after each task, over all objects. With numba, pyarrow and similar packages loaded, this takes
0.1 s of CPU time, more than a small task. Objects of modules live as long as the process anyway.

Neither a worker nor the JVM disables Nagle's algorithm: the second write of one side waits until the other side
acknowledges the first, which it delays by 40 ms if it has nothing to send (RFC 1122, 4.2.3.2 and 4.2.3.4). The JVM
writes a task and then its input, so each task would start that much later. The worker that commits a micro-batch writes
its result in two parts, so each micro-batch would end that much later.
"""

from __future__ import annotations

import gc
import os
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any, Final

from kafka_sql.runtime.worker_main import is_worker

_frozen_modules = 0  # number of modules that were loaded at the last freeze
_TCP_QUICKACK: Final = getattr(socket, "TCP_QUICKACK", None)  # Linux only
_connections: list[socket.socket] | None = None


def freeze_modules() -> None:
    """Freeze all objects of a Spark worker, and again after more modules were loaded.

    Does nothing in other processes: objects of a user's program may become garbage.
    """
    global _frozen_modules
    if len(sys.modules) != _frozen_modules and is_worker():
        gc.collect(1)  # a full collection would take as long as those that this saves
        gc.freeze()
        _frozen_modules = len(sys.modules)


class QuickAckMixin:
    """Enables quick acknowledgements in a worker that unpickles an object of this class.

    For every class whose objects Spark sends to workers: data sources, for planning and commits; readers and writers.
    """

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the attributes, as pickle does by default, and enable quick acknowledgements."""
        self.__dict__.update(state)
        if is_worker():
            _enable_quick_ack()


def _enable_quick_ack() -> None:
    global _connections
    # includes the worker's connection to the JVM; other connections of the process are not harmed
    if _connections is None:
        _connections = list(_tcp_connections())
        for connection in _connections:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if _TCP_QUICKACK is not None:
        for connection in _connections:  # for each task: the kernel resumes delays when the worker writes
            connection.setsockopt(socket.IPPROTO_TCP, _TCP_QUICKACK, 1)


def _tcp_connections() -> Iterator[socket.socket]:
    """Yield the TCP connections of the process, each with a duplicated descriptor."""
    with suppress(FileNotFoundError):  # not available on this system
        for fd in map(int, os.listdir("/dev/fd")):
            # OSError: already closed, like the descriptor of the listing itself, or not connected
            with suppress(OSError), ExitStack() as stack:
                if stat.S_ISSOCK(os.fstat(fd).st_mode):
                    connection = stack.enter_context(socket.socket(fileno=os.dup(fd)))
                    connection.getpeername()
                    if connection.family in (socket.AF_INET, socket.AF_INET6) and connection.type == socket.SOCK_STREAM:
                        stack.pop_all()
                        yield connection
