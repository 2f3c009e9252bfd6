"""Choose the producer of a table: the direct one, or librdkafka's if the table's settings need it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager

from kafka_sql.definition import Definition
from kafka_sql.kafka.direct.eligibility import can_write
from kafka_sql.kafka.direct.producer import DirectProducer, cached_direct_producer
from kafka_sql.kafka.direct.transactional_producer import open_direct_transaction
from kafka_sql.kafka.librdkafka.producer import Producer
from kafka_sql.kafka.librdkafka.producer_clients import cached_producer
from kafka_sql.kafka.librdkafka.transaction import open_transaction
from kafka_sql.sink.metadata import single_topic

AnyProducer = DirectProducer | Producer


def table_producer(definition: Definition) -> AbstractContextManager[AnyProducer]:
    """Return a producer for a task."""
    topic = single_topic(definition)
    if can_use_direct(definition):
        return cached_direct_producer(definition.client_config, topic, definition.name)
    return cached_producer(definition.client_config, topic, definition.name)


def table_transaction(
    definition: Definition, config: Mapping[str, str], transactional_id: str
) -> AbstractContextManager[AnyProducer]:
    """Return a producer that begins a transaction on entry and leaves it open on exit.

    A direct producer may be entered before the first row is known; librdkafka's only if there are rows.

    Args:
        config: the table's client configuration with ``transaction.timeout.ms``.
    """
    topic = single_topic(definition)
    if can_use_direct(definition):
        return open_direct_transaction(config, transactional_id, topic, definition.name)
    return open_transaction(config, transactional_id, topic, definition.name)


def can_use_direct(definition: Definition) -> bool:
    """Return whether the direct producer can write the table, so that librdkafka is not needed."""
    return can_write(definition.client_config)
