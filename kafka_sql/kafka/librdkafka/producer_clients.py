"""Open producers: with a new client, or with one that is kept for the worker's next task."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, Message

from kafka_sql.kafka.client_cache import ClientCache
from kafka_sql.kafka.config.properties import DELIVERY_TIMEOUT, TRANSACTION_TIMEOUT, connect_timeout
from kafka_sql.kafka.delivery_errors import begin_transaction_error
from kafka_sql.kafka.librdkafka.client import open_client
from kafka_sql.kafka.librdkafka.producer import Producer, ProducerClient
from kafka_sql.kafka.protocol.retries import block_limit

_METADATA_SECONDS: Final = 0.5
_ABORT_SECONDS: Final = 5.0
# with librdkafka's default backoffs, an initialization of 17 ms takes 55 or 505 ms
_SHORT_BACKOFFS: Final = {"reconnect.backoff.ms": "10", "retry.backoff.ms": "10"}


@contextmanager
def open_producer(config: Mapping[str, str], topic: str | None = None, table: str | None = None) -> Iterator[Producer]:
    """Open a producer with a new client for a ``with`` block. On leaving the block, queued records are dropped.

    Args:
        topic: the topic of records that do not name one.
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
            await_metadata(client, topic, connect_timeout(config))
        yield producer


@contextmanager
def _producer(
    client: ProducerClient, config: Mapping[str, str], topic: str | None, table: str | None
) -> Iterator[Producer]:
    label = f"Table '{table}': " if table else ""
    producer = Producer(topic, label, block_limit(config), client)
    try:
        yield producer
    finally:
        producer.close()


def _create(config: Mapping[str, str], stack: ExitStack) -> ProducerClient:
    failures: list[tuple[int, str, int | None]] = []

    def on_delivery(error: KafkaError, message: Message) -> None:
        partition = message.partition()
        is_assigned = partition is not None and partition >= 0
        failures.append((error.code(), str(message.topic()), partition if is_assigned else None))

    settings = {"allow.auto.create.topics": "false", **config}
    settings.pop("delivery.report.only.error", None)
    callbacks: dict[str, Any] = {"on_delivery": on_delivery, "delivery.report.only.error": True}
    client = ProducerClient(*open_client(confluent_kafka.Producer, settings, **callbacks), failures)
    stack.callback(client.close)
    return client


def await_metadata(client: ProducerClient, topic: str, seconds: float) -> None:
    """Wait until any broker has returned the metadata of a topic, or until the timeout.

    librdkafka requests its producer id when it receives metadata, and otherwise only checks every half second whether
    a broker is connected. A new client's first response may come before it can use the broker, so this waits for two.

    Raises:
        AuthenticationError: the brokers reject the client.
    """
    deadline, responses = time.monotonic() + seconds, 0
    while responses < 2 and time.monotonic() < deadline:
        try:
            client.producer.list_topics(topic, _METADATA_SECONDS)
            responses += 1
        except KafkaException:
            client.poll(0)  # a bearer token is fetched in this call
            client.errors.raise_if_rejected()


_CACHE: Final = ClientCache(_create)


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
