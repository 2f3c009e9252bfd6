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
    """An error code of a Kafka response. Codes are plain integers on the wire: a newer broker may send others."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    INVALID_FETCH_SIZE = 4
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10
    STALE_CONTROLLER_EPOCH = 11
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56
    LOG_DIR_NOT_FOUND = 57
    SASL_AUTHENTICATION_FAILED = 58
    UNKNOWN_PRODUCER_ID = 59
    REASSIGNMENT_IN_PROGRESS = 60
    DELEGATION_TOKEN_AUTH_DISABLED = 61
    DELEGATION_TOKEN_NOT_FOUND = 62
    DELEGATION_TOKEN_OWNER_MISMATCH = 63
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65
    DELEGATION_TOKEN_EXPIRED = 66
    INVALID_PRINCIPAL_TYPE = 67
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    LISTENER_NOT_FOUND = 72
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    STALE_BROKER_EPOCH = 77
    OFFSET_NOT_AVAILABLE = 78
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    PRODUCER_FENCED = 90
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    INCONSISTENT_VOTER_SET = 94
    INVALID_UPDATE_VERSION = 95
    FEATURE_UPDATE_FAILED = 96
    PRINCIPAL_DESERIALIZATION_FAILURE = 97
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100
    DUPLICATE_BROKER_REGISTRATION = 101
    BROKER_ID_NOT_REGISTERED = 102
    INCONSISTENT_TOPIC_ID = 103
    INCONSISTENT_CLUSTER_ID = 104
    TRANSACTIONAL_ID_NOT_FOUND = 105
    FETCH_SESSION_TOPIC_ID_ERROR = 106
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108
    OFFSET_MOVED_TO_TIERED_STORAGE = 109
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    MISMATCHED_ENDPOINT_TYPE = 114
    UNSUPPORTED_ENDPOINT_TYPE = 115
    UNKNOWN_CONTROLLER_ID = 116
    UNKNOWN_SUBSCRIPTION_ID = 117
    TELEMETRY_TOO_LARGE = 118
    INVALID_REGISTRATION = 119
    TRANSACTION_ABORTABLE = 120
    INVALID_RECORD_STATE = 121
    SHARE_SESSION_NOT_FOUND = 122
    INVALID_SHARE_SESSION_EPOCH = 123
    FENCED_STATE_EPOCH = 124
    INVALID_VOTER_KEY = 125
    DUPLICATE_VOTER = 126
    VOTER_NOT_FOUND = 127
    INVALID_REGULAR_EXPRESSION = 128
    REBOOTSTRAP_REQUIRED = 129
    STREAMS_INVALID_TOPOLOGY = 130
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131
    STREAMS_TOPOLOGY_FENCED = 132
    SHARE_SESSION_LIMIT_REACHED = 133


def error_text(code: int) -> str:
    """Return a short description of an error code with its name, for example
    ``the record or batch is too large (MESSAGE_TOO_LARGE)``; ``error code 999`` for a number that is not known.
    """
    try:
        known = ErrorCode(code)
    except ValueError:
        return f"error code {code}"
    return f"{_TEXTS[known]} ({known.name})"


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
    """One row of ``RETRY_RULES``.

    Attributes:
        apis: requests that are sent again after this error.
        reason: why it is worth it there, and why not elsewhere.
    """

    code: ErrorCode
    apis: frozenset[ApiKey]
    reason: str


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


_TEXTS: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "unexpected error in the broker, see its log",
    ErrorCode.NONE: "no error",
    ErrorCode.OFFSET_OUT_OF_RANGE: "the offset is outside of the partition's log",
    ErrorCode.CORRUPT_MESSAGE: "the record batch is corrupt",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "the topic or partition does not exist",
    ErrorCode.INVALID_FETCH_SIZE: "invalid fetch size",
    ErrorCode.LEADER_NOT_AVAILABLE: "the partition has no leader",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "the broker has no replica of the partition, or does not lead it",
    ErrorCode.REQUEST_TIMED_OUT: "the request timed out in the broker",
    ErrorCode.BROKER_NOT_AVAILABLE: "the broker is not available",
    ErrorCode.REPLICA_NOT_AVAILABLE: "the replica is not available",
    ErrorCode.MESSAGE_TOO_LARGE: "the record or batch is too large",
    ErrorCode.STALE_CONTROLLER_EPOCH: "the controller moved",
    ErrorCode.OFFSET_METADATA_TOO_LARGE: "the metadata of the committed offset is too large",
    ErrorCode.NETWORK_EXCEPTION: "disconnected before a response arrived",
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: "the coordinator is loading its state",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "the coordinator is not available",
    ErrorCode.NOT_COORDINATOR: "the broker is not the coordinator",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "invalid topic name or topic operation",
    ErrorCode.RECORD_LIST_TOO_LARGE: "the batch is larger than a log segment",
    ErrorCode.NOT_ENOUGH_REPLICAS: "not enough replicas are in sync",
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: "written, but not to enough in-sync replicas",
    ErrorCode.INVALID_REQUIRED_ACKS: "invalid acks",
    ErrorCode.ILLEGAL_GENERATION: "invalid group generation",
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: "the group's members have no protocol in common",
    ErrorCode.INVALID_GROUP_ID: "invalid group id",
    ErrorCode.UNKNOWN_MEMBER_ID: "unknown group member",
    ErrorCode.INVALID_SESSION_TIMEOUT: "the session timeout is outside of the broker's limits",
    ErrorCode.REBALANCE_IN_PROGRESS: "the group is rebalancing",
    ErrorCode.INVALID_COMMIT_OFFSET_SIZE: "invalid size of the offset commit",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "not authorized for the topic",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "not authorized for the group",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "not authorized for the cluster",
    ErrorCode.INVALID_TIMESTAMP: "the record's timestamp is out of range",
    ErrorCode.UNSUPPORTED_SASL_MECHANISM: "unsupported SASL mechanism",
    ErrorCode.ILLEGAL_SASL_STATE: "unexpected request during SASL authentication",
    ErrorCode.UNSUPPORTED_VERSION: "unsupported version of the request",
    ErrorCode.TOPIC_ALREADY_EXISTS: "the topic already exists",
    ErrorCode.INVALID_PARTITIONS: "invalid number of partitions",
    ErrorCode.INVALID_REPLICATION_FACTOR: "invalid replication factor",
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: "invalid replica assignment",
    ErrorCode.INVALID_CONFIG: "invalid configuration",
    ErrorCode.NOT_CONTROLLER: "the broker is not the controller",
    ErrorCode.INVALID_REQUEST: "invalid request",
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT: "not supported by the topic's message format",
    ErrorCode.POLICY_VIOLATION: "the request violates a policy of the cluster",
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: "the batch's sequence number is out of order",
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER: "the batch was written before",
    ErrorCode.INVALID_PRODUCER_EPOCH: "the producer epoch is outdated",
    ErrorCode.INVALID_TXN_STATE: "not allowed in the transaction's state",
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: "the producer id does not belong to the transactional id",
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: "the transaction timeout exceeds the broker's maximum",
    ErrorCode.CONCURRENT_TRANSACTIONS: "the previous transaction is still being completed",
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: "the transaction coordinator moved",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "not authorized for the transactional id",
    ErrorCode.SECURITY_DISABLED: "security features are disabled",
    ErrorCode.OPERATION_NOT_ATTEMPTED: "not attempted because another part of the request failed",
    ErrorCode.KAFKA_STORAGE_ERROR: "disk error in the broker",
    ErrorCode.LOG_DIR_NOT_FOUND: "log directory not found",
    ErrorCode.SASL_AUTHENTICATION_FAILED: "SASL authentication failed",
    ErrorCode.UNKNOWN_PRODUCER_ID: "the broker does not know the producer id",
    ErrorCode.REASSIGNMENT_IN_PROGRESS: "a partition reassignment is in progress",
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: "delegation tokens are disabled",
    ErrorCode.DELEGATION_TOKEN_NOT_FOUND: "delegation token not found",
    ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH: "the delegation token has another owner",
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "delegation token requests are not allowed on this connection",
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "not authorized for delegation tokens",
    ErrorCode.DELEGATION_TOKEN_EXPIRED: "the delegation token expired",
    ErrorCode.INVALID_PRINCIPAL_TYPE: "unsupported principal type",
    ErrorCode.NON_EMPTY_GROUP: "the group has members",
    ErrorCode.GROUP_ID_NOT_FOUND: "group not found",
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND: "fetch session not found",
    ErrorCode.INVALID_FETCH_SESSION_EPOCH: "invalid fetch session epoch",
    ErrorCode.LISTENER_NOT_FOUND: "the leader has no matching listener",
    ErrorCode.TOPIC_DELETION_DISABLED: "topic deletion is disabled",
    ErrorCode.FENCED_LEADER_EPOCH: "the leader epoch is outdated",
    ErrorCode.UNKNOWN_LEADER_EPOCH: "the broker does not know the leader epoch yet",
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE: "unsupported compression type",
    ErrorCode.STALE_BROKER_EPOCH: "the broker epoch is outdated",
    ErrorCode.OFFSET_NOT_AVAILABLE: "the new leader does not know its high watermark yet",
    ErrorCode.MEMBER_ID_REQUIRED: "a member id is required",
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "the preferred leader is not available",
    ErrorCode.GROUP_MAX_SIZE_REACHED: "the group is full",
    ErrorCode.FENCED_INSTANCE_ID: "another member uses the group instance id",
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: "no eligible leader is available",
    ErrorCode.ELECTION_NOT_NEEDED: "no leader election is needed",
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS: "no partition reassignment is in progress",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "the group is subscribed to the topic",
    ErrorCode.INVALID_RECORD: "the broker rejected the record",
    ErrorCode.UNSTABLE_OFFSET_COMMIT: "a transaction has pending offset commits",
    ErrorCode.THROTTLING_QUOTA_EXCEEDED: "a quota was exceeded",
    ErrorCode.PRODUCER_FENCED: "a newer producer uses the transactional id",
    ErrorCode.RESOURCE_NOT_FOUND: "resource not found",
    ErrorCode.DUPLICATE_RESOURCE: "the resource is named twice",
    ErrorCode.UNACCEPTABLE_CREDENTIAL: "unacceptable credential",
    ErrorCode.INCONSISTENT_VOTER_SET: "not in the expected voter set",
    ErrorCode.INVALID_UPDATE_VERSION: "invalid update version",
    ErrorCode.FEATURE_UPDATE_FAILED: "the features could not be updated",
    ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE: "the forwarded principal is malformed",
    ErrorCode.SNAPSHOT_NOT_FOUND: "snapshot not found",
    ErrorCode.POSITION_OUT_OF_RANGE: "the position is outside of the snapshot",
    ErrorCode.UNKNOWN_TOPIC_ID: "unknown topic id",
    ErrorCode.DUPLICATE_BROKER_REGISTRATION: "the broker id is taken",
    ErrorCode.BROKER_ID_NOT_REGISTERED: "the broker id is not registered",
    ErrorCode.INCONSISTENT_TOPIC_ID: "the topic was recreated",
    ErrorCode.INCONSISTENT_CLUSTER_ID: "the cluster id differs",
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: "transactional id not found",
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR: "the fetch session mixes topic ids and names",
    ErrorCode.INELIGIBLE_REPLICA: "the new in-sync replica is ineligible",
    ErrorCode.NEW_LEADER_ELECTED: "a new leader was elected",
    ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE: "the offset is in tiered storage",
    ErrorCode.FENCED_MEMBER_EPOCH: "the member epoch is fenced",
    ErrorCode.UNRELEASED_INSTANCE_ID: "the group instance id is still in use",
    ErrorCode.UNSUPPORTED_ASSIGNOR: "unsupported assignor",
    ErrorCode.STALE_MEMBER_EPOCH: "the member epoch is outdated",
    ErrorCode.MISMATCHED_ENDPOINT_TYPE: "the request was sent to the wrong kind of endpoint",
    ErrorCode.UNSUPPORTED_ENDPOINT_TYPE: "unsupported endpoint type",
    ErrorCode.UNKNOWN_CONTROLLER_ID: "unknown controller id",
    ErrorCode.UNKNOWN_SUBSCRIPTION_ID: "unknown telemetry subscription",
    ErrorCode.TELEMETRY_TOO_LARGE: "the telemetry is too large",
    ErrorCode.INVALID_REGISTRATION: "invalid broker registration",
    ErrorCode.TRANSACTION_ABORTABLE: "the transaction must be aborted",
    ErrorCode.INVALID_RECORD_STATE: "invalid state of the shared record",
    ErrorCode.SHARE_SESSION_NOT_FOUND: "share session not found",
    ErrorCode.INVALID_SHARE_SESSION_EPOCH: "invalid share session epoch",
    ErrorCode.FENCED_STATE_EPOCH: "the share group's state epoch is fenced",
    ErrorCode.INVALID_VOTER_KEY: "the voter key differs",
    ErrorCode.DUPLICATE_VOTER: "the voter is in the set already",
    ErrorCode.VOTER_NOT_FOUND: "voter not found",
    ErrorCode.INVALID_REGULAR_EXPRESSION: "invalid regular expression",
    ErrorCode.REBOOTSTRAP_REQUIRED: "the client must bootstrap again",
    ErrorCode.STREAMS_INVALID_TOPOLOGY: "invalid topology",
    ErrorCode.STREAMS_INVALID_TOPOLOGY_EPOCH: "invalid topology epoch",
    ErrorCode.STREAMS_TOPOLOGY_FENCED: "the topology epoch is outdated",
    ErrorCode.SHARE_SESSION_LIMIT_REACHED: "too many share sessions",
}
