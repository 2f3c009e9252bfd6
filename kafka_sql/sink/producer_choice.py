"""Open the producer of a table, with the client that 'sink.client' chooses."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager

from kafka_sql.definition import Definition
from kafka_sql.kafka.client_choice import choose_writer
from kafka_sql.kafka.produce import AnyProducer, open_producer, open_producer_in_transaction
from kafka_sql.options import connector as opt
from kafka_sql.sink.metadata import single_topic


def table_producer(definition: Definition) -> AbstractContextManager[AnyProducer]:
    """Return a producer for a task."""
    setting, config = definition.options[opt.SINK_CLIENT], definition.client_config
    return open_producer(setting, config, single_topic(definition), definition.name)


def table_transaction(
    definition: Definition, config: Mapping[str, str], transactional_id: str
) -> AbstractContextManager[AnyProducer]:
    """Return a producer in a transaction; see ``open_producer_in_transaction``.

    Args:
        config: the table's client configuration with ``transaction.timeout.ms``.
    """
    setting, topic = definition.options[opt.SINK_CLIENT], single_topic(definition)
    return open_producer_in_transaction(setting, config, transactional_id, topic, definition.name)


def can_use_direct(definition: Definition) -> bool:
    """Return whether the direct client writes the table, unless the brokers do not support it."""
    return choose_writer(definition.options[opt.SINK_CLIENT], definition.client_config).client == opt.DIRECT
