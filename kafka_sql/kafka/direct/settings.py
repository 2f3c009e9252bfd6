"""What a table's client is set to, and whether that can be done without librdkafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_sql.errors import InvalidOptionError
from kafka_sql.kafka.properties import API_TIMEOUT, DEFAULTS, TRANSACTION_TIMEOUT
from kafka_sql.kafka.protocol.sasl import mechanism
from kafka_sql.kafka.protocol.transactions import check_security

# what is honoured here whatever it is, and what concerns readers alone
_ANY: Final = frozenset(
    {
        "batch.size",
        "bootstrap.servers",
        "client.id",
        "delivery.timeout.ms",
        "linger.ms",  # a batch is sent when it is full, or at the end of a task
        "message.max.bytes",
        "receive.message.max.bytes",
        "security.protocol",
        "socket.connection.setup.timeout.ms",
        "socket.timeout.ms",
        API_TIMEOUT,
        TRANSACTION_TIMEOUT,
        "auto.offset.reset",
        "check.crcs",
        "client.rack",
        "enable.auto.commit",
        "fetch.message.max.bytes",
        "fetch.min.bytes",
        "fetch.queue.backoff.ms",
        "fetch.wait.max.ms",
        "group.id",
        "group.instance.id",
        "isolation.level",
        "max.partition.fetch.bytes",
        "queued.max.messages.kbytes",
        "queued.min.messages",
        "session.timeout.ms",
    }
)
_SECURITY: Final = ("ssl.", "sasl.")
_KERBEROS: Final = "GSSAPI"  # needs a package beyond those that every installation has


def served(config: Mapping[str, str]) -> bool:
    """Whether a producer with this configuration (librdkafka's) can be a direct one."""
    for key, value in config.items():
        if key not in _ANY and not key.startswith(_SECURITY) and DEFAULTS.get(key) != value:
            return False
    try:
        check_security(config)
    except InvalidOptionError:
        return False
    return not config.get("security.protocol", "plaintext").lower().startswith("sasl") or mechanism(config) != _KERBEROS
