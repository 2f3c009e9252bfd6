"""What a table's client is set to, and whether that can be done without librdkafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_sql.errors import InvalidOptionError
from kafka_sql.kafka.config.properties import API_TIMEOUT, DEFAULTS, TRANSACTION_TIMEOUT
from kafka_sql.kafka.protocol.sasl import mechanism
from kafka_sql.kafka.protocol.transaction_admin import check_security

# what is honoured here whatever it is
_ANY: Final = frozenset(
    {
        "batch.size",
        "bootstrap.servers",
        "client.id",
        "delivery.timeout.ms",
        "fetch.max.bytes",
        "isolation.level",
        "linger.ms",  # a batch is sent when it is full, or at the end of a task
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
# what concerns the others alone; and of readers, librdkafka's queue, which there is none of here
_OF_READERS: Final = frozenset(
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
_OF_WRITERS: Final = frozenset(
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
_RACK: Final = "client.rack"  # whose followers only librdkafka finds
_SECURITY: Final = ("ssl.", "sasl.")
_KERBEROS: Final = "GSSAPI"  # needs a package beyond those that every installation has


def can_write(config: Mapping[str, str]) -> bool:
    """Whether a producer with this configuration (librdkafka's) can be a direct one."""
    return _known(config, _ANY | _OF_READERS) and _can_authenticate(config)


def can_read(config: Mapping[str, str]) -> bool:
    """Whether records can be read directly with this configuration (librdkafka's)."""
    return _known(config, _ANY | _OF_READERS | _OF_WRITERS) and not config.get(_RACK) and _can_authenticate(config)


def _known(config: Mapping[str, str], names: frozenset[str]) -> bool:
    return all(key in names or key.startswith(_SECURITY) or DEFAULTS.get(key) == value for key, value in config.items())


def _can_authenticate(config: Mapping[str, str]) -> bool:
    """Whether the brokers would let a client of this package in."""
    try:
        check_security(config)
    except InvalidOptionError:
        return False
    return not config.get("security.protocol", "plaintext").lower().startswith("sasl") or mechanism(config) != _KERBEROS
