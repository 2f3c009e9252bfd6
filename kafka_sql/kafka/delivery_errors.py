"""Why a record was not written, or a transaction not begun, as a named error that says what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_sql.errors import (
    AuthorizationError,
    BrokerError,
    DeliveryError,
    RecordRejectedError,
    RecordTooLargeError,
    TopicNotFoundError,
    TransactionError,
    WriterFencedError,
)
from kafka_sql.kafka.config.properties import TRANSACTION_TIMEOUT
from kafka_sql.kafka.librdkafka import bindings

_FENCED: Final = (
    WriterFencedError,
    "Another producer with the same transactional id has taken over (a second query with the same "
    "'sink.transactional-id-prefix', or this one started again): end one of the two",
)
_UNKNOWN: Final = (
    TopicNotFoundError,
    "Create the topic, or let the sink do it: 'sink.topic.create' = 'true'",
)
_LATE: Final = (
    DeliveryError,
    "No acknowledgement came within 'properties.delivery.timeout.ms': check the brokers, the number of in-sync "
    "replicas and the network",
)

_TIMEOUT_TOO_LARGE: Final = 50
_FORBIDDEN: Final = 53

# rd_kafka_resp_err_t: the error, and what to do
_KNOWN: Final[dict[int, tuple[type[BrokerError], str]]] = {
    10: (
        RecordTooLargeError,
        "Raise 'properties.max.request.size' and the topic's 'max.message.bytes', which both bound a record, or write "
        "smaller ones. Where all records are small, the topic's bound is smaller than a batch of them: lower "
        "'properties.batch.size'",
    ),
    18: (RecordTooLargeError, "Lower 'properties.batch.size' below the topic's 'segment.bytes'"),
    29: (AuthorizationError, "Grant the user of 'properties.sasl.username' (or of the certificate) WRITE on the topic"),
    31: (AuthorizationError, "Grant the user IDEMPOTENT_WRITE on the cluster, or WRITE on the topic"),
    53: (AuthorizationError, "Grant the user WRITE on the transactional id ('sink.transactional-id-prefix')"),
    47: _FENCED,
    90: _FENCED,
    -144: _FENCED,
    3: _UNKNOWN,
    -188: _UNKNOWN,
    -190: (
        DeliveryError,
        "The partition does not exist: 'sink.partitioner' must choose one of those that it is given",
    ),
    32: (RecordRejectedError, "The timestamp lies too far from now for the topic ('message.timestamp.before.max.ms')"),
    87: (
        RecordRejectedError,
        "A topic with 'cleanup.policy' = 'compact' takes no records without a key: give the table 'key.format' and "
        "'key.fields', or use another topic",
    ),
    -192: _LATE,
    7: _LATE,
    19: _LATE,
    20: _LATE,
}


def delivery_error(code: int, where: str, more: str, words: str | None = None) -> BrokerError:
    """The error for librdkafka's code.

    Args:
        where: table, topic and partition, as the message's beginning.
        more: what else is known, as its end.
        words: librdkafka's own, where they say more than the code's.
    """
    kind, advice = _KNOWN.get(code, (DeliveryError, ""))
    return kind(f"{where}: {words or bindings.reason(code)}.{' ' + advice + '.' if advice else ''} {more}")


def not_begun(
    transactional_id: str, code: int, words: str, config: Mapping[str, str], causes: str = ""
) -> TransactionError | AuthorizationError | BrokerError:
    """The error for the code with which a transaction was refused."""
    begun = f"Transaction '{transactional_id}' could not be begun"
    if code == _TIMEOUT_TOO_LARGE:
        return TransactionError(
            f"{begun}: 'properties.{TRANSACTION_TIMEOUT}' = '{config.get(TRANSACTION_TIMEOUT)}' is more than the "
            "brokers' 'transaction.max.timeout.ms'. Lower it, or raise theirs."
        )
    if code == _FORBIDDEN:
        return AuthorizationError(
            f"{begun}: {words}. Grant the user WRITE and DESCRIBE on the transactional ids that begin with the option "
            "'sink.transactional-id-prefix'."
        )
    return BrokerError(f"{begun}: {words}.{causes}")
