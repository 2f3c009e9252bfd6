"""Create and read the decision log, a compacted topic that only the current (unfenced) writer can append to.

``DecisionLogWriter.fence_older_writers`` permanently stops all older writers with the same transactional id. After it,
``read_decisions`` returns everything they have written, and only the new writer can add records.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_sql.errors import AuthorizationError, BrokerError, BrokerUnreachableError
from kafka_sql.kafka.admin.client import Admin, log_quietly
from kafka_sql.kafka.error_codes import ErrorCode, error_text, is_retriable
from kafka_sql.kafka.librdkafka.client import open_client
from kafka_sql.kafka.librdkafka.connection_failures import UNREACHABLE
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.errors import raise_if_retriable
from kafka_sql.kafka.protocol.fetch import list_latest_offset, read_list_offsets
from kafka_sql.kafka.protocol.retries import api_limit, open_request_pool, retry_until
from kafka_sql.kafka.topic_partition import DECISION_LOG_TOPIC

LOG_TOPIC: Final = DECISION_LOG_TOPIC
_LOG_TOPIC_NAME: Final = f"Topic '{LOG_TOPIC}', the decision log of exactly-once"

_AUTHORIZATION_FAILED: Final = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
_IGNORED: Final = (
    KafkaError._PARTITION_EOF,
    KafkaError.GROUP_AUTHORIZATION_FAILED,  # the consumer joins no group, but librdkafka looks for its coordinator
)
_READ_SECONDS: Final = 90.0  # enough for the transaction of a dead writer to time out and be aborted
# Bootstrap servers of clusters that have the log. If one of their brokers does not know it, its metadata is stale.
_clusters_with_log: Final[set[str]] = set()
_GRANT_ADVICE: Final = (
    "Grant the user READ, WRITE and DESCRIBE on it. If it does not exist, also grant CREATE, or create it with one "
    "partition and 'cleanup.policy' = 'compact'."
)
# small segments that are cleaned early, because the whole log is read
_TOPIC_SETTINGS: Final = {
    "cleanup.policy": "compact",
    "segment.bytes": "4194304",
    "min.cleanable.dirty.ratio": "0.1",
    "unclean.leader.election.enable": "false",
}
_CONSUMER_SETTINGS: Final = {
    "group.id": "kafka_sql",
    "isolation.level": "read_committed",
    "enable.auto.commit": "false",
    "auto.offset.reset": "earliest",
    "enable.partition.eof": "true",
    "fetch.wait.max.ms": "2",  # after the last record and its transaction marker nothing more arrives
}


def read_decisions(config: Mapping[str, str]) -> dict[str, bytes]:
    """Return the latest value of each key of the log; empty if the log does not exist.

    Waits until everything written before the call has been committed or aborted, because another writer's open
    transaction hides the records after it.

    Raises:
        BrokerError: the log cannot be read, or a transaction stays open.
    """
    return _read_up_to(config, _end_offset(config, committed=False))


def read_committed_decisions(config: Mapping[str, str]) -> dict[str, bytes]:
    """Like ``read_decisions``, without waiting: records hidden by an open transaction are left out.

    A driver that died while writing left its transaction open. A driver that fences it does not have to wait until it
    times out.
    """
    return _read_up_to(config, _end_offset(config, committed=True))


def _end_offset(config: Mapping[str, str], *, committed: bool) -> int:
    """Return the log's end offset; 0 if the log does not exist.

    This does not use librdkafka: in one of 20 cases, a new client takes one to three seconds for the response.

    Args:
        committed: whether to return the last stable offset instead of the high watermark.
    """
    servers = config["bootstrap.servers"]

    def request() -> int:
        topic = brokers.topic_metadata(LOG_TOPIC)
        if topic.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and servers not in _clusters_with_log:
            return 0
        if topic.code in _AUTHORIZATION_FAILED:
            raise AuthorizationError(
                f"{_LOG_TOPIC_NAME}, does not exist, or the user is not authorized to see it. {_GRANT_ADVICE}",
                topic=LOG_TOPIC,
            )
        raise_if_retriable(topic.code, ApiKey.METADATA)  # brokers learn of a new topic one after another
        if topic.code != ErrorCode.NONE:
            raise _read_error(topic.code, error_text(topic.code))
        leader = topic.require_leader(0)
        response = brokers.connect_to(leader).ask(list_latest_offset(LOG_TOPIC, 0, committed=committed))
        code, end = read_list_offsets(response, 0)
        raise_if_retriable(code, ApiKey.LIST_OFFSETS)
        if code != ErrorCode.NONE:
            raise _read_error(code, error_text(code))
        _clusters_with_log.add(servers)
        return end

    with closing(open_request_pool(config)) as brokers:
        name = f"{ApiKey.LIST_OFFSETS.title} for topic '{LOG_TOPIC}'"
        return retry_until(request, brokers, api_limit(config), name)


def _read_error(code: int, reason: str) -> BrokerError:
    if code in _AUTHORIZATION_FAILED:
        return AuthorizationError(
            f"{_LOG_TOPIC_NAME}, cannot be read: {reason}. Grant the user READ, WRITE and DESCRIBE on it.",
            topic=LOG_TOPIC,
        )
    return BrokerError(f"Topic '{LOG_TOPIC}' cannot be read: {reason}.", topic=LOG_TOPIC)


def _read_up_to(config: Mapping[str, str], end: int) -> dict[str, bytes]:
    if not end:
        return {}
    consumer, _ = open_client(Consumer, {**config, **_CONSUMER_SETTINGS}, log_quietly)
    try:
        return _read(consumer, end)
    finally:
        consumer.close()


def _read(consumer: Any, end: int) -> dict[str, bytes]:
    partition, values = TopicPartition(LOG_TOPIC, 0, 0), dict[str, bytes]()
    consumer.assign([partition])
    deadline, offset = time.monotonic() + _READ_SECONDS, 0
    while offset < end:
        message = consumer.poll(0.2)
        if message is not None:
            error = message.error()
            if error is None:
                key = message.key().decode(errors="replace")
                if message.value() is None:
                    values.pop(key, None)
                else:
                    values[key] = message.value()
            elif error.code() not in _IGNORED and not is_retriable(error.code(), ApiKey.FETCH):
                raise _read_error(error.code(), error.str())
            offset = consumer.position([partition])[0].offset
        if time.monotonic() > deadline:
            raise BrokerError(
                f"{LOG_TOPIC}[0]@{offset}: a transaction of the decision log has been open for {_READ_SECONDS:g} s. "
                "Check the brokers.",
                topic=LOG_TOPIC,
                partition=0,
                offset=offset,
            )
    return values


def create_log(config: Mapping[str, str]) -> None:
    """Create the log if it does not exist, with three replicas if there are at least three brokers.

    Raises:
        BrokerError: the topic cannot be created.
    """

    def request(api: AdminClient, seconds: float) -> None:
        try:
            metadata = api.list_topics(timeout=seconds)
            if LOG_TOPIC not in metadata.topics:
                new_topic = _new_log_topic(len(metadata.brokers))
                api.create_topics([new_topic], request_timeout=seconds)[LOG_TOPIC].result()
        except KafkaException as e:
            if (error := _creation_error(e.args[0])) is not None:
                raise error from e
            if e.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise

    try:
        Admin(config).call(ApiKey.CREATE_TOPICS, request)
    except BrokerUnreachableError as e:
        raise e.with_prefix(f"{_LOG_TOPIC_NAME}, could not be created: ") from e
    _clusters_with_log.add(config["bootstrap.servers"])


def _new_log_topic(brokers: int) -> NewTopic:
    is_replicated = brokers >= 3
    settings = {**_TOPIC_SETTINGS, **({"min.insync.replicas": "2"} if is_replicated else {})}
    return NewTopic(LOG_TOPIC, 1, 3 if is_replicated else -1, config=settings)


def _creation_error(error: KafkaError) -> BrokerError | None:
    """Return the error of a request that is not to be sent again."""
    if error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
        return AuthorizationError(
            f"{_LOG_TOPIC_NAME}, does not exist, or the user is not authorized to see it, and may not create it: "
            f"{error.str()} {_GRANT_ADVICE}",
            topic=LOG_TOPIC,
        )
    is_repeated = error.code() in UNREACHABLE or is_retriable(error.code(), ApiKey.CREATE_TOPICS)
    if is_repeated or error.code() == KafkaError.TOPIC_ALREADY_EXISTS:
        return None
    return BrokerError(
        f"{_LOG_TOPIC_NAME}, could not be created: {error.str()} ({error.name()}). Grant the user CREATE, or create it "
        "with one partition and 'cleanup.policy' = 'compact'.",
        topic=LOG_TOPIC,
    )
