"""Java's client properties in librdkafka's words: one table, each key same, renamed, converted, ignored or refused.

Names and defaults: Apache Kafka's producer and consumer configuration pages, librdkafka's CONFIGURATION.md.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Mapping
from typing import Final

from kafka_sql.errors import InvalidOptionError, UnknownOptionError, did_you_mean
from kafka_sql.kafka import library
from kafka_sql.options.references import has_reference, resolve_all

_LOG = logging.getLogger("kafka_sql.kafka")

API_TIMEOUT: Final = "default.api.timeout.ms"  # Java's; librdkafka has none, so it is kept for our own waits
CONNECT_TIMEOUT: Final = "socket.connection.setup.timeout.ms"
DELIVERY_TIMEOUT: Final = "delivery.timeout.ms"
TRANSACTION_TIMEOUT: Final = "transaction.timeout.ms"

# Java's meaning wherever librdkafka's default differs, and buffers that let a reader run at full speed.
DEFAULTS: Final[Mapping[str, str]] = {
    "isolation.level": "read_uncommitted",
    "check.crcs": "true",
    "acks": "all",
    "enable.idempotence": "true",
    "delivery.timeout.ms": "120000",
    "partitioner": "murmur2_random",
    CONNECT_TIMEOUT: "10000",
    "message.max.bytes": "1048576",
    "linger.ms": "5",
    "batch.size": "1000000",
    "queue.buffering.max.messages": "200000",
    "queue.buffering.max.kbytes": "131072",
    "max.partition.fetch.bytes": "8388608",
    "queued.min.messages": "100000",
    "fetch.queue.backoff.ms": "2",  # librdkafka's second caps a reader at 150,000 records a second
}

RENAMED: Final[Mapping[str, str]] = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "max.request.size": "message.max.bytes",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}

VALUES: Final[Mapping[str, Mapping[str, str]]] = {
    "auto.offset.reset": {"none": "error"},
    "ssl.endpoint.identification.algorithm": {"": "none"},
}

IGNORED: Final[Mapping[str, str]] = {
    "key.deserializer": "it is overridden, as in Flink: the table's format decodes",
    "value.deserializer": "it is overridden, as in Flink: the table's format decodes",
    "max.poll.records": "batches are sized by bytes",
    "auto.commit.interval.ms": "offsets are kept in the checkpoint",
    "enable.auto.commit": "it is overridden: offsets are kept in the checkpoint, and committed after each batch",
    "request.timeout.ms": "socket.timeout.ms is librdkafka's own wait",
    "max.block.ms": "a full queue waits for the brokers",
    "buffer.memory": "queue.buffering.max.kbytes bounds librdkafka's queue",
    "partition.assignment.strategy": "splits are assigned by Spark",
    "exclude.internal.topics": "topics are named one by one",
    "metadata.max.idle.ms": "librdkafka has no such setting",
    "ssl.protocol": "OpenSSL chooses",
    "ssl.enabled.protocols": "OpenSSL chooses",
    "ssl.truststore.type": "stores are PEM here",
}

_NO_JVM = "it names a Java class, and there is no Java client here"
_PEM = "Java's stores are not read; give PEM files by {}"
REFUSED: Final[Mapping[str, str]] = {
    "key.serializer": "the table's format encodes",
    "value.serializer": "the table's format encodes",
    "interceptor.classes": _NO_JVM,
    "config.providers": _NO_JVM,
    "security.providers": _NO_JVM,
    "ssl.engine.factory.class": _NO_JVM,
    "partitioner.class": _NO_JVM,
    "sasl.kerberos.kinit.cmd": "librdkafka would run it as a shell command",
    "sasl.client.callback.handler.class": _NO_JVM,
    "sasl.login.callback.handler.class": _NO_JVM,
    "ssl.truststore.location": _PEM.format("properties.ssl.ca.location"),
    "ssl.keystore.location": _PEM.format("properties.ssl.certificate.location and properties.ssl.key.location"),
    "plugin.library.paths": "librdkafka would load it as code",
    "sasl.jaas.config": "set properties.sasl.mechanism, properties.sasl.username and properties.sasl.password",
}


# what the connector itself goes by, without a client
_READ_HERE: Final = ("isolation.level", "auto.offset.reset", "acks", CONNECT_TIMEOUT)


def to_librdkafka(properties: Mapping[str, str]) -> dict[str, str]:
    """librdkafka's configuration for a table's ``properties.*`` options (given without that prefix).

    Values are tried on librdkafka at once, so that a wrong one fails with the statement and not on an executor. One
    with a reference to a secret stays as it is, and is tried when the client is made.

    Raises:
        UnknownOptionError: neither Java's client nor librdkafka has the property.
        InvalidOptionError: the value is not allowed, or the property cannot be honoured.
    """
    config = dict(DEFAULTS)
    for key, value in properties.items():
        if key in REFUSED:
            raise InvalidOptionError(f"Option 'properties.{key}' is not supported: {REFUSED[key]}.")
        if key in IGNORED:
            _LOG.warning("option 'properties.%s' has no effect: %s", key, IGNORED[key])
            continue
        config[RENAMED.get(key, key)] = VALUES.get(key, {}).get(value, value)
    if "enable.idempotence" not in properties and _breaks_idempotence(config):
        config["enable.idempotence"] = "false"  # as Java's producer does
    given = {RENAMED.get(k, k): k for k in properties}
    conf, why = library.conf_new(), ctypes.create_string_buffer(512)
    try:
        for key, value in config.items():
            if key == API_TIMEOUT:
                _milliseconds(key, value)
                continue
            later = has_reference(value)
            if later and key in _READ_HERE:
                raise InvalidOptionError(f"Option 'properties.{key}' cannot be a reference; write its value.")
            code = library.conf_set(conf, key.encode(), b"" if later else value.encode(), why, 512)
            if code != library.CONF_OK and (code == library.CONF_UNKNOWN or not later):
                raise _refusal(given.get(key, key), code, why.value.decode())
    finally:
        library.conf_destroy(conf)
    return config


def resolved(config: Mapping[str, str]) -> dict[str, str]:
    """A client's configuration with the references in it resolved: only to be handed to the client.

    Raises:
        SecretReferenceError: one names nothing; the message has the reference and no secret.
    """
    return resolve_all(config, "properties.")


def _breaks_idempotence(config: Mapping[str, str]) -> bool:
    in_flight = config.get("max.in.flight.requests.per.connection", "5")
    return config["acks"] not in ("all", "-1") or (in_flight.isdigit() and int(in_flight) > 5)


def _milliseconds(key: str, value: str) -> None:
    if not value.isdigit():
        raise InvalidOptionError(f"Invalid value for option 'properties.{key}': expected milliseconds.")


def _refusal(key: str, code: int, why: str) -> Exception:
    if code == library.CONF_UNKNOWN:
        known = [*RENAMED, *VALUES, *IGNORED, *REFUSED, *DEFAULTS, *COMMON]
        return UnknownOptionError(
            f"Option 'properties.{key}' is no property of Kafka's client.{did_you_mean(key, known)}"
        )
    # librdkafka repeats the value in its words, which may be a secret: only the range that it allows is shown
    allowed = f": {why.split(' allowed ')[-1]}" if " allowed " in why else ""
    return InvalidOptionError(f"Invalid value for option 'properties.{key}'{allowed}.")


# spelled the same in both clients; only for "did you mean"
COMMON: Final = (
    "bootstrap.servers",
    "group.id",
    "client.id",
    "client.rack",
    "security.protocol",
    "sasl.mechanism",
    "sasl.username",
    "sasl.password",
    "compression.type",
    "session.timeout.ms",
    "fetch.min.bytes",
    "metadata.max.age.ms",
    "retry.backoff.ms",
    "reconnect.backoff.ms",
    "socket.timeout.ms",
    API_TIMEOUT,
)
