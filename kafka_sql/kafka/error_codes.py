"""Name Kafka's error codes, describe them, and decide which of them are retriable for which API.

Codes and names: https://kafka.apache.org/protocol#protocol_error_codes (``Errors.java``). librdkafka's local errors
(negative numbers below -1) are not protocol codes: see ``confluent_kafka.KafkaError``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from kafka_sql.kafka.protocol.codec import ApiKey


class ErrorCode(IntEnum):
    """The error codes of Kafka's responses that matter to this package. Codes are plain integers on the wire.

    Attributes:
        text: a short description.
    """

    text: str

    def __new__(cls, code: int, text: str = "") -> ErrorCode:
        """Create a code with its description."""
        member = int.__new__(cls, code)
        member._value_, member.text = code, text
        return member

    UNKNOWN_SERVER_ERROR = -1, "unexpected error in the broker, see its log"
    NONE = 0, "no error"
    OFFSET_OUT_OF_RANGE = 1, "the offset is outside of the partition's log"
    CORRUPT_MESSAGE = 2, "the record batch is corrupt"
    UNKNOWN_TOPIC_OR_PARTITION = 3, "the topic or partition does not exist"
    INVALID_FETCH_SIZE = 4, "invalid fetch size"
    LEADER_NOT_AVAILABLE = 5, "the partition has no leader"
    NOT_LEADER_OR_FOLLOWER = 6, "the broker has no replica of the partition, or does not lead it"
    REQUEST_TIMED_OUT = 7, "the request timed out in the broker"
    BROKER_NOT_AVAILABLE = 8, "the broker is not available"
    REPLICA_NOT_AVAILABLE = 9, "the replica is not available"
    MESSAGE_TOO_LARGE = 10, "the record or batch is too large"
    STALE_CONTROLLER_EPOCH = 11, "the controller moved"
    NETWORK_EXCEPTION = 13, "disconnected before a response arrived"
    COORDINATOR_LOAD_IN_PROGRESS = 14, "the coordinator is loading its state"
    COORDINATOR_NOT_AVAILABLE = 15, "the coordinator is not available"
    NOT_COORDINATOR = 16, "the broker is not the coordinator"
    INVALID_TOPIC_EXCEPTION = 17, "invalid topic name or topic operation"
    RECORD_LIST_TOO_LARGE = 18, "the batch is larger than a log segment"
    NOT_ENOUGH_REPLICAS = 19, "not enough replicas are in sync"
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, "written, but not to enough in-sync replicas"
    TOPIC_AUTHORIZATION_FAILED = 29, "not authorized for the topic"
    GROUP_AUTHORIZATION_FAILED = 30, "not authorized for the group"
    CLUSTER_AUTHORIZATION_FAILED = 31, "not authorized for the cluster"
    INVALID_TIMESTAMP = 32, "the record's timestamp is out of range"
    UNSUPPORTED_VERSION = 35, "unsupported version of the request"
    NOT_CONTROLLER = 41, "the broker is not the controller"
    INVALID_REQUEST = 42, "invalid request"
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, "not supported by the topic's message format"
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, "the batch's sequence number is out of order"
    DUPLICATE_SEQUENCE_NUMBER = 46, "the batch was written before"
    INVALID_PRODUCER_EPOCH = 47, "the producer epoch is outdated"
    INVALID_TXN_STATE = 48, "not allowed in the transaction's state"
    INVALID_PRODUCER_ID_MAPPING = 49, "the producer id does not belong to the transactional id"
    INVALID_TRANSACTION_TIMEOUT = 50, "the transaction timeout exceeds the broker's maximum"
    CONCURRENT_TRANSACTIONS = 51, "the previous transaction is still being completed"
    TRANSACTION_COORDINATOR_FENCED = 52, "the transaction coordinator moved"
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, "not authorized for the transactional id"
    OPERATION_NOT_ATTEMPTED = 55, "not attempted because another part of the request failed"
    KAFKA_STORAGE_ERROR = 56, "disk error in the broker"
    SASL_AUTHENTICATION_FAILED = 58, "SASL authentication failed"
    UNKNOWN_PRODUCER_ID = 59, "the broker does not know the producer id"
    FENCED_LEADER_EPOCH = 74, "the leader epoch is outdated"
    UNKNOWN_LEADER_EPOCH = 75, "the broker does not know the leader epoch yet"
    UNSUPPORTED_COMPRESSION_TYPE = 76, "unsupported compression type"
    OFFSET_NOT_AVAILABLE = 78, "the new leader does not know its high watermark yet"
    INVALID_RECORD = 87, "the broker rejected the record"
    THROTTLING_QUOTA_EXCEEDED = 89, "a quota was exceeded"
    PRODUCER_FENCED = 90, "a newer producer uses the transactional id"
    TRANSACTIONAL_ID_NOT_FOUND = 105, "transactional id not found"
    TRANSACTION_ABORTABLE = 120, "the transaction must be aborted"


def error_text(code: int) -> str:
    """Return a short description of an error code with its name, for example
    ``the record or batch is too large (MESSAGE_TOO_LARGE)``; ``error code 999`` for a number that is not known.
    """
    if code in _KNOWN:
        known = ErrorCode(code)
        return f"{known.text} ({known.name})"
    from confluent_kafka import KafkaError  # lazy: brokers rarely send other codes

    other = KafkaError(code)
    if code < ErrorCode.UNKNOWN_SERVER_ERROR or other.name().startswith("ERR_"):
        return f"error code {code}"
    return f"{other.str().removeprefix('Broker: ')} ({other.name()})"


_KNOWN: Final = frozenset(map(int, ErrorCode))

FENCED: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED})
"""A newer producer uses the transactional id. Before Apache Kafka 2.7 brokers had only the first one (KIP-588)."""

AUTHORIZATION_FAILED: Final = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
"""The user lacks an ACL."""


_LEADER: Final = frozenset({ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.DESCRIBE_PRODUCERS})
_LEADER_AND_METADATA: Final = _LEADER | {ApiKey.METADATA}
_WRITE_TRANSACTION: Final = frozenset({ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.END_TXN})
_GROUP: Final = frozenset({ApiKey.DESCRIBE_GROUPS, ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH})
_COORDINATOR: Final = _WRITE_TRANSACTION | _GROUP | {ApiKey.DESCRIBE_TRANSACTIONS}
_COORDINATOR_AND_LOOKUP: Final = _COORDINATOR | {ApiKey.FIND_COORDINATOR, ApiKey.LIST_TRANSACTIONS}
# in a transaction: the leader verifies the partition with the coordinator (KIP-890)
_VERIFIED_PRODUCE: Final = frozenset({ApiKey.PRODUCE})

RETRIABLE: Final[Mapping[ErrorCode, frozenset[ApiKey]]] = {
    # The batch was damaged in transit; the next copy may not be. In a FETCH response the log itself is damaged: the
    # Java consumer raises, too.
    ErrorCode.CORRUPT_MESSAGE: frozenset({ApiKey.PRODUCE}),
    # Brokers learn of a new topic or of new partitions one after another (InvalidMetadataException). The other
    # transaction APIs do not name topics.
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: _LEADER_AND_METADATA | {ApiKey.ADD_PARTITIONS_TO_TXN},
    # A leader is being elected (InvalidMetadataException).
    ErrorCode.LEADER_NOT_AVAILABLE: _LEADER_AND_METADATA,
    # The leader moved: metadata is stale (InvalidMetadataException). A coordinator that lost the leadership of its
    # partition returns NOT_COORDINATOR instead (TransactionStateManager).
    ErrorCode.NOT_LEADER_OR_FOLLOWER: _LEADER_AND_METADATA,
    # The broker did not finish in time (TimeoutException); all of these requests may be repeated.
    ErrorCode.REQUEST_TIMED_OUT: frozenset(ApiKey)
    - {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE},
    # The replica is starting or moving (InvalidMetadataException).
    ErrorCode.REPLICA_NOT_AVAILABLE: _LEADER_AND_METADATA,
    # The leader could not reach the transaction coordinator to verify the partition (KIP-890). For other APIs it is the
    # Java client's own word for a disconnect, and is not sent by brokers.
    ErrorCode.NETWORK_EXCEPTION: _VERIFIED_PRODUCE,
    # The coordinator is reading its log after an election. PRODUCE: the leader verifies the partition with it
    # (KIP-890). INIT_PRODUCER_ID without a transaction: the broker waits for its next block of producer ids.
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: _COORDINATOR_AND_LOOKUP | _VERIFIED_PRODUCE,
    # The coordinator is not running, or its log lacks in-sync replicas. PRODUCE: see COORDINATOR_LOAD_IN_PROGRESS.
    # LIST_TRANSACTIONS: the broker is shutting down and will be missing in the next METADATA response. (Java's admin
    # client fails here.)
    ErrorCode.COORDINATOR_NOT_AVAILABLE: _COORDINATOR_AND_LOOKUP | _VERIFIED_PRODUCE,
    # The coordinator moved: find it again. PRODUCE: see COORDINATOR_LOAD_IN_PROGRESS. FIND_COORDINATOR and
    # LIST_TRANSACTIONS never return it.
    ErrorCode.NOT_COORDINATOR: _COORDINATOR | _VERIFIED_PRODUCE,
    # The controller moved: brokers learn of it one after another.
    ErrorCode.NOT_CONTROLLER: frozenset({ApiKey.CREATE_TOPICS}),
    # Fewer replicas are in sync than 'min.insync.replicas'; nothing was written. A coordinator in this state returns
    # COORDINATOR_NOT_AVAILABLE instead (TransactionStateManager).
    ErrorCode.NOT_ENOUGH_REPLICAS: frozenset({ApiKey.PRODUCE}),
    # As NOT_ENOUGH_REPLICAS, after the leader wrote the batch: sequence numbers prevent a duplicate.
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: frozenset({ApiKey.PRODUCE}),
    # The coordinator is still writing the markers of the previous transaction. Reading APIs never return it.
    ErrorCode.CONCURRENT_TRANSACTIONS: _WRITE_TRANSACTION | _VERIFIED_PRODUCE,
    # A disk failed; another broker takes over the partition (InvalidMetadataException). A coordinator returns
    # NOT_COORDINATOR instead.
    ErrorCode.KAFKA_STORAGE_ERROR: _LEADER_AND_METADATA,
    # The leader changed since the metadata was read (KIP-320, InvalidMetadataException).
    ErrorCode.FENCED_LEADER_EPOCH: _LEADER_AND_METADATA,
    # This broker does not know the newest leader epoch yet (KIP-320).
    ErrorCode.UNKNOWN_LEADER_EPOCH: _LEADER,
    # The quota of topic creations is used up for the moment (KIP-599).
    ErrorCode.THROTTLING_QUOTA_EXCEEDED: frozenset({ApiKey.CREATE_TOPICS}),
    # A new leader does not know its high watermark yet (KIP-207).
    ErrorCode.OFFSET_NOT_AVAILABLE: frozenset({ApiKey.FETCH, ApiKey.LIST_OFFSETS}),
}
"""What is retriable for which API: what the Java client retries, that is, each ``RetriableException`` that a broker can
return for the API. Everything else fails at once; notably UNSUPPORTED_COMPRESSION_TYPE (an ``ApiException``: the broker
will not learn the codec), UNKNOWN_SERVER_ERROR and TRANSACTION_ABORTABLE. OUT_OF_ORDER_SEQUENCE_NUMBER depends on the
batch: ``direct.sender`` decides."""

_CODES: Final[Mapping[ApiKey, frozenset[int]]] = {
    api: frozenset(int(code) for code, apis in RETRIABLE.items() if api in apis) for api in ApiKey
}


def is_retriable(code: int, api: ApiKey) -> bool:
    """Return whether a request of this API that got this error code is to be sent again."""
    return code in _CODES[api]
