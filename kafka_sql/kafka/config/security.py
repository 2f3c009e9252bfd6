"""Java's stores and JAAS strings as librdkafka takes them, on the machine that makes the client and at that moment.

A file is read again for each client, so that a password or certificate that was changed is taken up.
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

# whose content may change while the option stays
FILES: Final = (TRUST, KEYS, "ssl.ca.location", "ssl.certificate.location", "ssl.key.location")

# librdkafka's own, which it opens by itself
_OPENED: Final = (
    *("ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.crl.location", "https.ca.location"),
    *("sasl.kerberos.keytab", "sasl.oauthbearer.assertion.file", "sasl.oauthbearer.assertion.private.key.file"),
    "sasl.oauthbearer.assertion.jwt.template.file",
)

# kept under Java's names until a client is made
JAVA_SIDE: Final = frozenset({TRUST, TRUST_PASSWORD, TRUST_TEXT, KEYS, KEYS_PASSWORD, KEY_TEXT, CHAIN_TEXT, JAAS})


def check_stores(config: Mapping[str, str]) -> None:
    """Refuse what is wrong already before any file is read.

    Raises:
        OptionError: options that exclude or need each other, or a text that is no certificate or key.
    """
    for one, other in ((TRUST, TRUST_TEXT), (KEYS, KEY_TEXT), (KEYS, CHAIN_TEXT)):
        if config.get(one) and config.get(other):
            raise ConflictingOptionsError(
                f"Options 'properties.{one}' and 'properties.{other}' are two ways to say the same: leave one out."
            )
    for one, other in ((KEY_TEXT, CHAIN_TEXT), (CHAIN_TEXT, KEY_TEXT)):
        if config.get(one) and not config.get(other):
            raise MissingOptionError(f"Option 'properties.{one}' needs 'properties.{other}' beside it.")
    texts = {key: config[key] for key in (TRUST_TEXT, KEY_TEXT, CHAIN_TEXT, KEY_PASSWORD) if config.get(key)}
    known = {key: text for key, text in texts.items() if not has_reference(text)}
    if TRUST_TEXT in known:
        _trusted(known)
    if KEY_TEXT in known and CHAIN_TEXT in known and (KEY_PASSWORD in known or KEY_PASSWORD not in texts):
        _identity(known)


def resolve_stores(settings: Mapping[str, str]) -> dict[str, str]:
    """``settings`` without Java's stores and logins, and with what they say.

    Args:
        settings: with the references resolved.

    Raises:
        KeyStoreError: a store cannot be read; names the option to look at.
        OptionError: a JAAS string cannot be read, or a file is not in the folders that are allowed.
    """
    found = {key: value for key, value in settings.items() if key not in JAVA_SIDE}
    if settings.get(JAAS):
        found |= to_librdkafka_options(parse_jaas(settings[JAAS]))
    kerberos.check_kinit_arguments(found)
    trust = _trusted(settings)
    if trust is not None:
        found["ssl.ca.pem"] = trust
    mine = _identity(settings)
    if mine is not None:
        found |= {"ssl.key.pem": mine.key, "ssl.certificate.pem": mine.chain}
        found.pop(KEY_PASSWORD, None)  # the key is not encrypted any more
    for key in _OPENED:
        if found.get(key) and found[key] != "probe":
            _check_allowed(key, found[key])
    return found


def _check_allowed(option: str, path: str) -> None:
    try:
        allowed_paths.resolve_allowed(path)
    except OSError as e:
        raise InvalidOptionError(f"Option 'properties.{option}': file '{path}' cannot be used: {e.strerror}.") from None


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
            f"Option 'properties.{option}': file '{path}' cannot be read on this machine: {e.strerror}. Each machine "
            "that reads or writes the table needs it, the driver and the executors."
        ) from None


def _read(option: str, path: str, options: Mapping[StorePart, str], read: Callable[[], T]) -> T:
    try:
        return read()
    except UnreadableStore as e:
        where = f": file '{path}'" if path else ""
        look = options.get(e.part, option)
        also = f" Look at option 'properties.{look}'." if look != option else ""
        raise KeyStoreError(f"Option 'properties.{option}'{where}: {e}.{also}") from None
