"""Write with the direct client if it supports the table's settings and the brokers, otherwise with librdkafka."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator, Mapping
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


@contextmanager
def open_producer(
    setting: str, config: Mapping[str, str], topic: str | None, table: str, transactional_id: str | None = None
) -> Iterator[AnyProducer]:
    """Open a producer for a ``with`` block.

    Args:
        setting: the value of 'sink.client'.
        config: with ``transaction.timeout.ms`` for a transaction.
        topic: the topic of records that do not name one.
        transactional_id: of a transaction that begins on entry and stays open on exit. A direct producer may be entered
            before the first row is known; librdkafka's only if there are rows.

    Raises:
        UnsupportedOptionError: 'sink.client' is 'direct', and the direct client does not support the settings.
        UnsupportedVersionError: 'sink.client' is 'direct', and a broker does not support its requests.
        BrokerError: any other broker failure.
    """
    client, reason = choose_writer(setting, config)
    opened: AbstractContextManager[AnyProducer]
    with ExitStack() as stack:
        producer: AnyProducer | None = None
        if client == DIRECT:
            if transactional_id is None:
                opened = cached_direct_producer(config, topic, table)
            else:
                opened = open_direct_transaction(config, transactional_id, topic, table)
            try:
                producer = stack.enter_context(opened)
            except UnsupportedVersionError as e:  # before anything was written
                if setting == DIRECT:
                    raise
                reason = e.message
        if producer is None:
            _log_client(table, f"librdkafka: {reason}")
            if transactional_id is None:
                opened = cached_producer(config, topic, table)
            else:
                opened = open_transaction(config, transactional_id, topic, table)
            producer = stack.enter_context(opened)
        else:
            _log_client(table, "the direct client")
        yield producer


@functools.lru_cache(1_000)
def _log_client(table: str, client: str) -> None:
    """Log once per table and client."""
    _LOG.info("Table '%s': writing with %s", table, client, extra={"table": table})
