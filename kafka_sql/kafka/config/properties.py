"""Java's client properties in librdkafka's words, by the table of ``java_properties``.

Names and defaults: Apache Kafka's producer and consumer configuration pages, librdkafka's CONFIGURATION.md.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Mapping
from typing import Final

from kafka_sql.errors import InvalidOptionError, UnknownOptionError, did_you_mean
from kafka_sql.kafka import bindings
from kafka_sql.kafka.config import kerberos, security
from kafka_sql.kafka.config.conversions import JAAS, RANGES, clamp_to_range, convert, parse_digits
from kafka_sql.kafka.config.java_properties import JAVA_PROPERTIES, REJECTED_LIBRDKAFKA_OPTIONS, Handling
from kafka_sql.options import allowed_paths
from kafka_sql.options.secret_references import has_reference, resolve_all

_LOG = logging.getLogger("kafka_sql.kafka")

API_TIMEOUT: Final = "default.api.timeout.ms"  # Java's; librdkafka has none, so it is kept for our own waits
CONNECT_TIMEOUT: Final = "socket.connection.setup.timeout.ms"
DELIVERY_TIMEOUT: Final = "delivery.timeout.ms"
TRANSACTION_TIMEOUT: Final = "transaction.timeout.ms"
SOCKET_TIMEOUT: Final = "socket.timeout.ms"  # Java's request.timeout.ms: a connection that is silent for so long ends

# Java's meaning wherever librdkafka's default differs, and buffers that let a reader run at full speed.
DEFAULTS: Final[Mapping[str, str]] = {
    "isolation.level": "read_uncommitted",
    "check.crcs": "true",
    "acks": "all",
    "enable.idempotence": "true",
    "delivery.timeout.ms": "120000",
    "partitioner": "murmur2_random",
    CONNECT_TIMEOUT: "10000",
    SOCKET_TIMEOUT: "30000",  # librdkafka's minute, and its quarter of an hour in transactions, outlast all other waits
    "message.max.bytes": "1048576",
    "linger.ms": "100",  # requests of thousands of records; a flush, as at the end of each task, waits for none of it
    "batch.size": "1000000",
    "queue.buffering.max.messages": "200000",
    "queue.buffering.max.kbytes": "131072",
    "max.partition.fetch.bytes": "8388608",
    "queued.min.messages": "100000",
    "fetch.queue.backoff.ms": "2",  # librdkafka's second caps a reader at 150,000 records a second
}

# what the connector itself goes by, without a client
_NUMBERS: Final = {
    **dict.fromkeys((CONNECT_TIMEOUT, DELIVERY_TIMEOUT, TRANSACTION_TIMEOUT, SOCKET_TIMEOUT), "milliseconds"),
    "receive.message.max.bytes": "a number of bytes",
}
_READ_HERE: Final = ("isolation.level", "auto.offset.reset", "acks", *_NUMBERS)


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
        _check_text(key, value)
        config.update(_carried(key, value))
    config.update(convert(properties))
    security.check_stores(config)
    kerberos.check_kerberos_support(config)
    _fit(config, properties)
    given = {(JAVA_PROPERTIES[k].librdkafka_name if k in JAVA_PROPERTIES else "") or k: k for k in properties}
    conf, why = bindings.conf_new(), ctypes.create_string_buffer(512)
    try:
        for key, value in config.items():
            if key == API_TIMEOUT:
                _check_number(key, value, "milliseconds")
                continue
            if key in security.JAVA_SIDE:
                continue
            later = has_reference(value)
            if later and key in _READ_HERE:
                raise InvalidOptionError(f"Option 'properties.{key}' cannot be a reference; write its value.")
            code = bindings.conf_set(conf, key.encode(), b"" if later else value.encode(), why, 512)
            if code != bindings.CONF_OK and (code == bindings.CONF_UNKNOWN or not later):
                raise _refusal(given.get(key, key), code, why.value.decode(errors="replace"))
            if key in _NUMBERS:  # which C may write otherwise than Python reads
                _check_number(given.get(key, key), value, _NUMBERS[key])
    finally:
        bindings.conf_destroy(conf)
    return config


def resolve_config(config: Mapping[str, str]) -> dict[str, str]:
    """A client's configuration with the references in it resolved and the stores read: only to be handed to the
    client.

    Raises:
        SecretReferenceError: one names nothing; the message has the reference and no secret.
        KeyStoreError: a store cannot be read.
    """
    found = security.resolve_stores(resolve_all(config, "properties."))
    for key, value in found.items():
        _check_text(key, value)
    return found


def credentials_fingerprint(config: Mapping[str, str]) -> tuple[object, ...]:
    """What the configuration's references name and its files are now. Where that differs from when a client was made,
    the client is to be made anew. Only to be compared: it holds secrets.

    Raises:
        SecretReferenceError: as ``resolved``.
    """
    named = resolve_all({key: value for key, value in config.items() if has_reference(value)}, "properties.")
    files = [named.get(key) or config[key] for key in security.FILES if config.get(key)]
    return tuple(named.values()), tuple(map(allowed_paths.file_state, files))


def connect_timeout(config: Mapping[str, str]) -> float:
    """Return the seconds to wait for a cluster's first response.

    It is ``default.api.timeout.ms`` if set, else ``socket.connection.setup.timeout.ms``.
    """
    return int(config.get(API_TIMEOUT, config[CONNECT_TIMEOUT])) / 1000


def api_timeout(config: Mapping[str, str]) -> float:
    """Return the seconds for which a cluster that has responded before may be silent. Default: Java's."""
    return int(config.get(API_TIMEOUT, 60_000)) / 1000


def _carried(key: str, value: str) -> dict[str, str]:
    """A property under librdkafka's name; nothing where it is converted together with others, or ignored."""
    if key in REJECTED_LIBRDKAFKA_OPTIONS:
        raise InvalidOptionError(f"Option 'properties.{key}' is not supported: {REJECTED_LIBRDKAFKA_OPTIONS[key]}.")
    java = JAVA_PROPERTIES.get(key)
    if java is None:
        return {key: value}
    if java.handling is Handling.REJECTED and value not in java.neutral_values:
        raise InvalidOptionError(f"Option 'properties.{key}' is not supported: {java.reason}.")
    if java.handling is Handling.IGNORED and value not in java.neutral_values:
        _LOG.warning("option 'properties.%s' has no effect: %s", key, java.reason)
    if java.handling in (Handling.REJECTED, Handling.IGNORED):
        return {}
    if java.handling is Handling.CONVERTED and key not in _KEPT:
        return {}
    name = java.librdkafka_name or key
    return {name: clamp_to_range(key, name, value)}


# converted later, or only where the value asks for it
_KEPT: Final = {*RANGES, *security.JAVA_SIDE, security.KEY_PASSWORD, API_TIMEOUT} - {JAAS}


def _fit(config: dict[str, str], properties: Mapping[str, str]) -> None:
    """Values that librdkafka wants to be in proportion to each other, or that it takes for granted."""
    if "enable.idempotence" not in properties and _breaks_idempotence(config):
        config["enable.idempotence"] = "false"  # as Java's producer does
    most, least = config.get("fetch.max.bytes", ""), config["message.max.bytes"]
    wanted, needed = parse_digits(most), parse_digits(least)
    if wanted is not None and needed is not None and wanted < needed:
        config["fetch.max.bytes"] = least


def _breaks_idempotence(config: Mapping[str, str]) -> bool:
    in_flight = parse_digits(config.get("max.in.flight.requests.per.connection", "5"))
    return config["acks"] not in ("all", "-1") or (in_flight is not None and in_flight > 5)


def _check_text(key: str, value: str) -> None:
    """Refuse what C's strings would cut off, or UTF-8 has not."""
    for text, what in ((key, "name"), (value, "value")):
        if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
            raise InvalidOptionError(
                f"Invalid {what} of option 'properties.{ascii(key)[1:-1]}': it has a NUL, or half of a character."
            )


def _check_number(key: str, value: str, what: str) -> None:
    if parse_digits(value) is None:
        raise InvalidOptionError(f"Invalid value for option 'properties.{key}': expected {what}.")


def _refusal(key: str, code: int, why: str) -> Exception:
    if code == bindings.CONF_UNKNOWN:
        known = [*JAVA_PROPERTIES, *DEFAULTS, *LIBRDKAFKA_OPTIONS]
        return UnknownOptionError(
            f"Option 'properties.{key}' is no property of Kafka's client.{did_you_mean(key, known)}"
        )
    # librdkafka repeats the value in its words, which may be a secret: only the range that it allows is shown
    allowed_range = f": {why.split(' allowed ')[-1]}" if " allowed " in why else ""
    return InvalidOptionError(f"Invalid value for option 'properties.{key}'{allowed_range}.")


# librdkafka's own; only for "did you mean"
LIBRDKAFKA_OPTIONS: Final = (
    "sasl.username",
    "sasl.password",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "socket.timeout.ms",
    "sasl.oauthbearer.method",
)
