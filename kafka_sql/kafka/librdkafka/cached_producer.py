"""Producers: one that is the block's own, and one that is kept for the worker's next task."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from kafka_sql.kafka.client_cache import Kept
from kafka_sql.kafka.librdkafka import bindings
from kafka_sql.kafka.librdkafka.client import Handle, open_handle, patience
from kafka_sql.kafka.librdkafka.producer import Producer

_LOOK_MS: Final = 500


@dataclass
class _Client:
    handle: Handle
    failures: list[tuple[int, str]]  # code and place of each record that was not acknowledged

    def rested(self) -> bool:
        bindings.poll(self.handle.pointer, 0)
        return not self.failures and not bindings.queue_length(self.handle.pointer)

    def renew(self) -> None:
        self.handle.forget()


@contextmanager
def open_producer(config: Mapping[str, str], topic: str | None = None, table: str | None = None) -> Iterator[Producer]:
    """A producer for the time of a ``with`` block; leaving it by an error drops what is still queued.

    Args:
        table: its name, for errors.
    """
    with ExitStack() as stack, _producer(_made(config, stack), config, topic, table) as producer:
        yield producer


@contextmanager
def kept_producer(config: Mapping[str, str], topic: str | None = None, table: str | None = None) -> Iterator[Producer]:
    """The same by a client that the process keeps: a new one waits for its connections and its producer id."""
    with _KEPT.use(config) as client, _producer(client, config, topic, table) as producer:
        if topic is not None:  # it may have been made anew since the client's last use
            await_answer(client.handle, patience(config), producer.handle_of(topic))
        yield producer


@contextmanager
def _producer(client: _Client, config: Mapping[str, str], topic: str | None, table: str | None) -> Iterator[Producer]:
    label = f"Table '{table}': " if table else ""
    producer = Producer(topic, label, patience(config), client.handle, client.failures)
    try:
        yield producer
    finally:
        producer.close()


def _made(config: Mapping[str, str], stack: ExitStack) -> _Client:
    failures: list[tuple[int, str]] = []

    def on_delivery(_: int, message: Any, __: int) -> None:
        failed = message.contents
        name = bindings.topic_name(failed.topic_handle).decode()
        # a record that was refused before it had a partition has none
        place = f"{name}[{failed.partition}]" if failed.partition >= 0 else f"topic '{name}'"
        failures.append((failed.err, place))

    # reports only for failures: an acknowledged record costs no call into Python
    mine = {"allow.auto.create.topics": "false", **config, "delivery.report.only.error": "true"}
    handle = stack.enter_context(open_handle(bindings.PRODUCER, mine, bindings.DELIVERY_CALLBACK(on_delivery)))
    return _Client(handle, failures)


def _connected(config: Mapping[str, str], stack: ExitStack) -> _Client:
    """A client whose brokers have answered, unless they are away for longer than a connection takes.

    librdkafka asks for its producer id when its brokers answer for their metadata, and else looks only every half
    second whether one is there. This answer may come before it first looks; another follows with the topic's.
    """
    client = _made(config, stack)
    await_answer(client.handle, patience(config))
    return client


def await_answer(handle: Handle, seconds: float, topic: int | None = None) -> None:
    """Return when any broker has answered what it knows of a topic, or at the end of the time.

    Args:
        topic: librdkafka's handle, which learns of it; None for the brokers alone.

    Raises:
        AuthenticationError: they refuse the client.
    """
    answer, deadline = ctypes.c_void_p(), time.monotonic() + seconds
    while bindings.cluster_metadata(handle.pointer, 0, topic, ctypes.byref(answer), _LOOK_MS):
        bindings.poll(handle.pointer, 0)  # a bearer token is fetched from here
        handle.check()
        if time.monotonic() > deadline:
            return
    bindings.cluster_metadata_destroy(answer)


_KEPT: Final = Kept(_connected)
