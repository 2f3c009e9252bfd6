"""Convert Java's client properties to librdkafka's configuration, with the table in ``java_properties``.

Names and defaults: Apache Kafka's producer and consumer configuration pages, librdkafka's CONFIGURATION.md.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Final

from kafka_sql.errors import InvalidOptionError, UnknownOptionError
from kafka_sql.kafka.config import librdkafka_properties, sasl, security
from kafka_sql.kafka.config.conversions import clamp_to_range, convert_properties, parse_digits
from kafka_sql.kafka.config.jaas import JAAS
from kafka_sql.kafka.config.java_properties import JAVA_PROPERTIES, Handling
from kafka_sql.kafka.config.java_values import Integers, invalid_value
from kafka_sql.kafka.config.librdkafka_properties import ALLOWED_OPTIONS, REJECTED_OPTIONS
from kafka_sql.kafka.config.normalization import CIPHERS, HOST_NAME_CHECK, normalize_properties, normalize_settings
from kafka_sql.kafka.config.sasl import check_credentials
from kafka_sql.kafka.config.token_providers import (
    OWN_PROPERTIES,
    check_provider,
    is_provider_setting,
    use_oauthbearer,
)
from kafka_sql.options import allow_lists
from kafka_sql.options.secret_references import has_reference, resolve_all
from kafka_sql.options.secrets import is_secret, is_url
from kafka_sql.suggestions import did_you_mean

_LOG = logging.getLogger("kafka_sql.kafka")

# Java's; librdkafka has none, but this package uses them for its waits
API_TIMEOUT: Final = "default.api.timeout.ms"
BLOCK_TIMEOUT: Final = "max.block.ms"
OWN_TIMEOUTS: Final = (API_TIMEOUT, BLOCK_TIMEOUT)
CONNECT_TIMEOUT: Final = "socket.connection.setup.timeout.ms"
DELIVERY_TIMEOUT: Final = "delivery.timeout.ms"
TRANSACTION_TIMEOUT: Final = "transaction.timeout.ms"
SOCKET_TIMEOUT: Final = "socket.timeout.ms"  # Java's request.timeout.ms, after which a silent connection is closed

# Java's defaults where librdkafka's differ, and buffers that let a reader run at full speed.
DEFAULTS: Final[Mapping[str, str]] = {
    "isolation.level": "read_uncommitted",
    "check.crcs": "true",
    "acks": "all",
    "enable.idempotence": "true",
    "delivery.timeout.ms": "120000",
    "partitioner": "murmur2_random",
    CONNECT_TIMEOUT: "10000",
    SOCKET_TIMEOUT: "30000",  # librdkafka's minute, and 15 minutes in transactions, are longer than all other timeouts
    "message.max.bytes": "1048576",
    "linger.ms": "100",  # large requests; a flush, as at the end of each task, does not wait
    "batch.size": "1000000",
    "queue.buffering.max.messages": "200000",
    "queue.buffering.max.kbytes": "131072",
    "max.partition.fetch.bytes": "8388608",
    "queued.min.messages": "100000",
    "fetch.queue.backoff.ms": "2",  # librdkafka's 1 s limits a reader to 150,000 records per second
}

# properties that this package reads itself
_NUMBERS: Final = {
    **dict.fromkeys((CONNECT_TIMEOUT, DELIVERY_TIMEOUT, TRANSACTION_TIMEOUT, SOCKET_TIMEOUT), "milliseconds"),
    "receive.message.max.bytes": "a number of bytes",
}
# what C reads as a number otherwise: 010 is octal, and the rest of 1.5 and 5 s is ignored
_OTHER_NUMBER: Final = re.compile(r"\s*[+-]?(?:0\d|\d+[^\d])")
_NO_REFERENCES: Final = ("isolation.level", "auto.offset.reset", "acks", *_NUMBERS)


def to_librdkafka(properties: Mapping[str, str]) -> dict[str, str]:
    """Return librdkafka's configuration for a table's ``properties.*`` options.

    librdkafka checks the values immediately, so that an invalid one fails the statement and not a task. A value with a
    reference to a secret is kept as it is, and checked when a client is created.

    Args:
        properties: the options without the prefix.

    Raises:
        UnknownOptionError: neither Java's clients nor librdkafka have the property.
        InvalidOptionError: the value is invalid, or the property is not supported.
    """
    config = dict(DEFAULTS)
    properties = normalize_properties(properties)
    for key, value in properties.items():
        _check_characters(key, value)
        config.update(_convert_property(key, value))
    config.update(convert_properties(properties))
    security.check_stores(config)
    check_provider(config)
    sasl.check_kerberos_support(config)
    _adjust(config, properties)
    original_names = {(JAVA_PROPERTIES[k].librdkafka_name if k in JAVA_PROPERTIES else "") or k: k for k in properties}
    _check_values(config, original_names)
    check_credentials(config)
    return config


def resolve_config(config: Mapping[str, str]) -> dict[str, str]:
    """Return a client's configuration with references resolved and stores read. Pass it to the client only.

    Raises:
        SecretReferenceError: a reference cannot be resolved; the message has the reference and no secret.
        OptionError: a resolved value is invalid; the message does not contain it.
        KeyStoreError: a store cannot be read.
    """
    resolved = normalize_settings(resolve_all(config, "properties."))
    settings = security.resolve_stores(resolved | use_oauthbearer(resolved))
    check_credentials(settings)
    for key, value in settings.items():
        _check_characters(key, value)
    return settings


def credentials_fingerprint(config: Mapping[str, str]) -> tuple[object, ...]:
    """Return the current values of the references and states of the files in a configuration.

    If it differs from the one at a client's creation, recreate the client. Only compare it: it contains secrets.

    Raises:
        SecretReferenceError: as ``resolve_config``.
    """
    resolved = resolve_all({key: value for key, value in config.items() if has_reference(value)}, "properties.")
    files = [resolved.get(key) or config[key] for key in security.CREDENTIAL_FILES if config.get(key)]
    return tuple(resolved.values()), tuple(map(allow_lists.file_state, files))


def connect_timeout(config: Mapping[str, str]) -> float:
    """Return the seconds to wait for a cluster's first response.

    It is ``default.api.timeout.ms`` if set, else ``socket.connection.setup.timeout.ms``.
    """
    return int(config.get(API_TIMEOUT, config[CONNECT_TIMEOUT])) / 1000


def api_timeout(config: Mapping[str, str]) -> float:
    """Return the seconds for which a cluster that has responded before may be silent. Default: Java's."""
    return int(config.get(API_TIMEOUT, 60_000)) / 1000


def _convert_property(key: str, value: str) -> dict[str, str]:
    """Return a property with librdkafka's name; nothing if ``convert_properties`` does, or if it is ignored."""
    java_property = JAVA_PROPERTIES.get(key)
    if key in OWN_PROPERTIES:
        return {key: value}
    if java_property is None:
        _check_allowed(key)
        return {key: value}
    if java_property.handling is Handling.REJECTED and value not in java_property.neutral_values:
        raise InvalidOptionError(
            f"Option 'properties.{key}' is not supported: {java_property.reason}.", option=f"properties.{key}"
        )
    if java_property.handling is Handling.IGNORED and value not in java_property.neutral_values:
        _LOG.warning("option 'properties.%s' has no effect: %s", key, java_property.reason)
    if java_property.handling in (Handling.REJECTED, Handling.IGNORED):
        return {}
    values = java_property.values
    limits = values.librdkafka if isinstance(values, Integers) else None
    if java_property.handling is Handling.CONVERTED and limits is None and key not in _CONVERTED_ELSEWHERE:
        return {}
    return {java_property.librdkafka_name or key: clamp_to_range(key, limits, value) if limits else value}


# CONVERTED properties that are converted before or after ``_convert_property``
_CONVERTED_ELSEWHERE: Final = {
    *(*security.JAVA_STORE_OPTIONS, security.KEY_PASSWORD, *OWN_TIMEOUTS, HOST_NAME_CHECK, CIPHERS)
} - {JAAS}


def _check_allowed(key: str) -> None:
    """Raise an error for an option that librdkafka has and that is not allowed. Unknown ones are reported later."""
    if key in ALLOWED_OPTIONS or _is_unknown(key):
        return
    reason = REJECTED_OPTIONS.get(
        key, "it is not one of the librdkafka options that this connector has checked. Remove it"
    )
    raise InvalidOptionError(f"Option 'properties.{key}' is not supported: {reason}.", option=f"properties.{key}")


def _is_unknown(key: str) -> bool:
    rejected = librdkafka_properties.find_rejected({key: ""})
    return rejected is not None and librdkafka_properties.is_unknown(rejected[1])


def _adjust(config: dict[str, str], properties: Mapping[str, str]) -> None:
    """Adjust values that librdkafka requires to be consistent with each other."""
    if "enable.idempotence" not in properties and _breaks_idempotence(config):
        config["enable.idempotence"] = "false"  # as Java's producer does
    fetch_bytes = parse_digits(config.get("fetch.max.bytes", ""))
    message_bytes = parse_digits(config["message.max.bytes"])
    if fetch_bytes is not None and message_bytes is not None and fetch_bytes < message_bytes:
        config["fetch.max.bytes"] = config["message.max.bytes"]


def _breaks_idempotence(config: Mapping[str, str]) -> bool:
    in_flight = parse_digits(config.get("max.in.flight.requests.per.connection", "5"))
    return config["acks"] not in ("all", "-1") or (in_flight is not None and in_flight > 5)


def _check_characters(key: str, value: str) -> None:
    """Raise an error for characters that C strings or UTF-8 cannot represent."""
    for text, what in ((key, "name"), (value, "value")):
        if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
            raise InvalidOptionError(
                f"Invalid {what} of option 'properties.{ascii(key)[1:-1]}': it contains a NUL or a lone surrogate.",
                option=f"properties.{ascii(key)[1:-1]}",
            )


def _check_values(config: Mapping[str, str], original_names: Mapping[str, str]) -> None:
    """Raise an error for a property or a value that librdkafka or this package does not accept.

    Args:
        original_names: the names that the user wrote, by librdkafka's.
    """
    literal: dict[str, str] = {}
    for key, value in config.items():
        if key in OWN_TIMEOUTS or key in security.JAVA_STORE_OPTIONS or key in OWN_PROPERTIES:
            continue
        if is_provider_setting(key) and key not in original_names:  # from the JAAS string
            continue
        if not has_reference(value):
            literal[key] = value
        elif key in _NO_REFERENCES:
            raise InvalidOptionError(
                f"Option 'properties.{key}' must be a literal value, not a reference.", option=f"properties.{key}"
            )
        elif _is_unknown(key):
            raise _unknown_property(original_names.get(key, key))
    if rejected := librdkafka_properties.find_rejected(literal):
        name, message = rejected
        raise _rejection(original_names.get(name, name), name, literal[name], message)
    for key, value in literal.items():
        if _OTHER_NUMBER.match(value) and key in original_names and librdkafka_properties.is_number(key):
            raise invalid_value(original_names[key], value, "a number in decimal digits, without a unit")
    for key, expected in {
        **dict.fromkeys(OWN_TIMEOUTS, "milliseconds"),
        **_NUMBERS,
    }.items():  # C accepts notations that Python does not
        if key in config:
            _check_number(original_names.get(key, key), config[key], expected)


def _check_number(key: str, value: str, expected: str) -> None:
    if parse_digits(value) is None:
        raise invalid_value(key, value, expected)


def _rejection(key: str, name: str, value: str, message: str) -> Exception:
    """Return the error for a literal that librdkafka rejects.

    Args:
        key: the property as the user wrote it.
        name: librdkafka's name for it.
    """
    if librdkafka_properties.is_unknown(message):
        return _unknown_property(key)
    shown = None if is_secret(key) or is_url(key) else value
    return invalid_value(key, shown, _describe_expected(name, message), _ENUM_VALUES.get(name, ()))


def _unknown_property(key: str) -> UnknownOptionError:
    known = [*JAVA_PROPERTIES, *OWN_PROPERTIES, *sorted(ALLOWED_OPTIONS)]
    return UnknownOptionError(
        f"Option 'properties.{key}' is not a Kafka client property.{did_you_mean(key, known)}",
        option=f"properties.{key}",
    )


def _describe_expected(name: str, message: str) -> str:
    """Describe the allowed values; librdkafka's message has only the range of a number."""
    if " allowed " in message:
        return f"a number in the {message.split(' allowed ')[-1].strip()}"
    if name in _ENUM_VALUES:
        return "one of " + ", ".join(f"'{v}'" for v in _ENUM_VALUES[name])
    if librdkafka_properties.find_rejected({name: "true"}) is None:
        return "'true' or 'false'"
    rejected = librdkafka_properties.find_rejected({name: "1"})
    return "a number" if rejected is None or " allowed " in rejected[1] else ""


_ENUM_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "auto.offset.reset": ("earliest", "latest", "none"),
    "compression.codec": ("none", "gzip", "snappy", "lz4", "zstd"),
    "compression.type": ("none", "gzip", "snappy", "lz4", "zstd"),
    "client.dns.lookup": ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    "group.protocol": ("classic", "consumer"),
}
