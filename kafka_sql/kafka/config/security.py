"""Convert Java's key stores, trust stores and JAAS strings for librdkafka when a client is created.

Files are read for each new client, on its machine, so that a rotated password or certificate takes effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, KeyStoreError, MissingOptionError
from kafka_sql.kafka.config import sasl
from kafka_sql.kafka.config.jaas import JAAS, parse_jaas, to_librdkafka_options
from kafka_sql.kafka.config.token_providers import CLOUDS, PROVIDER
from kafka_sql.options import allow_lists
from kafka_sql.options.secret_references import has_reference
from kafka_sql.options.secrets import mask_user_info
from kafka_sql.stores.errors import StorePart, UnreadableStore
from kafka_sql.stores.store import (
    Identity,
    identity_of_pem,
    read_identity,
    trusted_certificates,
    trusted_certificates_of_pem,
)

TRUST_STORE, TRUST_STORE_PASSWORD, TRUST_PEM = (
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.certificates",
)
KEY_STORE, KEY_STORE_PASSWORD, KEY_PASSWORD = "ssl.keystore.location", "ssl.keystore.password", "ssl.key.password"
KEY_PEM, CHAIN_PEM = "ssl.keystore.key", "ssl.keystore.certificate.chain"

# files whose content may change
CREDENTIAL_FILES: Final = (TRUST_STORE, KEY_STORE, "ssl.ca.location", "ssl.certificate.location", "ssl.key.location")

# files that librdkafka opens
_LIBRDKAFKA_FILES: Final = (
    *("ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.crl.location", "https.ca.location"),
    *("sasl.kerberos.keytab", "sasl.oauthbearer.assertion.file", "sasl.oauthbearer.assertion.private.key.file"),
    "sasl.oauthbearer.assertion.jwt.template.file",
)

# where a client requests tokens: a URL, or a service that issues them for the identity of the machine
_ENDPOINTS: Final = ("sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.metadata.authentication.type")
_TOKEN_CONFIG: Final = "sasl.oauthbearer.config"
_STS_ENDPOINT: Final = re.compile(r"sts_endpoint\s*=\s*([^,\s]*)")  # AWS's service, in 'aws_iam'

# kept under Java's names until a client is created
JAVA_STORE_OPTIONS: Final = frozenset(
    {TRUST_STORE, TRUST_STORE_PASSWORD, TRUST_PEM, KEY_STORE, KEY_STORE_PASSWORD, KEY_PEM, CHAIN_PEM, JAAS}
)

_PASSWORDS: Final = {  # of the parts of a store
    (TRUST_STORE, StorePart.PASSWORD): TRUST_STORE_PASSWORD,
    (KEY_STORE, StorePart.PASSWORD): KEY_STORE_PASSWORD,
    (KEY_STORE, StorePart.KEY_PASSWORD): KEY_PASSWORD,
    (KEY_PEM, StorePart.KEY_PASSWORD): KEY_PASSWORD,
}


def check_stores(config: Mapping[str, str]) -> None:
    """Check the options without reading files.

    Raises:
        OptionError: options are in conflict, one is missing, or a PEM text is invalid.
    """
    for key, other in ((TRUST_STORE, TRUST_PEM), (KEY_STORE, KEY_PEM), (KEY_STORE, CHAIN_PEM)):
        if config.get(key) and config.get(other):
            raise ConflictingOptionsError(
                f"Options 'properties.{key}' and 'properties.{other}' are mutually exclusive. Remove one of them.",
                option=f"properties.{key}",
            )
    for key, other in ((KEY_PEM, CHAIN_PEM), (CHAIN_PEM, KEY_PEM)):
        if config.get(key) and not config.get(other):
            raise MissingOptionError(
                f"Option 'properties.{key}' requires 'properties.{other}'.", option=f"properties.{other}"
            )
    texts = {key: config[key] for key in (TRUST_PEM, KEY_PEM, CHAIN_PEM, KEY_PASSWORD) if config.get(key)}
    literals = {key: text for key, text in texts.items() if not has_reference(text)}
    if TRUST_PEM in literals:
        _read_trusted_certificates(literals)
    if KEY_PEM in literals and CHAIN_PEM in literals and (KEY_PASSWORD in literals or KEY_PASSWORD not in texts):
        _read_client_identity(literals)


def resolve_stores(settings: Mapping[str, str]) -> dict[str, str]:
    """Replace Java's stores and JAAS string in ``settings`` with librdkafka's options.

    Raises:
        KeyStoreError: a store cannot be read; names the option to check.
        OptionError: a JAAS string is malformed, or a file or an endpoint is not allowed.
    """
    config = {key: value for key, value in settings.items() if key not in JAVA_STORE_OPTIONS}
    if settings.get(JAAS):
        config |= to_librdkafka_options(parse_jaas(settings[JAAS]), sasl.sasl_mechanism(settings))
    sasl.check_kinit_arguments(config)
    certificates = _read_trusted_certificates(settings)
    if certificates is not None:
        config["ssl.ca.pem"] = certificates
    client_identity = _read_client_identity(settings)
    if client_identity is not None:
        config |= {"ssl.key.pem": client_identity.key, "ssl.certificate.pem": client_identity.chain}
        config.pop(KEY_PASSWORD, None)  # the key is already decrypted
    _check_endpoints(config)
    for key in _LIBRDKAFKA_FILES:
        if config.get(key) and config[key] != "probe":
            _check_allowed(key, config[key])
    return config


def _check_endpoints(config: Mapping[str, str]) -> None:
    endpoints = [(key, config[key]) for key in _ENDPOINTS if config.get(key, "none") not in ("", "none")]
    if config.get(PROVIDER) in CLOUDS:
        endpoints.append((PROVIDER, config[PROVIDER]))
    endpoints += [(_TOKEN_CONFIG, url) for url in _STS_ENDPOINT.findall(config.get(_TOKEN_CONFIG, ""))]
    for key, endpoint in endpoints:
        if not allow_lists.is_allowed_url(endpoint):
            raise InvalidOptionError(
                f"Option 'properties.{key}': {allow_lists.URLS} does not allow the value.", option=f"properties.{key}"
            )


def _check_allowed(option: str, path: str) -> None:
    try:
        allow_lists.resolve_allowed(path)
    except OSError as e:
        raise InvalidOptionError(
            f"Option 'properties.{option}': file '{mask_user_info(path)}' cannot be used: {e.strerror}.",
            option=f"properties.{option}",
        ) from None


def _read_trusted_certificates(settings: Mapping[str, str]) -> str | None:
    if settings.get(TRUST_PEM):
        with _store_errors(TRUST_PEM):
            return trusted_certificates_of_pem(settings[TRUST_PEM])
    if settings.get(TRUST_STORE):
        with _store_errors(TRUST_STORE, settings[TRUST_STORE]):
            data = allow_lists.read_allowed(settings[TRUST_STORE])
            return trusted_certificates(data, settings.get(TRUST_STORE_PASSWORD))
    return None


def _read_client_identity(settings: Mapping[str, str]) -> Identity | None:
    password = settings.get(KEY_PASSWORD)
    if settings.get(KEY_PEM):
        with _store_errors(KEY_PEM):
            return identity_of_pem(settings[KEY_PEM], settings[CHAIN_PEM], password)
    if settings.get(KEY_STORE):
        with _store_errors(KEY_STORE, settings[KEY_STORE]):
            data = allow_lists.read_allowed(settings[KEY_STORE])
            return read_identity(data, settings.get(KEY_STORE_PASSWORD), password)
    return None


@contextmanager
def _store_errors(option: str, path: str = "") -> Iterator[None]:
    where = f": file '{mask_user_info(path)}'" if path else ""
    try:
        yield
    except OSError as e:
        raise KeyStoreError(
            f"Option 'properties.{option}'{where} cannot be read on this machine: {e.strerror}. The driver and all "
            "executors need the file.",
            option=f"properties.{option}",
        ) from None
    except UnreadableStore as e:
        related = _PASSWORDS.get((option, e.part), option)
        advice = f" Check option 'properties.{related}'." if related != option else ""
        raise KeyStoreError(
            f"Option 'properties.{option}'{where}: {e}.{advice}", option=f"properties.{option}"
        ) from None
