"""Which producer writes a table: a direct one, or librdkafka's where its settings or its rows need that."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Final

from kafka_sql.definition import Definition
from kafka_sql.kafka.direct.eligibility import writes
from kafka_sql.kafka.direct.producer import DirectProducer, kept_direct_producer
from kafka_sql.kafka.direct.transactional_producer import open_direct_transaction
from kafka_sql.kafka.librdkafka.cached_producer import kept_producer
from kafka_sql.kafka.librdkafka.producer import Producer
from kafka_sql.kafka.librdkafka.transaction import open_transaction
from kafka_sql.sink.metadata import single_topic

_OF_A_ROW: Final = frozenset({"timestamp", "headers", "header-list", "topic"})

AnyProducer = DirectProducer | Producer


def table_producer(definition: Definition) -> AbstractContextManager[AnyProducer]:
    """A producer for a task."""
    topic = single_topic(definition)
    if topic is not None and direct(definition):
        return kept_direct_producer(definition.client, topic, definition.name)
    return kept_producer(definition.client, topic, definition.name)


def table_transaction(
    definition: Definition, config: Mapping[str, str], transactional_id: str
) -> AbstractContextManager[AnyProducer]:
    """The same inside a transaction, which it leaves open. Enter a direct one before there are rows, others after.

    Args:
        config: the table's, with ``transaction.timeout.ms``.
    """
    topic = single_topic(definition)
    if topic is not None and direct(definition):
        return open_direct_transaction(config, transactional_id, topic, definition.name)
    return open_transaction(config, transactional_id, topic, definition.name)


def direct(definition: Definition) -> bool:
    """Whether librdkafka is not needed."""
    said = {column.metadata for column in definition.table.persisted}
    return not said & _OF_A_ROW and writes(definition.client)
