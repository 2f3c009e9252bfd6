"""Write with the direct client if it supports the table's settings and the brokers, otherwise with librdkafka."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager

from kafka_sql.errors import UnsupportedVersionError
from kafka_sql.kafka.client_choice import choose_writer
from kafka_sql.kafka.direct.writes.producer import DirectProducer, cached_direct_producer
from kafka_sql.kafka.direct.writes.transactional_producer import open_direct_transaction
from kafka_sql.kafka.librdkafka.producer import Producer
from kafka_sql.kafka.librdkafka.producer_clients import cached_producer, open_transaction
from kafka_sql.options.connector import DIRECT

_LOG = logging.getLogger("kafka_sql.kafka")
AnyProducer = DirectProducer | Producer


def open_producer(
    setting: str, config: Mapping[str, str], topic: str | None, table: str
) -> AbstractContextManager[AnyProducer]:
    """Return a producer for a ``with`` block.

    Args:
        setting: the value of 'sink.client'.
        topic: the topic of records that do not name one.

    Raises:
        UnsupportedOptionError: 'sink.client' is 'direct', and the direct client does not support the settings.
        UnsupportedVersionError: 'sink.client' is 'direct', and a broker does not support its requests.
        BrokerError: any other broker failure.
    """
    return _open(
        setting,
        config,
        table,
        lambda: cached_direct_producer(config, topic, table),
        lambda: cached_producer(config, topic, table),
    )


def open_producer_in_transaction(
    setting: str, config: Mapping[str, str], transactional_id: str, topic: str | None, table: str
) -> AbstractContextManager[AnyProducer]:
    """Return a producer that begins a transaction on entry and leaves it open on exit.

    A direct producer may be entered before the first row is known; librdkafka's only if there are rows.

    Args:
        setting, topic, table: as in ``open_producer``.
        config: with ``transaction.timeout.ms``.

    Raises:
        as ``open_producer``.
    """
    return _open(
        setting,
        config,
        table,
        lambda: open_direct_transaction(config, transactional_id, topic, table),
        lambda: open_transaction(config, transactional_id, topic, table),
    )


@contextmanager
def _open(
    setting: str,
    config: Mapping[str, str],
    table: str,
    open_direct: Callable[[], AbstractContextManager[DirectProducer]],
    open_librdkafka: Callable[[], AbstractContextManager[Producer]],
) -> Iterator[AnyProducer]:
    client, reason = choose_writer(setting, config)
    with ExitStack() as stack:
        producer: AnyProducer | None = None
        if client == DIRECT:
            try:
                producer = stack.enter_context(open_direct())
            except UnsupportedVersionError as e:  # before anything was written
                if setting == DIRECT:
                    raise
                reason = e.message
        if producer is None:
            _log_client(table, f"librdkafka: {reason}")
            producer = stack.enter_context(open_librdkafka())
        else:
            _log_client(table, "the direct client")
        yield producer


@functools.lru_cache(1_000)
def _log_client(table: str, client: str) -> None:
    """Log once per table and client."""
    _LOG.info("Table '%s': writing with %s", table, client, extra={"table": table})
