"""Normalize and check the settings that both clients interpret, mainly those of security, before either sees them.

librdkafka ignores case and leading blanks, and other clients compare exactly: with one spelling, a setting means the
same to both. An unknown value is an error, never another protocol or a check that is off.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError
from kafka_sql.kafka.config.conversions import to_openssl_ciphers
from kafka_sql.kafka.config.token_providers import AWS_MECHANISM
from kafka_sql.options.secret_references import has_reference
from kafka_sql.options.secrets import mask_user_info
from kafka_sql.suggestions import did_you_mean

HOST_NAME_CHECK: Final = "ssl.endpoint.identification.algorithm"
CIPHERS: Final = "ssl.cipher.suites"
PROVIDERS: Final = "ssl.providers"

_BOOLEAN: Final = {"true": "true", "t": "true", "1": "true", "false": "false", "f": "false", "0": "false"}


def _spellings(*values: str) -> dict[str, str]:
    return {value.lower(): value for value in values}


_MECHANISMS: Final = _spellings("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", AWS_MECHANISM)

# the normalized value by each accepted one in lower case
NORMALIZED_VALUES: Final[Mapping[str, Mapping[str, str]]] = {
    "acks": {"all": "all", "-1": "all", "1": "1", "0": "0"},
    "check.crcs": _BOOLEAN,
    "enable.sasl.oauthbearer.unsecure.jwt": _BOOLEAN,
    "enable.ssl.certificate.verification": _BOOLEAN,
    "isolation.level": _spellings("read_uncommitted", "read_committed"),
    "sasl.mechanism": _MECHANISMS,
    "sasl.mechanisms": _MECHANISMS,
    "sasl.oauthbearer.assertion.algorithm": _spellings("RS256", "ES256"),
    "sasl.oauthbearer.assertion.claim.jti.include": _BOOLEAN,
    "sasl.oauthbearer.grant.type": _spellings("client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
    "sasl.oauthbearer.metadata.authentication.type": _spellings("none", "azure_imds", "aws_iam"),
    "sasl.oauthbearer.method": _spellings("default", "oidc"),
    "security.protocol": _spellings("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    HOST_NAME_CHECK: _spellings("https", "none"),
}
_ADDRESSES: Final = ("bootstrap.servers", "metadata.broker.list")
# part of OpenSSL itself: OpenSSL loads any other name as a shared library
_PROVIDERS: Final = ("default", "legacy", "base", "fips")


def normalize_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a table with normalized literals. References are normalized once they are resolved.

    Args:
        properties: with Java's or librdkafka's names.

    Raises:
        OptionError: as ``normalize_settings``.
    """
    literals = {key: value for key, value in properties.items() if not has_reference(value)}
    if literals.get(HOST_NAME_CHECK) == "":
        literals[HOST_NAME_CHECK] = "none"  # Java's way to disable it
    references = {key: value for key, value in properties.items() if key not in literals}
    return references | normalize_settings(literals, are_literals=True)


def normalize_settings(settings: Mapping[str, str], are_literals: bool = False) -> dict[str, str]:
    """Return settings with normalized values.

    Args:
        settings: librdkafka's settings, with references resolved.
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
        if "@" in settings.get(key, ""):  # it would appear in errors and logs
            raise InvalidOptionError(
                f"Invalid value for option 'properties.{key}': expected 'host:port', without user and password.",
                option=f"properties.{key}",
            )
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
        expected, may_show = ", ".join(f"'{name}'" for name in names), is_literal and mask_user_info(value) == value
        shown, suggestion = (f" '{value}'", did_you_mean(value, names)) if may_show else ("", "")
        raise InvalidOptionError(
            f"Invalid value{shown} for option 'properties.{key}': expected one of {expected}.{suggestion}",
            option=f"properties.{key}",
        )
    return normalized


def _check_providers(text: str) -> str:
    names = [name.strip().lower() for name in text.split(",")]
    if not set(names) <= set(_PROVIDERS):
        raise InvalidOptionError(
            f"Option 'properties.{PROVIDERS}' is not supported with values other than {', '.join(_PROVIDERS)}: OpenSSL "
            "would load the named library as code.",
            option=f"properties.{PROVIDERS}",
        )
    return ",".join(names)
