"""Turn the error codes of writing and of beginning transactions into errors that say what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from confluent_kafka import KafkaError

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
from kafka_sql.kafka.error_codes import ErrorCode, error_text

_FENCED: Final = (
    WriterFencedError,
    "Another producer with the same transactional id has taken over (a second query with the same "
    "'sink.transactional-id-prefix', or a restart of this one). Stop one of the two",
)
_TOPIC_NOT_FOUND: Final = (
    TopicNotFoundError,
    "Create the topic, or set 'sink.topic.create' = 'true'",
)
_NOT_ACKNOWLEDGED: Final = (
    DeliveryError,
    "No acknowledgement arrived within 'properties.delivery.timeout.ms'. Check the brokers, the number of in-sync "
    "replicas and the network",
)

# error code of the protocol or local error of librdkafka -> error, and what to do
_ERRORS: Final[dict[int, tuple[type[BrokerError], str]]] = {
    ErrorCode.MESSAGE_TOO_LARGE: (
        RecordTooLargeError,
        "Raise 'properties.max.request.size' and the topic's 'max.message.bytes', which both limit a record, or write "
        "smaller records. If all records are small, a batch of them exceeds the topic's limit: lower "
        "'properties.batch.size'",
    ),
    ErrorCode.RECORD_LIST_TOO_LARGE: (
        RecordTooLargeError,
        "Lower 'properties.batch.size' below the topic's 'segment.bytes'",
    ),
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: (
        AuthorizationError,
        "Grant the user of 'properties.sasl.username' (or of the certificate) WRITE on the topic",
    ),
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: (
        AuthorizationError,
        "Grant the user IDEMPOTENT_WRITE on the cluster, or WRITE on the topic",
    ),
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (
        AuthorizationError,
        "Grant the user WRITE on the transactional id ('sink.transactional-id-prefix')",
    ),
    ErrorCode.INVALID_PRODUCER_EPOCH: _FENCED,
    ErrorCode.PRODUCER_FENCED: _FENCED,
    KafkaError._FENCED: _FENCED,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: _TOPIC_NOT_FOUND,
    KafkaError._UNKNOWN_TOPIC: _TOPIC_NOT_FOUND,
    KafkaError._UNKNOWN_PARTITION: (
        DeliveryError,
        "The partition does not exist: 'sink.partitioner' must return one of the partitions that it is passed",
    ),
    ErrorCode.INVALID_TIMESTAMP: (
        RecordRejectedError,
        "The timestamp is too far from the current time for the topic ('message.timestamp.before.max.ms')",
    ),
    ErrorCode.INVALID_RECORD: (
        RecordRejectedError,
        "A topic with 'cleanup.policy' = 'compact' rejects records without a key: set 'key.format' and 'key.fields' "
        "of the table, or use another topic",
    ),
    KafkaError._MSG_TIMED_OUT: _NOT_ACKNOWLEDGED,
    ErrorCode.REQUEST_TIMED_OUT: _NOT_ACKNOWLEDGED,
    ErrorCode.NOT_ENOUGH_REPLICAS: _NOT_ACKNOWLEDGED,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _NOT_ACKNOWLEDGED,
}


def delivery_error(
    code: int,
    where: str,
    details: str,
    reason: str | None = None,
    *,
    topic: str | None = None,
    partition: int | None = None,
) -> BrokerError:
    """Return the error for an error code of the protocol, or for a local error of librdkafka.

    Args:
        where: table, topic and partition; the beginning of the message.
        details: what else is known; the end of the message.
        reason: librdkafka's description of the error; None for that of the code.
    """
    error_class, advice = _ERRORS.get(code, (DeliveryError, ""))
    if reason is None:
        is_local = code < ErrorCode.UNKNOWN_SERVER_ERROR
        reason = str(KafkaError(code).str()) if is_local else error_text(code)
    error = error_class(f"{where}: {reason}.{' ' + advice + '.' if advice else ''} {details}")
    error.topic, error.partition = topic, partition
    return error


def begin_transaction_error(
    transactional_id: str, code: int, reason: str, config: Mapping[str, str], causes: str = ""
) -> TransactionError | AuthorizationError | BrokerError:
    """Return the error for the error code with which the brokers rejected a transaction."""
    subject = f"Transaction '{transactional_id}' could not be started"
    if code == ErrorCode.INVALID_TRANSACTION_TIMEOUT:
        return TransactionError(
            f"{subject}: 'properties.{TRANSACTION_TIMEOUT}' = '{config.get(TRANSACTION_TIMEOUT)}' exceeds the brokers' "
            "'transaction.max.timeout.ms'. Lower the option, or raise the brokers' limit."
        )
    if code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        return AuthorizationError(
            f"{subject}: {reason}. Grant the user WRITE and DESCRIBE on the transactional ids that begin with the "
            "option 'sink.transactional-id-prefix'."
        )
    return BrokerError(f"{subject}: {reason}.{causes}")
