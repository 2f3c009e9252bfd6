"""Produce in a transaction that stays open: the first phase of a two-phase commit.

A transaction outlives its producer: it stays open on the brokers when the client is closed. Any client that knows
its transactional id, producer id and epoch can end it (``protocol.transaction_admin``). After
``transaction.timeout.ms`` the brokers abort it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from confluent_kafka import KafkaException

from kafka_sql.kafka.config.properties import DELIVERY_TIMEOUT, TRANSACTION_TIMEOUT
from kafka_sql.kafka.delivery_errors import begin_transaction_error
from kafka_sql.kafka.librdkafka.producer import Producer
from kafka_sql.kafka.librdkafka.producer_clients import await_metadata, open_producer

_ABORT_SECONDS: Final = 5.0
# with librdkafka's default backoffs, an initialization of 17 ms takes 55 or 505 ms
_SHORT_BACKOFFS: Final = {"reconnect.backoff.ms": "10", "retry.backoff.ms": "10"}


@contextmanager
def open_transaction(
    config: Mapping[str, str], transactional_id: str, topic: str | None = None, table: str | None = None
) -> Iterator[Producer]:
    """Open a producer with a new transaction for a ``with`` block.

    Leaving the block closes the producer and leaves the transaction open; flush before. If the block raises, the
    transaction is aborted if possible. A transaction without records does not exist on the brokers.

    Args:
        config: librdkafka's configuration, with ``transaction.timeout.ms``.
        transactional_id: a running producer with the same id is fenced, and its transaction aborted.
        topic: the topic of records that do not name one.
        table: its name, for error messages.

    Raises:
        TransactionError: the brokers reject the transaction.
        AuthorizationError: the user may not write with the transactional id.
        BrokerError: the brokers do not respond.
    """
    settings = {**_SHORT_BACKOFFS, **config, "transactional.id": transactional_id, "enable.idempotence": "true"}
    # wait for unavailable brokers and loading coordinators for as long as while records are sent
    wait = int(settings[DELIVERY_TIMEOUT])
    # librdkafka requires that delivery.timeout.ms is at most transaction.timeout.ms
    settings[DELIVERY_TIMEOUT] = str(min(int(settings[DELIVERY_TIMEOUT]), int(settings[TRANSACTION_TIMEOUT])))
    with open_producer(settings, topic, table) as producer:
        client = producer._client
        if topic is not None:  # without metadata, librdkafka looks up its coordinator half a second later
            await_metadata(client, topic, wait / 1000)
        try:
            client.producer.init_transactions(wait / 1000)
            client.producer.begin_transaction()
        except KafkaException as e:
            client.poll(0)
            error, causes = e.args[0], f" Client: {client.errors.causes()}."
            raise begin_transaction_error(transactional_id, error.code(), error.str(), settings, causes) from None
        try:
            yield producer
        except BaseException:
            with suppress(KafkaException, UnicodeDecodeError):
                client.producer.abort_transaction(_ABORT_SECONDS)
            raise
