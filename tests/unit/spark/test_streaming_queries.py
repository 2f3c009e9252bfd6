"""Listeners are removed at exit, so that the JVM does not log events that Python can no longer receive."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from kafka_sql.spark import streaming_queries
from kafka_sql.spark.streaming_queries import add_listener


@pytest.fixture(autouse=True)
def callback_servers(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The gateways whose callback server has been started."""
    gateways: list[object] = []
    monkeypatch.setattr(streaming_queries, "start_callback_server", gateways.append)
    return gateways


@pytest.fixture
def at_exit(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    functions: list[Callable[[], object]] = []
    monkeypatch.setattr(atexit, "register", lambda function, *arguments: functions.append(lambda: function(*arguments)))
    return functions


class Context:
    """A SparkContext that records how long its event queue was waited for, in milliseconds."""

    def __init__(self, is_stopped: bool = False) -> None:
        self.waits: list[int] = []
        self._gateway = object()
        bus = SimpleNamespace(waitUntilEmpty=self.waits.append)
        self._jsc = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: is_stopped, listenerBus=lambda: bus))


def session(listeners: list[object], **attributes: object) -> Any:
    streams = SimpleNamespace(addListener=listeners.append, removeListener=listeners.remove)
    return SimpleNamespace(streams=streams, **attributes)


def test_a_listener_is_removed_at_exit(at_exit: list[Callable[[], object]], callback_servers: list[object]) -> None:
    listeners: list[object] = []
    listener: Any = object()
    context = Context()
    add_listener(session(listeners, _sc=context), listener)
    assert (listeners, callback_servers) == ([listener], [context._gateway])
    (remove,) = at_exit
    remove()
    assert listeners == []
    assert context.waits == [1000]


def test_a_stopped_session_has_no_listeners(at_exit: list[Callable[[], object]]) -> None:
    listeners: list[object] = []
    listener: Any = object()
    context = Context(is_stopped=True)
    add_listener(session(listeners, _sc=context), listener)
    at_exit[0]()
    assert (listeners, context.waits) == ([listener], [])


def test_a_jvm_that_has_ended_is_not_an_error(at_exit: list[Callable[[], object]]) -> None:
    spark = session([], _sc=Context())
    listener: Any = object()
    add_listener(spark, listener)

    def fail(_: object) -> None:
        raise Py4JNetworkError("no answer from Java")

    spark.streams.removeListener = fail
    at_exit[0]()


def test_a_connect_client_has_its_own_end(at_exit: list[Callable[[], object]]) -> None:
    listeners: list[object] = []
    listener: Any = object()
    add_listener(session(listeners), listener)
    assert (listeners, at_exit) == ([listener], [])
