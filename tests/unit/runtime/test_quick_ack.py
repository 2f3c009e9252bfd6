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
    """Both ends of a connection in which each side has answered the other, as Spark's and a worker's have."""
    monkeypatch.setattr(quick_ack, "_connections", None)
    with ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        ours = stack.enter_context(socket.create_connection(listening.getsockname()))
        theirs = stack.enter_context(listening.accept()[0])
        converse(ours, theirs)
        yield ours, theirs
        for one in quick_ack._connections or ():
            one.close()


def converse(ours: socket.socket, theirs: socket.socket) -> None:
    for _ in range(50):
        theirs.sendall(b"task")
        assert ours.recv(4) == b"task"
        ours.sendall(b"rows")
        assert theirs.recv(4) == b"rows"


def waits(end: socket.socket) -> tuple[bool, bool]:
    """Whether it waits for acknowledgements, and whether it delays its own."""
    delays = hasattr(socket, "TCP_QUICKACK") and not end.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK)
    return not end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), delays


def test_a_task_that_has_come_makes_its_worker_prompt(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = ends
    sent = pickle.dumps(Task(3))
    monkeypatch.setattr(quick_ack, "is_worker", lambda: True)
    for _ in range(2):
        assert waits(ours)[1] is hasattr(socket, "TCP_QUICKACK")  # the kernel has gone back to delays
        assert pickle.loads(sent).rows == 3  # made here
        assert waits(ours) == (False, False)
        converse(ours, theirs)


def test_a_program_s_connections_are_let_be(ends: Ends) -> None:
    before = waits(ends[0])
    assert pickle.loads(pickle.dumps(Task(3))).rows == 3  # made here
    assert waits(ends[0]) == before == (True, hasattr(socket, "TCP_QUICKACK"))
