"""Convert Java's key stores, trust stores and JAAS strings for librdkafka when a client is created.

Files are read for each new client, on its machine, so that a rotated password or certificate takes effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, KeyStoreError, MissingOptionError
from kafka_sql.kafka.config import kerberos
from kafka_sql.kafka.config.conversions import JAAS
from kafka_sql.kafka.config.jaas import parse_jaas, to_librdkafka_options
from kafka_sql.options import allowed_paths
from kafka_sql.options.secret_references import has_reference
from kafka_sql.stores.errors import StorePart, UnreadableStore
from kafka_sql.stores.store import (
    Identity,
    identity_of_pem,
    read_identity,
    trusted_certificates,
    trusted_certificates_of_pem,
)

T = TypeVar("T")

TRUST, TRUST_PASSWORD, TRUST_TEXT = "ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.certificates"
KEYS, KEYS_PASSWORD, KEY_PASSWORD = "ssl.keystore.location", "ssl.keystore.password", "ssl.key.password"
KEY_TEXT, CHAIN_TEXT = "ssl.keystore.key", "ssl.keystore.certificate.chain"

# files whose content may change
FILES: Final = (TRUST, KEYS, "ssl.ca.location", "ssl.certificate.location", "ssl.key.location")

# files that librdkafka opens
_LIBRDKAFKA_FILES: Final = (
    *("ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.crl.location", "https.ca.location"),
    *("sasl.kerberos.keytab", "sasl.oauthbearer.assertion.file", "sasl.oauthbearer.assertion.private.key.file"),
    "sasl.oauthbearer.assertion.jwt.template.file",
)

# kept under Java's names until a client is created
JAVA_SIDE: Final = frozenset({TRUST, TRUST_PASSWORD, TRUST_TEXT, KEYS, KEYS_PASSWORD, KEY_TEXT, CHAIN_TEXT, JAAS})


def check_stores(config: Mapping[str, str]) -> None:
    """Check the options without reading files.

    Raises:
        OptionError: options are in conflict, one is missing, or a PEM text is invalid.
    """
    for key, other in ((TRUST, TRUST_TEXT), (KEYS, KEY_TEXT), (KEYS, CHAIN_TEXT)):
        if config.get(key) and config.get(other):
            raise ConflictingOptionsError(
                f"Options 'properties.{key}' and 'properties.{other}' are mutually exclusive. Remove one of them.",
                option=f"properties.{key}",
            )
    for key, other in ((KEY_TEXT, CHAIN_TEXT), (CHAIN_TEXT, KEY_TEXT)):
        if config.get(key) and not config.get(other):
            raise MissingOptionError(
                f"Option 'properties.{key}' requires 'properties.{other}'.", option=f"properties.{other}"
            )
    texts = {key: config[key] for key in (TRUST_TEXT, KEY_TEXT, CHAIN_TEXT, KEY_PASSWORD) if config.get(key)}
    literals = {key: text for key, text in texts.items() if not has_reference(text)}
    if TRUST_TEXT in literals:
        _trusted(literals)
    if KEY_TEXT in literals and CHAIN_TEXT in literals and (KEY_PASSWORD in literals or KEY_PASSWORD not in texts):
        _identity(literals)


def resolve_stores(settings: Mapping[str, str]) -> dict[str, str]:
    """Replace Java's stores and JAAS string in ``settings`` by librdkafka's options.

    Args:
        settings: with the references resolved.

    Raises:
        KeyStoreError: a store cannot be read; names the option to check.
        OptionError: a JAAS string is malformed, or a file is not in an allowed folder.
    """
    config = {key: value for key, value in settings.items() if key not in JAVA_SIDE}
    if settings.get(JAAS):
        config |= to_librdkafka_options(parse_jaas(settings[JAAS]))
    kerberos.check_kinit_arguments(config)
    certificates = _trusted(settings)
    if certificates is not None:
        config["ssl.ca.pem"] = certificates
    client_identity = _identity(settings)
    if client_identity is not None:
        config |= {"ssl.key.pem": client_identity.key, "ssl.certificate.pem": client_identity.chain}
        config.pop(KEY_PASSWORD, None)  # the key is already decrypted
    for key in _LIBRDKAFKA_FILES:
        if config.get(key) and config[key] != "probe":
            _check_allowed(key, config[key])
    return config


def _check_allowed(option: str, path: str) -> None:
    try:
        allowed_paths.resolve_allowed(path)
    except OSError as e:
        raise InvalidOptionError(
            f"Option 'properties.{option}': file '{path}' cannot be used: {e.strerror}.", option=f"properties.{option}"
        ) from None


def _trusted(settings: Mapping[str, str]) -> str | None:
    if settings.get(TRUST_TEXT):
        return _read(TRUST_TEXT, "", {}, lambda: trusted_certificates_of_pem(settings[TRUST_TEXT]))
    if settings.get(TRUST):
        path, data = settings[TRUST], _file(TRUST, settings[TRUST])
        options = {StorePart.PASSWORD: TRUST_PASSWORD}
        return _read(TRUST, path, options, lambda: trusted_certificates(data, settings.get(TRUST_PASSWORD)))
    return None


def _identity(settings: Mapping[str, str]) -> Identity | None:
    password = settings.get(KEY_PASSWORD)
    if settings.get(KEY_TEXT):
        options = {StorePart.KEY_PASSWORD: KEY_PASSWORD}
        return _read(KEY_TEXT, "", options, lambda: identity_of_pem(settings[KEY_TEXT], settings[CHAIN_TEXT], password))
    if settings.get(KEYS):
        path, data = settings[KEYS], _file(KEYS, settings[KEYS])
        options = {StorePart.PASSWORD: KEYS_PASSWORD, StorePart.KEY_PASSWORD: KEY_PASSWORD}
        return _read(KEYS, path, options, lambda: read_identity(data, settings.get(KEYS_PASSWORD), password))
    return None


def _file(option: str, path: str) -> bytes:
    try:
        return allowed_paths.read_allowed(path)
    except OSError as e:
        raise KeyStoreError(
            f"Option 'properties.{option}': file '{path}' cannot be read on this machine: {e.strerror}. The driver "
            "and all executors need the file.",
            option=f"properties.{option}",
        ) from None


def _read(option: str, path: str, options: Mapping[StorePart, str], read: Callable[[], T]) -> T:
    try:
        return read()
    except UnreadableStore as e:
        where = f": file '{path}'" if path else ""
        related = options.get(e.part, option)
        advice = f" Check option 'properties.{related}'." if related != option else ""
        raise KeyStoreError(
            f"Option 'properties.{option}'{where}: {e}.{advice}", option=f"properties.{option}"
        ) from None
