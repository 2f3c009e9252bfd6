"""A producer that leaves an open transaction behind: the first half of a two-phase commit.

A transaction outlives its producer. It stays open on the brokers when the handle is destroyed, and whoever knows its
id, producer id and epoch may end it (``protocol.transactions``); after ``transaction.timeout.ms`` the brokers abort it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from kafka_sql.kafka.config.properties import DELIVERY_TIMEOUT, TRANSACTION_TIMEOUT
from kafka_sql.kafka.delivery_errors import not_begun
from kafka_sql.kafka.librdkafka import bindings
from kafka_sql.kafka.librdkafka.cached_producer import await_answer, open_producer
from kafka_sql.kafka.librdkafka.producer import Producer

_ABORT_MS: Final = 5000
# librdkafka's own waits would make of an initialisation of 17 ms one of 55 or 505
_SWIFT: Final = {"reconnect.backoff.ms": "10", "retry.backoff.ms": "10"}


@contextmanager
def open_transaction(
    config: Mapping[str, str], transactional_id: str, topic: str | None = None, table: str | None = None
) -> Iterator[Producer]:
    """A producer inside a transaction that is its own.

    Leaving the block lets go of the transaction and commits nothing: flush first. Leaving it by an error aborts it, as
    well as that can be done. A transaction without records is none: the brokers know nothing of it.

    Args:
        config: librdkafka's, with ``transaction.timeout.ms``.
        transactional_id: a producer that still has it is fenced, and its transaction aborted.
        topic: where records without a topic of their own go.
        table: its name, for errors.

    Raises:
        TransactionError: the brokers refuse the transaction.
        AuthorizationError: the user may not write under the transactional id.
        BrokerError: they do not answer.
    """
    mine = {**_SWIFT, **config, "transactional.id": transactional_id, "enable.idempotence": "true"}
    # brokers that are away, or a coordinator that loads, may come back, as while records are sent
    wait = int(mine[DELIVERY_TIMEOUT])
    # librdkafka takes no longer wait for a record than for its transaction
    mine[DELIVERY_TIMEOUT] = str(min(int(mine[DELIVERY_TIMEOUT]), int(mine[TRANSACTION_TIMEOUT])))
    with open_producer(mine, topic, table) as producer:
        handle = producer._handle
        await_answer(handle, wait / 1000)  # librdkafka looks for its coordinator then, else in half a second
        _check(bindings.init_transactions(handle.pointer, wait), producer, transactional_id, mine)
        _check(bindings.begin_transaction(handle.pointer), producer, transactional_id, mine)
        try:
            yield producer
        except BaseException:
            error = bindings.abort_transaction(handle.pointer, _ABORT_MS)
            if error:
                bindings.error_destroy(error)
            raise


def _check(error: int | None, producer: Producer, transactional_id: str, config: Mapping[str, str]) -> None:
    if not error:
        return
    code, words = bindings.error_code(error), bindings.error_string(error).decode(errors="replace")
    bindings.error_destroy(error)
    bindings.poll(producer._handle.pointer, 0)
    raise not_begun(transactional_id, code, words, config, f" Client: {producer._handle.causes()}.")
