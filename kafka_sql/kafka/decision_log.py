"""A compacted topic of records by key that nobody writes who has been fenced: how it is made and read.

A writer's ``fence`` (``log_writer``) ends all older writers of the same transactional id for good: what ``read_log``
then gives is what they have written, and nothing comes after it but one's own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import closing
from types import SimpleNamespace
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_sql.errors import AuthorizationError, BrokerError
from kafka_sql.kafka.admin.client import admin_config
from kafka_sql.kafka.config.properties import API_TIMEOUT, SOCKET_TIMEOUT, connect_timeout, resolve_config
from kafka_sql.kafka.error_codes import ErrorCode, error_text
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool, retry_until
from kafka_sql.kafka.protocol.errors import RetriableError, raise_if_retriable
from kafka_sql.kafka.protocol.list_offsets import list_latest_offset, read_list_offsets
from kafka_sql.kafka.protocol.metadata import metadata, read_metadata
from kafka_sql.options.secret_references import mask_secrets

LOG_TOPIC: Final = "__kafka_sql_transactions"
_WHAT: Final = f"Topic '{LOG_TOPIC}', in which exactly-once records its decisions"

_LOG = logging.getLogger("kafka_sql.kafka")
_QUIET = SimpleNamespace(log=lambda level, *words: _LOG.debug(*words))
_FORBIDDEN: Final = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
_IGNORED: Final = (
    KafkaError._PARTITION_EOF,
    KafkaError.GROUP_AUTHORIZATION_FAILED,  # the consumer has no group: librdkafka asks for one's coordinator
)
_VISIBLE_SECONDS: Final = 90.0  # the brokers look for transactions that have timed out every 10 s
_there: Final[set[str]] = set()  # clusters that have the log: a broker that knows of none is behind, and not believed
_RIGHTS: Final = (
    "Grant the user READ, WRITE and DESCRIBE on it; and where it does not exist, CREATE, or create it once: one "
    "partition, 'cleanup.policy' = 'compact'."
)
# small segments, cleaned early: the log is read as a whole
_SETTINGS: Final = {
    "cleanup.policy": "compact",
    "segment.bytes": "4194304",
    "min.cleanable.dirty.ratio": "0.1",
    "unclean.leader.election.enable": "false",
}


def read_decisions(config: Mapping[str, str]) -> dict[str, bytes]:
    """The log's latest value of each key; empty where there is no log.

    Waits until all that was written before the call has been committed or aborted: another writer's open transaction
    hides what lies behind it.

    Raises:
        BrokerError: it cannot be read, or a transaction stays open.
    """
    return _read_up_to(config, _end(config, committed=False))


def read_committed_decisions(config: Mapping[str, str]) -> dict[str, bytes]:
    """As ``read_log``, without waiting: what an open transaction hides is left out.

    A driver that died while it wrote has left one open; who fences it need not wait for its timeout.
    """
    return _read_up_to(config, _end(config, committed=True))


def _end(config: Mapping[str, str], *, committed: bool) -> int:
    """The log's end, of what is committed or of all; 0 where there is no log.

    Not asked by librdkafka: a new client of it has the answer after a second, or three, each twentieth time.
    """
    servers, seconds = config["bootstrap.servers"], connect_timeout(config)
    silence = min(int(config[SOCKET_TIMEOUT]), int(seconds * 1000))

    def ask() -> int:
        response = read_metadata(brokers.any_connection().ask(metadata([LOG_TOPIC])))
        code, leaders = response.topic(LOG_TOPIC)
        if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and servers not in _there:
            return 0
        if code in _FORBIDDEN:
            raise AuthorizationError(f"{_WHAT}, does not exist, or the user may not see it. {_RIGHTS}")
        leader = leaders[0] if leaders else None
        if leader is None:  # a broker learns of a new topic by and by
            raise RetriableError(code or ErrorCode.LEADER_NOT_AVAILABLE)
        answer = brokers.connect_to(leader).ask(list_latest_offset(LOG_TOPIC, 0, committed=committed))
        code, end = read_list_offsets(answer, 0)
        raise_if_retriable(code, ApiKey.LIST_OFFSETS)
        if code != ErrorCode.NONE:
            raise _unreadable(code, error_text(code))
        _there.add(servers)
        return end

    with closing(ConnectionPool({**config, SOCKET_TIMEOUT: str(silence)})) as brokers:
        return retry_until(ask, brokers.close, seconds, f"'{servers}': topic '{LOG_TOPIC}'")


def _unreadable(code: int, words: str) -> BrokerError:
    if code in _FORBIDDEN:
        return AuthorizationError(f"{_WHAT}, cannot be read: {words}. Grant the user READ, WRITE and DESCRIBE on it.")
    return BrokerError(f"Topic '{LOG_TOPIC}' cannot be read: {words}.")


def _read_up_to(config: Mapping[str, str], end: int) -> dict[str, bytes]:
    if not end:
        return {}
    consumer = _client(
        Consumer,
        config,
        {
            "group.id": "kafka_sql",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 2,  # behind the last record lies its transaction's end, after which nothing comes
        },
    )
    try:
        return _read(consumer, end)
    finally:
        consumer.close()


def _read(consumer: Any, end: int) -> dict[str, bytes]:
    place, found = TopicPartition(LOG_TOPIC, 0, 0), dict[str, bytes]()
    consumer.assign([place])
    deadline, at = time.monotonic() + _VISIBLE_SECONDS, 0
    while at < end:
        message = consumer.poll(0.2)
        if message is not None:
            error = message.error()
            if error is None:
                key = message.key().decode(errors="replace")
                if message.value() is None:
                    found.pop(key, None)
                else:
                    found[key] = message.value()
            elif error.code() not in _IGNORED:
                raise _unreadable(error.code(), error.str())
            at = consumer.position([place])[0].offset
        if time.monotonic() > deadline:
            raise BrokerError(
                f"{LOG_TOPIC}[0]@{at}: a transaction of the log has been open for {_VISIBLE_SECONDS:g} s. Check the "
                "brokers."
            )
    return found


def create_log(config: Mapping[str, str]) -> None:
    """Create the log where it is not there: three replicas where there are three brokers.

    Raises:
        BrokerError: the brokers refuse.
    """
    admin = _client(AdminClient, admin_config(config), {})
    try:
        known = admin.list_topics(timeout=connect_timeout(config))
        if LOG_TOPIC in known.topics:
            _there.add(config["bootstrap.servers"])
            return
        many = len(known.brokers) >= 3
        settings = {**_SETTINGS, **({"min.insync.replicas": "2"} if many else {})}
        new = NewTopic(LOG_TOPIC, 1, 3 if many else -1, config=settings)
        admin.create_topics([new])[LOG_TOPIC].result(connect_timeout(config))
        _there.add(config["bootstrap.servers"])
    except KafkaException as e:
        error: KafkaError = e.args[0]
        if error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
            raise AuthorizationError(
                f"{_WHAT}, does not exist, or the user may not see it, and may not create it: {error.str()} {_RIGHTS}"
            ) from e
        if error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise BrokerError(
                f"{_WHAT}, could not be created: {error.str()} ({error.name()}). Let the user create it, or create it "
                "once: one partition, 'cleanup.policy' = 'compact'."
            ) from e
        _there.add(config["bootstrap.servers"])


def _client(kind: Any, config: Mapping[str, str], own: Mapping[str, Any]) -> Any:
    given = resolve_config({k: v for k, v in config.items() if k != API_TIMEOUT})
    try:
        client = kind({**given, **own, "logger": _QUIET})
    except KafkaException as e:
        raise BrokerError(f"The Kafka client could not start: {mask_secrets(str(e.args[0]), config, given)}.") from None
    client.poll(0)  # an unsecured bearer token is made from here; without it no broker answers
    return client
