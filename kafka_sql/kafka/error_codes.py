"""Name Kafka's error codes, describe them, and decide which of them are retriable for which API.

Codes and names: https://kafka.apache.org/protocol#protocol_error_codes (``Errors.java``). librdkafka's local errors
(negative numbers below -1) are not protocol codes: see ``confluent_kafka.KafkaError``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from kafka_sql.kafka.protocol.codec import ApiKey


class ErrorCode(IntEnum):
    """An error code of a Kafka response. Codes are plain integers on the wire: a newer broker may send others.

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
    OFFSET_METADATA_TOO_LARGE = 12, "the metadata of the committed offset is too large"
    NETWORK_EXCEPTION = 13, "disconnected before a response arrived"
    COORDINATOR_LOAD_IN_PROGRESS = 14, "the coordinator is loading its state"
    COORDINATOR_NOT_AVAILABLE = 15, "the coordinator is not available"
    NOT_COORDINATOR = 16, "the broker is not the coordinator"
    INVALID_TOPIC_EXCEPTION = 17, "invalid topic name or topic operation"
    RECORD_LIST_TOO_LARGE = 18, "the batch is larger than a log segment"
    NOT_ENOUGH_REPLICAS = 19, "not enough replicas are in sync"
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, "written, but not to enough in-sync replicas"
    INVALID_REQUIRED_ACKS = 21, "invalid acks"
    ILLEGAL_GENERATION = 22, "invalid group generation"
    INCONSISTENT_GROUP_PROTOCOL = 23, "the group's members have no protocol in common"
    INVALID_GROUP_ID = 24, "invalid group id"
    UNKNOWN_MEMBER_ID = 25, "unknown group member"
    INVALID_SESSION_TIMEOUT = 26, "the session timeout is outside of the broker's limits"
    REBALANCE_IN_PROGRESS = 27, "the group is rebalancing"
    INVALID_COMMIT_OFFSET_SIZE = 28, "invalid size of the offset commit"
    TOPIC_AUTHORIZATION_FAILED = 29, "not authorized for the topic"
    GROUP_AUTHORIZATION_FAILED = 30, "not authorized for the group"
    CLUSTER_AUTHORIZATION_FAILED = 31, "not authorized for the cluster"
    INVALID_TIMESTAMP = 32, "the record's timestamp is out of range"
    UNSUPPORTED_SASL_MECHANISM = 33, "unsupported SASL mechanism"
    ILLEGAL_SASL_STATE = 34, "unexpected request during SASL authentication"
    UNSUPPORTED_VERSION = 35, "unsupported version of the request"
    TOPIC_ALREADY_EXISTS = 36, "the topic already exists"
    INVALID_PARTITIONS = 37, "invalid number of partitions"
    INVALID_REPLICATION_FACTOR = 38, "invalid replication factor"
    INVALID_REPLICA_ASSIGNMENT = 39, "invalid replica assignment"
    INVALID_CONFIG = 40, "invalid configuration"
    NOT_CONTROLLER = 41, "the broker is not the controller"
    INVALID_REQUEST = 42, "invalid request"
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, "not supported by the topic's message format"
    POLICY_VIOLATION = 44, "the request violates a policy of the cluster"
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, "the batch's sequence number is out of order"
    DUPLICATE_SEQUENCE_NUMBER = 46, "the batch was written before"
    INVALID_PRODUCER_EPOCH = 47, "the producer epoch is outdated"
    INVALID_TXN_STATE = 48, "not allowed in the transaction's state"
    INVALID_PRODUCER_ID_MAPPING = 49, "the producer id does not belong to the transactional id"
    INVALID_TRANSACTION_TIMEOUT = 50, "the transaction timeout exceeds the broker's maximum"
    CONCURRENT_TRANSACTIONS = 51, "the previous transaction is still being completed"
    TRANSACTION_COORDINATOR_FENCED = 52, "the transaction coordinator moved"
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, "not authorized for the transactional id"
    SECURITY_DISABLED = 54, "security features are disabled"
    OPERATION_NOT_ATTEMPTED = 55, "not attempted because another part of the request failed"
    KAFKA_STORAGE_ERROR = 56, "disk error in the broker"
    LOG_DIR_NOT_FOUND = 57, "log directory not found"
    SASL_AUTHENTICATION_FAILED = 58, "SASL authentication failed"
    UNKNOWN_PRODUCER_ID = 59, "the broker does not know the producer id"
    REASSIGNMENT_IN_PROGRESS = 60, "a partition reassignment is in progress"
    DELEGATION_TOKEN_AUTH_DISABLED = 61, "delegation tokens are disabled"
    DELEGATION_TOKEN_NOT_FOUND = 62, "delegation token not found"
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, "the delegation token has another owner"
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, "delegation token requests are not allowed on this connection"
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, "not authorized for delegation tokens"
    DELEGATION_TOKEN_EXPIRED = 66, "the delegation token expired"
    INVALID_PRINCIPAL_TYPE = 67, "unsupported principal type"
    NON_EMPTY_GROUP = 68, "the group has members"
    GROUP_ID_NOT_FOUND = 69, "group not found"
    FETCH_SESSION_ID_NOT_FOUND = 70, "fetch session not found"
    INVALID_FETCH_SESSION_EPOCH = 71, "invalid fetch session epoch"
    LISTENER_NOT_FOUND = 72, "the leader has no matching listener"
    TOPIC_DELETION_DISABLED = 73, "topic deletion is disabled"
    FENCED_LEADER_EPOCH = 74, "the leader epoch is outdated"
    UNKNOWN_LEADER_EPOCH = 75, "the broker does not know the leader epoch yet"
    UNSUPPORTED_COMPRESSION_TYPE = 76, "unsupported compression type"
    STALE_BROKER_EPOCH = 77, "the broker epoch is outdated"
    OFFSET_NOT_AVAILABLE = 78, "the new leader does not know its high watermark yet"
    MEMBER_ID_REQUIRED = 79, "a member id is required"
    PREFERRED_LEADER_NOT_AVAILABLE = 80, "the preferred leader is not available"
    GROUP_MAX_SIZE_REACHED = 81, "the group is full"
    FENCED_INSTANCE_ID = 82, "another member uses the group instance id"
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, "no eligible leader is available"
    ELECTION_NOT_NEEDED = 84, "no leader election is needed"
    NO_REASSIGNMENT_IN_PROGRESS = 85, "no partition reassignment is in progress"
    GROUP_SUBSCRIBED_TO_TOPIC = 86, "the group is subscribed to the topic"
    INVALID_RECORD = 87, "the broker rejected the record"
    UNSTABLE_OFFSET_COMMIT = 88, "a transaction has pending offset commits"
    THROTTLING_QUOTA_EXCEEDED = 89, "a quota was exceeded"
    PRODUCER_FENCED = 90, "a newer producer uses the transactional id"
    RESOURCE_NOT_FOUND = 91, "resource not found"
    DUPLICATE_RESOURCE = 92, "the resource is named twice"
    UNACCEPTABLE_CREDENTIAL = 93, "unacceptable credential"
    INCONSISTENT_VOTER_SET = 94, "not in the expected voter set"
    INVALID_UPDATE_VERSION = 95, "invalid update version"
    FEATURE_UPDATE_FAILED = 96, "the features could not be updated"
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, "the forwarded principal is malformed"
    SNAPSHOT_NOT_FOUND = 98, "snapshot not found"
    POSITION_OUT_OF_RANGE = 99, "the position is outside of the snapshot"
    UNKNOWN_TOPIC_ID = 100, "unknown topic id"
    DUPLICATE_BROKER_REGISTRATION = 101, "the broker id is taken"
    BROKER_ID_NOT_REGISTERED = 102, "the broker id is not registered"
    INCONSISTENT_TOPIC_ID = 103, "the topic was recreated"
    INCONSISTENT_CLUSTER_ID = 104, "the cluster id differs"
    TRANSACTIONAL_ID_NOT_FOUND = 105, "transactional id not found"
    FETCH_SESSION_TOPIC_ID_ERROR = 106, "the fetch session mixes topic ids and names"
    INELIGIBLE_REPLICA = 107, "the new in-sync replica is ineligible"
    NEW_LEADER_ELECTED = 108, "a new leader was elected"
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, "the offset is in tiered storage"
    FENCED_MEMBER_EPOCH = 110, "the member epoch is fenced"
    UNRELEASED_INSTANCE_ID = 111, "the group instance id is still in use"
    UNSUPPORTED_ASSIGNOR = 112, "unsupported assignor"
    STALE_MEMBER_EPOCH = 113, "the member epoch is outdated"
    MISMATCHED_ENDPOINT_TYPE = 114, "the request was sent to the wrong kind of endpoint"
    UNSUPPORTED_ENDPOINT_TYPE = 115, "unsupported endpoint type"
    UNKNOWN_CONTROLLER_ID = 116, "unknown controller id"
    UNKNOWN_SUBSCRIPTION_ID = 117, "unknown telemetry subscription"
    TELEMETRY_TOO_LARGE = 118, "the telemetry is too large"
    INVALID_REGISTRATION = 119, "invalid broker registration"
    TRANSACTION_ABORTABLE = 120, "the transaction must be aborted"
    INVALID_RECORD_STATE = 121, "invalid state of the shared record"
    SHARE_SESSION_NOT_FOUND = 122, "share session not found"
    INVALID_SHARE_SESSION_EPOCH = 123, "invalid share session epoch"
    FENCED_STATE_EPOCH = 124, "the share group's state epoch is fenced"
    INVALID_VOTER_KEY = 125, "the voter key differs"
    DUPLICATE_VOTER = 126, "the voter is in the set already"
    VOTER_NOT_FOUND = 127, "voter not found"
    INVALID_REGULAR_EXPRESSION = 128, "invalid regular expression"
    REBOOTSTRAP_REQUIRED = 129, "the client must bootstrap again"
    STREAMS_INVALID_TOPOLOGY = 130, "invalid topology"
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, "invalid topology epoch"
    STREAMS_TOPOLOGY_FENCED = 132, "the topology epoch is outdated"
    SHARE_SESSION_LIMIT_REACHED = 133, "too many share sessions"


def error_text(code: int) -> str:
    """Return a short description of an error code with its name, for example
    ``the record or batch is too large (MESSAGE_TOO_LARGE)``; ``error code 999`` for a number that is not known.
    """
    try:
        known = ErrorCode(code)
    except ValueError:
        return f"error code {code}"
    return f"{known.text} ({known.name})"


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


class RetryRule(NamedTuple):
    """One row of ``RETRY_RULES``."""

    code: ErrorCode
    apis: frozenset[ApiKey]  # requests that are sent again after this error
    reason: str  # why it is worth it there, and why not elsewhere


_LEADER: Final = frozenset({ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.DESCRIBE_PRODUCERS})
_LEADER_AND_METADATA: Final = _LEADER | {ApiKey.METADATA}
_WRITE_TRANSACTION: Final = frozenset({ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.END_TXN})
_GROUP: Final = frozenset({ApiKey.DESCRIBE_GROUPS, ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH})
_COORDINATOR: Final = _WRITE_TRANSACTION | _GROUP | {ApiKey.DESCRIBE_TRANSACTIONS}
_COORDINATOR_AND_LOOKUP: Final = _COORDINATOR | {ApiKey.FIND_COORDINATOR, ApiKey.LIST_TRANSACTIONS}
# in a transaction: the leader verifies the partition with the coordinator (KIP-890)
_VERIFIED_PRODUCE: Final = frozenset({ApiKey.PRODUCE})

RETRY_RULES: Final = (
    RetryRule(
        ErrorCode.CORRUPT_MESSAGE,
        frozenset({ApiKey.PRODUCE}),
        "The batch was damaged in transit; the next copy may not be. In a FETCH response the log itself is damaged: "
        "the Java consumer raises, too.",
    ),
    RetryRule(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        _LEADER_AND_METADATA | {ApiKey.ADD_PARTITIONS_TO_TXN},
        "Brokers learn of a new topic or of new partitions one after another (InvalidMetadataException). The other "
        "transaction APIs do not name topics.",
    ),
    RetryRule(
        ErrorCode.LEADER_NOT_AVAILABLE,
        _LEADER_AND_METADATA,
        "A leader is being elected (InvalidMetadataException).",
    ),
    RetryRule(
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        _LEADER_AND_METADATA,
        "The leader moved: metadata is stale (InvalidMetadataException). A coordinator that lost the leadership of its "
        "partition returns NOT_COORDINATOR instead (TransactionStateManager).",
    ),
    RetryRule(
        ErrorCode.REQUEST_TIMED_OUT,
        frozenset(ApiKey) - {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE},
        "The broker did not finish in time (TimeoutException); all of these requests may be repeated.",
    ),
    RetryRule(
        ErrorCode.REPLICA_NOT_AVAILABLE,
        _LEADER_AND_METADATA,
        "The replica is starting or moving (InvalidMetadataException).",
    ),
    RetryRule(
        ErrorCode.NETWORK_EXCEPTION,
        _VERIFIED_PRODUCE,
        "The leader could not reach the transaction coordinator to verify the partition (KIP-890). For other APIs it "
        "is the Java client's own word for a disconnect, and is not sent by brokers.",
    ),
    RetryRule(
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        _COORDINATOR_AND_LOOKUP | _VERIFIED_PRODUCE,
        "The coordinator is reading its log after an election. PRODUCE: the leader verifies the partition with it "
        "(KIP-890). INIT_PRODUCER_ID without a transaction: the broker waits for its next block of producer ids.",
    ),
    RetryRule(
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        _COORDINATOR_AND_LOOKUP | _VERIFIED_PRODUCE,
        "The coordinator is not running, or its log lacks in-sync replicas. PRODUCE: see COORDINATOR_LOAD_IN_PROGRESS. "
        "LIST_TRANSACTIONS: the broker is shutting down and will be missing in the next METADATA response. (Java's "
        "admin client fails here.)",
    ),
    RetryRule(
        ErrorCode.NOT_COORDINATOR,
        _COORDINATOR | _VERIFIED_PRODUCE,
        "The coordinator moved: find it again. PRODUCE: see COORDINATOR_LOAD_IN_PROGRESS. FIND_COORDINATOR and "
        "LIST_TRANSACTIONS never return it.",
    ),
    RetryRule(
        ErrorCode.NOT_CONTROLLER,
        frozenset({ApiKey.CREATE_TOPICS}),
        "The controller moved: brokers learn of it one after another.",
    ),
    RetryRule(
        ErrorCode.NOT_ENOUGH_REPLICAS,
        frozenset({ApiKey.PRODUCE}),
        "Fewer replicas are in sync than 'min.insync.replicas'; nothing was written. A coordinator in this state "
        "returns COORDINATOR_NOT_AVAILABLE instead (TransactionStateManager).",
    ),
    RetryRule(
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        frozenset({ApiKey.PRODUCE}),
        "As NOT_ENOUGH_REPLICAS, after the leader wrote the batch: sequence numbers prevent a duplicate.",
    ),
    RetryRule(
        ErrorCode.CONCURRENT_TRANSACTIONS,
        _WRITE_TRANSACTION | _VERIFIED_PRODUCE,
        "The coordinator is still writing the markers of the previous transaction. Reading APIs never return it.",
    ),
    RetryRule(
        ErrorCode.KAFKA_STORAGE_ERROR,
        _LEADER_AND_METADATA,
        "A disk failed; another broker takes over the partition (InvalidMetadataException). A coordinator returns "
        "NOT_COORDINATOR instead.",
    ),
    RetryRule(
        ErrorCode.FENCED_LEADER_EPOCH,
        _LEADER_AND_METADATA,
        "The leader changed since the metadata was read (KIP-320, InvalidMetadataException).",
    ),
    RetryRule(
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        _LEADER,
        "This broker does not know the newest leader epoch yet (KIP-320).",
    ),
    RetryRule(
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        frozenset({ApiKey.CREATE_TOPICS}),
        "The quota of topic creations is used up for the moment (KIP-599).",
    ),
    RetryRule(
        ErrorCode.OFFSET_NOT_AVAILABLE,
        frozenset({ApiKey.FETCH, ApiKey.LIST_OFFSETS}),
        "A new leader does not know its high watermark yet (KIP-207).",
    ),
)
"""What is retriable for which API: what the Java client retries, that is, each ``RetriableException`` that a broker can
return for the API. Everything else fails at once; notably UNSUPPORTED_COMPRESSION_TYPE (an ``ApiException``: the broker
will not learn the codec), UNKNOWN_SERVER_ERROR and TRANSACTION_ABORTABLE. OUT_OF_ORDER_SEQUENCE_NUMBER depends on the
batch: ``direct.sender`` decides."""

_RETRIABLE: Final[Mapping[ApiKey, frozenset[int]]] = {
    api: frozenset(int(rule.code) for rule in RETRY_RULES if api in rule.apis) for api in ApiKey
}


def is_retriable(code: int, api: ApiKey) -> bool:
    """Return whether a request of this API that got this error code is to be sent again."""
    return code in _RETRIABLE[api]
