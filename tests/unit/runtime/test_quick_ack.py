"""A worker acknowledges at once what follows a task."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from kafka_sql.runtime import quick_ack
from kafka_sql.runtime.quick_ack import QuickAckMixin

Ends = tuple[socket.socket, socket.socket]


class Task(QuickAckMixin):
    def __init__(self, rows: int) -> None:
        self.rows = rows


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ends]:
    """Yield both ends of a connection on which both sides have sent data, like Spark and a worker."""
    monkeypatch.setattr(quick_ack, "_connections", None)
    with ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        ours = stack.enter_context(socket.create_connection(listening.getsockname()))
        theirs = stack.enter_context(listening.accept()[0])
        exchange(ours, theirs)
        yield ours, theirs
        for connection in quick_ack._connections or ():
            connection.close()


def exchange(ours: socket.socket, theirs: socket.socket) -> None:
    for _ in range(50):
        theirs.sendall(b"task")
        assert ours.recv(4) == b"task"
        ours.sendall(b"rows")
        assert theirs.recv(4) == b"rows"


def delays(end: socket.socket) -> tuple[bool, bool]:
    """Return whether it waits for acknowledgements, and whether it delays its own."""
    delays_acks = hasattr(socket, "TCP_QUICKACK") and not end.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK)
    return not end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), delays_acks


def test_unpickling_a_task_enables_quick_acknowledgements(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = ends
    sent = pickle.dumps(Task(3))
    monkeypatch.setattr(quick_ack, "is_worker", lambda: True)
    for _ in range(2):
        assert delays(ours)[1] is hasattr(socket, "TCP_QUICKACK")  # the kernel has resumed delays
        assert pickle.loads(sent).rows == 3  # pickled above
        assert delays(ours) == (False, False)
        exchange(ours, theirs)


def test_connections_are_unchanged_outside_workers(ends: Ends) -> None:
    before = delays(ends[0])
    assert pickle.loads(pickle.dumps(Task(3))).rows == 3  # pickled above
    assert delays(ends[0]) == before == (True, hasattr(socket, "TCP_QUICKACK"))
