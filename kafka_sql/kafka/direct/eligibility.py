"""Decide whether a table's client settings can be honored without librdkafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_sql.errors import InvalidOptionError
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
        "linger.ms",  # not needed: a batch is sent when it is full, or at the end of the task
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
_RACK: Final = "client.rack"  # only librdkafka fetches from followers in the same rack
_SECURITY: Final = ("ssl.", "sasl.")  # prefixes; see check_security
_KERBEROS: Final = "GSSAPI"  # needs an optional package, see protocol.gssapi


def can_write(config: Mapping[str, str]) -> bool:
    """Return whether ``DirectProducer`` supports librdkafka's configuration ``config``."""
    return _is_supported(config, _SUPPORTED | _READER_ONLY) and _can_authenticate(config)


def can_read(config: Mapping[str, str]) -> bool:
    """Return whether ``read_columnar`` supports librdkafka's configuration ``config``."""
    return (
        _is_supported(config, _SUPPORTED | _READER_ONLY | _WRITER_ONLY)
        and not config.get(_RACK)
        and _can_authenticate(config)
    )


def _is_supported(config: Mapping[str, str], names: frozenset[str]) -> bool:
    return all(key in names or key.startswith(_SECURITY) or DEFAULTS.get(key) == value for key, value in config.items())


def _can_authenticate(config: Mapping[str, str]) -> bool:
    """Return whether the client of ``kafka_sql.kafka.protocol`` supports the security settings."""
    try:
        check_security(config)
    except InvalidOptionError:
        return False
    return sasl_mechanism(config) != _KERBEROS
