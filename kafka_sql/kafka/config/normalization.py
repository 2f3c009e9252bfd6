"""Normalize and check the settings that both clients interpret, mainly those of security, before either sees them.

librdkafka ignores case and leading blanks, and other clients compare exactly: with one spelling, a setting means the
same to both. An unknown value is an error, never another protocol or a check that is off.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError
from kafka_sql.kafka.config.conversions import to_openssl_ciphers
from kafka_sql.kafka.config.java_properties import JAVA_PROPERTIES, Handling
from kafka_sql.kafka.config.java_values import BOOLEAN, invalid_value, normalize_number
from kafka_sql.kafka.config.token_providers import AWS_MECHANISM
from kafka_sql.options.secret_references import has_reference

HOST_NAME_CHECK: Final = "ssl.endpoint.identification.algorithm"
CIPHERS: Final = "ssl.cipher.suites"
PROVIDERS: Final = "ssl.providers"


def _spellings(*values: str) -> dict[str, str]:
    return {value.lower(): value for value in values}


_MECHANISMS: Final = _spellings("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", AWS_MECHANISM)
_STORE_TYPES: Final = _spellings("JKS", "PKCS12", "PEM")  # only Java's client needs it

# the normalized value by each accepted one in lower case
NORMALIZED_VALUES: Final[Mapping[str, Mapping[str, str]]] = {
    **{key: BOOLEAN for key, java in JAVA_PROPERTIES.items() if java.values is BOOLEAN},
    "acks": {"all": "all", "-1": "all", "1": "1", "0": "0"},
    "enable.sasl.oauthbearer.unsecure.jwt": BOOLEAN,
    "enable.ssl.certificate.verification": BOOLEAN,
    "isolation.level": _spellings("read_uncommitted", "read_committed"),
    "metadata.recovery.strategy": _spellings("none", "rebootstrap"),
    "sasl.mechanism": _MECHANISMS,
    "sasl.mechanisms": _MECHANISMS,
    "sasl.oauthbearer.assertion.algorithm": _spellings("RS256", "ES256"),
    "sasl.oauthbearer.grant.type": _spellings("client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
    "sasl.oauthbearer.metadata.authentication.type": _spellings("none", "azure_imds", "aws_iam"),
    "sasl.oauthbearer.method": _spellings("default", "oidc"),
    "security.protocol": _spellings("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    "ssl.keystore.type": _STORE_TYPES,
    "ssl.truststore.type": _STORE_TYPES,
    HOST_NAME_CHECK: _spellings("https", "none"),
}
_ADDRESSES: Final = ("bootstrap.servers", "metadata.broker.list")
_ADDRESS: Final = re.compile(r"(?:[A-Za-z_]+://)?(?:\[[\w:.%]+\]|[^\s:/;\[\]]+)(?::(?P<port>\d{1,5}))?", re.ASCII)
_TOKEN_ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"
_TOKEN_URL: Final = re.compile(r"https?://[^/]|\Z", re.IGNORECASE)  # empty is not set
# part of OpenSSL itself: OpenSSL loads any other name as a shared library
_PROVIDERS: Final = ("default", "legacy", "base", "fips")


def normalize_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a table with normalized literals. References are normalized once they are resolved.

    Args:
        properties: with Java's or librdkafka's names.

    Raises:
        OptionError: as ``normalize_settings``.
    """
    literals = {
        key: value for key, value in properties.items() if not (has_reference(value) or _is_neutral(key, value))
    }
    literals |= {
        key: normalize_number(key, JAVA_PROPERTIES[key].values, value)
        for key, value in literals.items()
        if key in JAVA_PROPERTIES
    }
    if literals.get(HOST_NAME_CHECK) == "":
        literals[HOST_NAME_CHECK] = "none"  # Java's way to disable it
    others = {key: value for key, value in properties.items() if key not in literals}
    return others | normalize_settings(literals, are_literals=True)


def _is_neutral(key: str, value: str) -> bool:
    """Return whether a property is rejected in any case, or has no effect with this value."""
    java = JAVA_PROPERTIES.get(key)
    return java is not None and (java.handling is Handling.REJECTED or value in java.neutral_values)


def normalize_settings(settings: Mapping[str, str], are_literals: bool = False) -> dict[str, str]:
    """Return settings with normalized values.

    Args:
        are_literals: whether the values are those of the statement. If they come from references, they may be secrets.

    Raises:
        OptionError: a value is unknown, or two names of a setting have different values. Names the option and the
            expected values, and the value if it is a literal.
    """
    normalized = dict(settings)
    for key, values in NORMALIZED_VALUES.items():
        if key in settings:
            normalized[key] = _normalize(key, settings[key], values, are_literals)
    for key in _ADDRESSES:
        if key in settings:
            _check_addresses(key, settings[key])
    if not _TOKEN_URL.match(settings.get(_TOKEN_ENDPOINT, "")):
        raise invalid_value(_TOKEN_ENDPOINT, None, "a URL with http:// or https://")
    if PROVIDERS in settings:
        normalized[PROVIDERS] = _check_providers(settings[PROVIDERS])
    if ciphers := normalized.pop(CIPHERS, ""):  # the empty string is Java's way to keep the default
        normalized[CIPHERS] = to_openssl_ciphers(ciphers)
    if len({normalized[key] for key in ("sasl.mechanism", "sasl.mechanisms") if key in normalized}) > 1:
        raise ConflictingOptionsError(
            "Options 'properties.sasl.mechanism' and 'properties.sasl.mechanisms' are two names of one setting and "
            "have different values. Remove one of them.",
            option="properties.sasl.mechanisms",
        )
    return normalized


def _normalize(key: str, value: str, values: Mapping[str, str], is_literal: bool) -> str:
    normalized = values.get(value.strip().lower())
    if normalized is None:
        names = list(dict.fromkeys(values.values()))
        expected = ", ".join(f"'{name}'" for name in names)
        raise invalid_value(key, value if is_literal else None, f"one of {expected}", names)
    return normalized


def _check_addresses(key: str, text: str) -> None:
    """Check a list of addresses. Errors do not show it: it may contain a password."""
    if "@" in text:  # it would appear in errors and logs
        raise invalid_value(key, None, "'host:port', without user and password")
    matches = [_ADDRESS.fullmatch(part.strip()) for part in text.split(",") if part.strip()]
    if not matches or any(match is None or not 0 < int(match["port"] or 1) < 1 << 16 for match in matches):
        raise invalid_value(key, None, "'host:port', several separated by ',', with ports from 1 to 65535")


def _check_providers(text: str) -> str:
    names = [name.strip().lower() for name in text.split(",")]
    if not set(names) <= set(_PROVIDERS):
        raise InvalidOptionError(
            f"Option 'properties.{PROVIDERS}' is not supported with values other than {', '.join(_PROVIDERS)}: OpenSSL "
            "would load the named library as code.",
            option=f"properties.{PROVIDERS}",
        )
    return ",".join(names)
