"""Open producers: with a new client, or with one that is kept for the worker's next task."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from kafka_sql.kafka import bindings
from kafka_sql.kafka.client_cache import ClientCache
from kafka_sql.kafka.config.properties import connect_timeout
from kafka_sql.kafka.librdkafka.client import Handle, open_handle
from kafka_sql.kafka.librdkafka.producer import Producer

_METADATA_MS: Final = 500


@dataclass
class _Client:
    handle: Handle
    failures: list[tuple[int, str]]  # error code and topic partition of each record that was not acknowledged

    def is_reusable(self) -> bool:
        bindings.poll(self.handle.pointer, 0)
        return not self.failures and not bindings.queue_length(self.handle.pointer)

    def on_reuse(self) -> None:
        self.handle.clear_errors()


@contextmanager
def open_producer(config: Mapping[str, str], topic: str | None = None, table: str | None = None) -> Iterator[Producer]:
    """Open a producer with a new client for a ``with`` block. On leaving the block, queued records are dropped.

    Args:
        config: librdkafka's, with references to secrets.
        topic: the topic of records that do not name one.
        table: its name, for error messages.
    """
    with ExitStack() as stack, _producer(_create(config, stack), config, topic, table) as producer:
        yield producer


@contextmanager
def cached_producer(
    config: Mapping[str, str], topic: str | None = None, table: str | None = None
) -> Iterator[Producer]:
    """Open a producer with the client that the process keeps; see ``open_producer``.

    A new client has to wait for its connections and its producer id.
    """
    with _CACHE.lease(config) as client, _producer(client, config, topic, table) as producer:
        if topic is not None:  # it may have been recreated since the client's last use
            await_metadata(client.handle, connect_timeout(config), producer.topic_handle(topic))
        yield producer


@contextmanager
def _producer(client: _Client, config: Mapping[str, str], topic: str | None, table: str | None) -> Iterator[Producer]:
    label = f"Table '{table}': " if table else ""
    producer = Producer(topic, label, connect_timeout(config), client.handle, client.failures)
    try:
        yield producer
    finally:
        producer.close()


def _create(config: Mapping[str, str], stack: ExitStack) -> _Client:
    failures: list[tuple[int, str]] = []

    def on_delivery(_: int, message: Any, __: int) -> None:
        failed = message.contents
        name = bindings.topic_name(failed.topic_handle).decode()
        # a record that was rejected before it was assigned to a partition has none
        where = f"{name}[{failed.partition}]" if failed.partition >= 0 else f"topic '{name}'"
        failures.append((failed.err, where))

    # only failures are reported: an acknowledged record costs no call into Python
    settings = {"allow.auto.create.topics": "false", **config, "delivery.report.only.error": "true"}
    handle = stack.enter_context(open_handle(bindings.PRODUCER, settings, bindings.DELIVERY_CALLBACK(on_delivery)))
    return _Client(handle, failures)


def _create_connected(config: Mapping[str, str], stack: ExitStack) -> _Client:
    """Create a client and wait for its brokers' first response, at most for the connection timeout.

    librdkafka requests its producer id when it receives metadata, and otherwise only checks every half second whether
    a broker is connected. This response may come before its first check; another one follows for the topic.
    """
    client = _create(config, stack)
    await_metadata(client.handle, connect_timeout(config))
    return client


def await_metadata(handle: Handle, seconds: float, topic: int | None = None) -> None:
    """Wait until any broker has returned the metadata of a topic, or until the time is over.

    Args:
        handle: the client, which learns of the topic.
        topic: the topic's handle; None to wait for any broker.

    Raises:
        AuthenticationError: the brokers reject the client.
    """
    response, deadline = ctypes.c_void_p(), time.monotonic() + seconds
    while bindings.cluster_metadata(handle.pointer, 0, topic, ctypes.byref(response), _METADATA_MS):
        bindings.poll(handle.pointer, 0)  # a bearer token is fetched in this call
        handle.raise_if_rejected()
        if time.monotonic() > deadline:
            return
    bindings.cluster_metadata_destroy(response)


_CACHE: Final = ClientCache(_create_connected)
