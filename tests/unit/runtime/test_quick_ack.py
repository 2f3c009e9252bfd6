"""Test that a worker acknowledges the input after a task at once."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from pyspark.sql.datasource import DataSource

from kafka_sql.catalog.builtin_source import BuiltinTable
from kafka_sql.catalog.data_source import KafkaTable
from kafka_sql.catalog.options_source import KafkaSource
from kafka_sql.runtime import workers
from kafka_sql.runtime.workers import QuickAckMixin

Connection = tuple[socket.socket, socket.socket]


class Task(QuickAckMixin):
    def __init__(self, rows: int) -> None:
        self.rows = rows


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    """Yield both ends of a connection on which both sides have sent data, like Spark and a worker."""
    monkeypatch.setattr(workers, "_connections", None)
    with ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        worker = stack.enter_context(socket.create_connection(listening.getsockname()))
        spark = stack.enter_context(listening.accept()[0])
        exchange(worker, spark)
        yield worker, spark
        for cached in workers._connections or ():
            cached.close()


def exchange(worker: socket.socket, spark: socket.socket) -> None:
    for _ in range(50):
        spark.sendall(b"task")
        assert worker.recv(4) == b"task"
        worker.sendall(b"rows")
        assert spark.recv(4) == b"rows"


def delays(end: socket.socket) -> tuple[bool, bool]:
    """Return whether a socket waits for acknowledgements before it sends, and whether it delays its own."""
    delays_acks = hasattr(socket, "TCP_QUICKACK") and not end.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK)
    return not end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), delays_acks


def test_unpickling_a_task_enables_quick_acknowledgements(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, spark = connection
    sent = pickle.dumps(Task(3))
    monkeypatch.setattr(workers, "is_worker", lambda: True)
    for _ in range(2):
        assert delays(worker)[1] is hasattr(socket, "TCP_QUICKACK")  # the kernel has resumed delays
        assert pickle.loads(sent).rows == 3  # pickled above
        assert delays(worker) == (False, False)
        exchange(worker, spark)


@pytest.mark.parametrize("data_source", [KafkaTable, KafkaSource, BuiltinTable])
def test_unpickling_a_data_source_enables_quick_acknowledgements(
    data_source: type[DataSource], connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = pickle.dumps(data_source({}))
    monkeypatch.setattr(workers, "is_worker", lambda: True)
    pickle.loads(sent)  # pickled above
    assert delays(connection[0]) == (False, False)


def test_connections_are_unchanged_outside_workers(connection: Connection) -> None:
    before = delays(connection[0])
    assert pickle.loads(pickle.dumps(Task(3))).rows == 3  # pickled above
    assert delays(connection[0]) == before == (True, hasattr(socket, "TCP_QUICKACK"))
