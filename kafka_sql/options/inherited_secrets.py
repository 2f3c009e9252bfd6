"""Check that the secrets that a statement inherits from a table are only sent where the table's author sends them.

An OPTIONS hint, CREATE TABLE ... LIKE and ALTER TABLE change options of a table and inherit the others. A statement
that changes where or how the inherited secrets would be sent must set these secrets itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from kafka_sql.errors import MissingOptionError
from kafka_sql.options.secret_references import has_reference
from kafka_sql.options.secrets import is_secret, mask_value

# A destination is a cluster with its token endpoint, or the schema registry of a format: the prefix of its options.
_DESTINATION: Final = re.compile(r"properties\.|(?:key\.|value\.)?[a-z-]+-confluent\.")

# Options that decide where the secrets of a destination are sent and what protects them on the way, without the prefix:
# all keys with these starts, so that options of later versions are included, and these keys.
_PROTECTION_STARTS: Final = (
    *("bootstrap.", "metadata.broker.", "client.dns.", "security.", "ssl.", "sasl.", "https.", "enable.ssl."),
    *("enable.sasl.", "properties.schema.registry."),
)
_PROTECTION: Final = frozenset({"properties", "schema-registry.url", "url"})
# Of these, the ones that name who logs in.
_IDENTITY: Final = frozenset(
    {
        "sasl.username",
        "sasl.kerberos.principal",
        "sasl.oauthbearer.client.id",
        "sasl.oauthbearer.client.credentials.client.id",
        "ssl.certificate.location",
        "ssl.certificate.pem",
        "ssl.keystore.type",
    }
)
# Files with keys and assertions are secrets although their names are not.
_SECRET_FILES: Final = frozenset(
    {
        "sasl.kerberos.keytab",
        "sasl.oauthbearer.assertion.file",
        "sasl.oauthbearer.assertion.private.key.file",
        "ssl.key.location",
        "ssl.keystore.location",
        "properties.schema.registry.ssl.keystore.location",
    }
)
# What creates tokens for the identity of the machine.
_TOKEN_SOURCES: Final = frozenset({"sasl.oauthbearer.token-provider", "sasl.oauthbearer.metadata.authentication.type"})
_HANDLERS: Final = ("sasl.login.callback.handler.class", "sasl.client.callback.handler.class")
_OIDC_HANDLER: Final = "OAuthBearerLoginCallbackHandler"  # which sends the table's client secret
# The values of an option from the weakest protection to the strongest. A stronger one sends no secret elsewhere.
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_STRENGTH: Final[Mapping[str, tuple[str, ...]]] = {
    "enable.ssl.certificate.verification": ("FALSE", "TRUE"),
    "sasl.mechanism": _MECHANISMS,
    "sasl.mechanisms": _MECHANISMS,
    "security.protocol": ("SASL_PLAINTEXT", "SASL_SSL"),
    "ssl.endpoint.identification.algorithm": ("NONE", "HTTPS"),
}
_DEFAULTS: Final[Mapping[str, str]] = {
    "enable.ssl.certificate.verification": "TRUE",
    "security.protocol": "PLAINTEXT",
    "ssl.endpoint.identification.algorithm": "HTTPS",
}


def check_inherited_secrets(
    base: Mapping[str, str], options: Mapping[str, str], specified: Collection[str], verb: str = "set"
) -> None:
    """Check that no secret of a table would be sent elsewhere, or with less protection, than its author declared.

    Args:
        base: the options of the table.
        options: those that the statement results in.
        specified: the keys that the statement sets.
        verb: what the statement does with options, for the error.

    Raises:
        MissingOptionError: names the secrets that the statement must set, and the option that it changes.
    """
    inherited: dict[str, list[str]] = {}
    for key in sorted(base.keys() & options.keys() - set(specified)):
        destination = _DESTINATION.match(key)
        if destination and _is_secret(key[destination.end() :], key, options[key]):
            inherited.setdefault(destination[0], []).append(key)
    for prefix, secrets in inherited.items():
        changed_option = _changed_protection(prefix, base, options)
        if changed_option is not None:
            names = ", ".join(f"'{key}'" for key in secrets)
            raise MissingOptionError(
                f"Option '{changed_option}' changes where the table's secrets are sent or how they are protected, so "
                f"they are not inherited. The statement must {verb} them, too: {names}.",
                option=secrets[0],
            )


def _is_secret(name: str, key: str, value: str) -> bool:
    """Return whether an option holds a secret, refers to one, or names a file of secrets or what creates tokens.

    Args:
        name: the key without the prefix of its destination.
    """
    creates_tokens = name in _TOKEN_SOURCES or (name in _HANDLERS and not value.strip().endswith(_OIDC_HANDLER))
    return creates_tokens or name in _SECRET_FILES or has_reference(value) or mask_value(key, value) != value


def _changed_protection(prefix: str, base: Mapping[str, str], options: Mapping[str, str]) -> str | None:
    """Return the first option of a destination whose value is changed, other than to a stronger protection."""
    for key in sorted(base.keys() | options.keys()):
        name = key.removeprefix(prefix)
        if (
            name != key
            and (name in _PROTECTION or name.startswith(_PROTECTION_STARTS))
            and name not in _IDENTITY | _SECRET_FILES
            and not is_secret(key)
            and not _protects_as_well(name, base.get(key), options.get(key))
        ):
            return key
    return None


def _protects_as_well(name: str, old: str | None, new: str | None) -> bool:
    if name not in _STRENGTH:
        return old == new
    old_value, new_value = (_normalized(name, value) for value in (old, new))
    order = _STRENGTH[name]
    return old_value == new_value or (
        old_value in order and new_value in order and order.index(old_value) < order.index(new_value)
    )


def _normalized(name: str, value: str | None) -> str:
    if value is None:
        return _DEFAULTS.get(name, "")
    return value.strip().upper() or ("NONE" if name == "ssl.endpoint.identification.algorithm" else "")
