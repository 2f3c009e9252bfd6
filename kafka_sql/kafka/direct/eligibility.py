"""Decide whether a table's client settings can be honored without librdkafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_sql.errors import OptionError
from kafka_sql.kafka.config.kerberos import sasl_mechanism
from kafka_sql.kafka.config.properties import API_TIMEOUT, DEFAULTS, TRANSACTION_TIMEOUT
from kafka_sql.kafka.protocol.transaction_admin import check_security

# honored with any value
_SUPPORTED: Final = frozenset(
    {
        "batch.size",
        "bootstrap.servers",
        "client.id",
        "delivery.timeout.ms",
        "fetch.max.bytes",
        "isolation.level",
        "linger.ms",
        "check.crcs",
        "max.partition.fetch.bytes",
        "message.max.bytes",
        "receive.message.max.bytes",
        "security.protocol",
        "socket.connection.setup.timeout.ms",
        "socket.timeout.ms",
        API_TIMEOUT,
        TRANSACTION_TIMEOUT,
    }
)
# irrelevant for writers; those of librdkafka's queue also for direct readers
_READER_ONLY: Final = frozenset(
    {
        "auto.offset.reset",
        "client.rack",
        "enable.auto.commit",
        "fetch.message.max.bytes",
        "fetch.min.bytes",
        "fetch.queue.backoff.ms",
        "fetch.wait.max.ms",
        "group.id",
        "group.instance.id",
        "queued.max.messages.kbytes",
        "queued.min.messages",
        "session.timeout.ms",
    }
)
# irrelevant for readers
_WRITER_ONLY: Final = frozenset(
    {
        "acks",
        "compression.codec",
        "compression.level",
        "compression.type",
        "enable.idempotence",
        "message.send.max.retries",
        "partitioner",
        "queue.buffering.max.kbytes",
        "queue.buffering.max.messages",
    }
)
# honored by direct writers, except those without a meaning for them: a batch is sent again until delivery.timeout.ms,
# as Kafka's documentation recommends, and metadata is requested when it is needed
_WRITER_HONORED: Final = frozenset(
    {
        "compression.codec",
        "compression.level",
        "compression.type",
        "max.in.flight.requests.per.connection",
        "message.send.max.retries",
        "metadata.max.age.ms",
        "queue.buffering.max.kbytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retries",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "socket.receive.buffer.bytes",
        "socket.send.buffer.bytes",
    }
)
_SYNONYMS: Final = {"acks": ("all", "-1")}  # values that mean the same as the default
# honored by direct readers
_READER_HONORED: Final = frozenset(
    {
        "metadata.max.age.ms",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "socket.receive.buffer.bytes",
        "socket.send.buffer.bytes",
    }
)
# settings without a meaning for a direct reader, beside those of writers: nothing is committed, no group is joined,
# connections are closed when they are idle for long, and metadata is requested when it is needed
_READER_IGNORED: Final = frozenset(
    {
        "allow.auto.create.topics",
        "auto.commit.interval.ms",
        "connections.max.idle.ms",
        "enable.auto.offset.store",
        "enable.metrics.push",
        "enable.partition.eof",
        "fetch.error.backoff.ms",
        "group.protocol",
        "group.remote.assignor",
        "heartbeat.interval.ms",
        "max.in.flight.requests.per.connection",
        "max.poll.interval.ms",
        "metadata.recovery.rebootstrap.trigger.ms",
        "metadata.recovery.strategy",
        "retries",
        "topic.metadata.refresh.interval.ms",
        "topic.metadata.refresh.sparse",
    }
)
_SECURITY: Final = ("ssl.", "sasl.")  # prefixes; see check_security
_KERBEROS: Final = "GSSAPI"  # needs an optional package, see protocol.gssapi


def write_obstacle(config: Mapping[str, str]) -> str | None:
    """Return why ``DirectProducer`` does not support librdkafka's configuration ``config``; None if it does."""
    obstacle = _obstacle(config, _SUPPORTED | _READER_ONLY | _WRITER_HONORED)
    if obstacle is None and sasl_mechanism(config) == _KERBEROS:
        return f"the direct client does not support 'properties.sasl.mechanism' = '{_KERBEROS}' for writing"
    return obstacle


def read_obstacle(config: Mapping[str, str]) -> str | None:
    """Return why ``read_columnar`` does not support librdkafka's configuration ``config``; None if it does."""
    return _obstacle(config, _SUPPORTED | _READER_ONLY | _WRITER_ONLY | _READER_HONORED | _READER_IGNORED)


def _obstacle(config: Mapping[str, str], supported: frozenset[str]) -> str | None:
    unsupported = [
        key
        for key, value in config.items()
        if key not in supported
        and not key.startswith(_SECURITY)
        and DEFAULTS.get(key) != value
        and value not in _SYNONYMS.get(key, ())
    ]
    if unsupported:
        return "the direct client does not support " + ", ".join(f"'properties.{key}'" for key in sorted(unsupported))
    try:
        check_security(config)
    except OptionError as e:
        return f"the direct client does not support the value of '{e.option}'"
    return None
