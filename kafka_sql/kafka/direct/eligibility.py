"""Decide whether a table's client settings can be honored without librdkafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_sql.errors import OptionError
from kafka_sql.kafka.config.properties import DEFAULTS, OWN_TIMEOUTS, TRANSACTION_TIMEOUT
from kafka_sql.kafka.config.sasl import sasl_mechanism
from kafka_sql.kafka.protocol.transaction_admin import check_security

# honored by readers and writers
HONORED: Final = frozenset(
    {
        "bootstrap.servers",
        "check.crcs",
        "client.dns.lookup",
        "client.id",
        "connections.max.idle.ms",
        "receive.message.max.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "security.protocol",
        "socket.connection.setup.timeout.ms",
        "socket.receive.buffer.bytes",
        "socket.send.buffer.bytes",
        "socket.timeout.ms",
        *OWN_TIMEOUTS,
    }
)
READER_HONORED: Final = frozenset(
    {
        "client.rack",
        "fetch.max.bytes",
        "fetch.message.max.bytes",
        "fetch.min.bytes",
        "fetch.wait.max.ms",
        "isolation.level",
        "max.partition.fetch.bytes",
        "metadata.max.age.ms",
    }
)
WRITER_HONORED: Final = frozenset(
    {
        "acks",  # except those in UNSUPPORTED_VALUES
        "batch.size",
        "compression.codec",
        "compression.level",
        "compression.type",
        "delivery.timeout.ms",
        "enable.idempotence",
        "linger.ms",
        "max.in.flight.requests.per.connection",
        "message.max.bytes",
        "message.send.max.retries",
        "queue.buffering.max.kbytes",
        "retries",
        TRANSACTION_TIMEOUT,
    }
)
UNSUPPORTED_VALUES: Final = {"acks": ("0",)}  # the broker sends no response, and closes the connection on an error
# without a meaning for the direct client: no group is joined, nothing is committed, and metadata is requested from any
# broker or bootstrap server when it is needed
NO_MEANING: Final = frozenset(
    {
        "allow.auto.create.topics",
        "auto.commit.interval.ms",
        "auto.offset.reset",
        "enable.auto.commit",
        "enable.auto.offset.store",
        "enable.metrics.push",
        "enable.partition.eof",
        "fetch.error.backoff.ms",
        "fetch.queue.backoff.ms",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "group.remote.assignor",
        "heartbeat.interval.ms",
        "max.poll.interval.ms",
        "metadata.recovery.rebootstrap.trigger.ms",
        "metadata.recovery.strategy",
        "queued.max.messages.kbytes",
        "queued.min.messages",
        "session.timeout.ms",
        "topic.metadata.refresh.interval.ms",
        "topic.metadata.refresh.sparse",
    }
)
# without a meaning for readers
WRITER_ONLY: Final = WRITER_HONORED | {"partitioner", "queue.buffering.max.messages"}
# values that describe what the direct client always does
_SYNONYMS: Final = {"socket.keepalive.enable": ("true",), "socket.nagle.disable": ("true",)}
SECURITY: Final = ("ssl.", "sasl.")  # prefixes; see check_security
KERBEROS: Final = "GSSAPI"  # needs the system's Kerberos library, see protocol.gssapi


def find_write_obstacle(config: Mapping[str, str]) -> str | None:
    """Return why ``DirectProducer`` does not support librdkafka's configuration ``config``; None if it does."""
    obstacle = _find_obstacle(config, HONORED | NO_MEANING | READER_HONORED | WRITER_HONORED, UNSUPPORTED_VALUES)
    if obstacle is None and sasl_mechanism(config) == KERBEROS:
        return f"the direct client does not support 'properties.sasl.mechanism' = '{KERBEROS}' for writing"
    return obstacle


def find_read_obstacle(config: Mapping[str, str]) -> str | None:
    """Return why ``read_columnar`` does not support librdkafka's configuration ``config``; None if it does."""
    return _find_obstacle(config, HONORED | NO_MEANING | READER_HONORED | WRITER_ONLY, {})


def _find_obstacle(
    config: Mapping[str, str], supported: frozenset[str], unsupported_values: Mapping[str, tuple[str, ...]]
) -> str | None:
    unsupported = [
        f"'properties.{key}'"
        for key, value in config.items()
        if not (key in supported or key.startswith(SECURITY))
        and DEFAULTS.get(key) != value
        and value not in _SYNONYMS.get(key, ())
    ]
    unsupported += [f"'properties.{k}' = '{v}'" for k, v in config.items() if v in unsupported_values.get(k, ())]
    if unsupported:
        return "the direct client does not support " + ", ".join(sorted(unsupported))
    try:
        check_security(config)
    except OptionError as e:
        if e.option == "properties.sasl.mechanism" and sasl_mechanism(config) == KERBEROS:
            return f"the direct client needs MIT Kerberos' library for 'properties.sasl.mechanism' = '{KERBEROS}'"
        return f"the direct client does not support the value of '{e.option}'"
    return None
