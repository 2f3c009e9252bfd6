"""Error codes: names and numbers as in librdkafka, descriptions, and which are retriable for which API."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from kafka_sql.kafka.direct.writes.transaction_manager import _severity
from kafka_sql.kafka.error_codes import FENCED, RETRIABLE, ErrorCode, error_text, is_retriable
from kafka_sql.kafka.protocol.codec import ApiKey

# librdkafka's older or shorter names
LIBRDKAFKA_NAMES = {
    "UNKNOWN": "UNKNOWN_SERVER_ERROR",
    "NO_ERROR": "NONE",
    "INVALID_MSG": "CORRUPT_MESSAGE",
    "UNKNOWN_TOPIC_OR_PART": "UNKNOWN_TOPIC_OR_PARTITION",
    "INVALID_MSG_SIZE": "INVALID_FETCH_SIZE",
    "NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER",
    "MSG_SIZE_TOO_LARGE": "MESSAGE_TOO_LARGE",
    "STALE_CTRL_EPOCH": "STALE_CONTROLLER_EPOCH",
    "TOPIC_EXCEPTION": "INVALID_TOPIC_EXCEPTION",
}
LEADER_APIS = {ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.DESCRIBE_PRODUCERS}
TRANSACTION_APIS = {ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.END_TXN}
GROUP_APIS = {ApiKey.DESCRIBE_GROUPS, ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH}
COORDINATOR_APIS = {*TRANSACTION_APIS, *GROUP_APIS, ApiKey.DESCRIBE_TRANSACTIONS}
CONNECTION_APIS = {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}


PROTOCOL_CODES = {
    code: LIBRDKAFKA_NAMES.get(name, name)
    for name, code in vars(KafkaError).items()
    if name.isupper() and isinstance(code, int) and code >= -1
}


def test_codes_and_names_are_those_of_librdkafka() -> None:
    assert len(PROTOCOL_CODES) > 100
    own = {int(code): code.name for code in ErrorCode if code in PROTOCOL_CODES}
    assert PROTOCOL_CODES.items() >= own.items()
    assert {code.name for code in ErrorCode} - set(own.values()) == {"TRANSACTIONAL_ID_NOT_FOUND"}


@pytest.mark.parametrize("code", PROTOCOL_CODES)
def test_each_code_has_a_description(code: int) -> None:
    text = error_text(code)
    assert text.endswith(f" ({PROTOCOL_CODES[code]})")
    assert not text.startswith("Broker: ")


@pytest.mark.parametrize("code", ErrorCode)
def test_codes_that_matter_have_a_short_description(code: ErrorCode) -> None:
    text = error_text(code)
    assert text.endswith(f" ({code.name})")
    assert len(text) < 120
    assert error_text(int(code)) == text


@pytest.mark.parametrize("code", [999, -2, 32767, -32768])
def test_an_unknown_code_has_a_description_and_is_not_retriable(code: int) -> None:
    assert error_text(code) == f"error code {code}"
    assert not any(is_retriable(code, api) for api in ApiKey)


@pytest.mark.parametrize(
    ("code", "apis"),
    [
        # the Java producer retries a batch that was damaged in transit; the consumer raises for a damaged log
        (ErrorCode.CORRUPT_MESSAGE, {ApiKey.PRODUCE}),
        # InvalidMetadataException; of the coordinator's APIs only AddPartitionsToTxn names topics
        (
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            {*LEADER_APIS, ApiKey.METADATA, ApiKey.ADD_PARTITIONS_TO_TXN},
        ),
        (ErrorCode.LEADER_NOT_AVAILABLE, {*LEADER_APIS, ApiKey.METADATA}),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, {*LEADER_APIS, ApiKey.METADATA}),
        (ErrorCode.REPLICA_NOT_AVAILABLE, {*LEADER_APIS, ApiKey.METADATA}),
        (ErrorCode.KAFKA_STORAGE_ERROR, {*LEADER_APIS, ApiKey.METADATA}),
        (ErrorCode.FENCED_LEADER_EPOCH, {*LEADER_APIS, ApiKey.METADATA}),
        (ErrorCode.UNKNOWN_LEADER_EPOCH, LEADER_APIS),
        # KIP-207: only reads need the high watermark
        (ErrorCode.OFFSET_NOT_AVAILABLE, {ApiKey.FETCH, ApiKey.LIST_OFFSETS}),
        # TimeoutException
        (ErrorCode.REQUEST_TIMED_OUT, set(ApiKey) - CONNECTION_APIS),
        # KIP-890: the leader verifies the partition with the coordinator, so PRODUCE returns its errors
        (ErrorCode.NETWORK_EXCEPTION, {ApiKey.PRODUCE}),
        (
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
            {*COORDINATOR_APIS, ApiKey.FIND_COORDINATOR, ApiKey.LIST_TRANSACTIONS, ApiKey.PRODUCE},
        ),
        (
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
            {*COORDINATOR_APIS, ApiKey.FIND_COORDINATOR, ApiKey.LIST_TRANSACTIONS, ApiKey.PRODUCE},
        ),
        (ErrorCode.NOT_COORDINATOR, {*COORDINATOR_APIS, ApiKey.PRODUCE}),
        (ErrorCode.CONCURRENT_TRANSACTIONS, {*TRANSACTION_APIS, ApiKey.PRODUCE}),
        (ErrorCode.NOT_CONTROLLER, {ApiKey.CREATE_TOPICS}),
        (ErrorCode.THROTTLING_QUOTA_EXCEEDED, {ApiKey.CREATE_TOPICS}),
        # a coordinator returns COORDINATOR_NOT_AVAILABLE instead
        (ErrorCode.NOT_ENOUGH_REPLICAS, {ApiKey.PRODUCE}),
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, {ApiKey.PRODUCE}),
    ],
)
def test_where_a_code_is_retriable(code: ErrorCode, apis: set[ApiKey]) -> None:
    assert {api for api in ApiKey if is_retriable(code, api)} == apis


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,  # an ApiException: the broker will not learn the codec
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.BROKER_NOT_AVAILABLE,  # not a RetriableException
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,  # depends on the batch
        ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        *FENCED,
    ],
)
def test_what_is_retriable_nowhere(code: ErrorCode) -> None:
    assert not any(is_retriable(code, api) for api in ApiKey)


def test_every_rule_is_covered_above() -> None:
    (cases,) = (mark.args[1] for mark in test_where_a_code_is_retriable.pytestmark)  # type: ignore[attr-defined]
    assert {code for code, _ in cases} == set(RETRIABLE)


def test_the_cause_is_reported_rather_than_partitions_that_were_not_attempted() -> None:
    """AddPartitionsToTxn: if one partition fails, the coordinator does not attempt the others."""
    codes = [
        ErrorCode.NONE,
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ]
    assert sorted(codes, key=_severity) == codes
