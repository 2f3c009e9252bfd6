"""Check that the secrets that a statement inherits from a table are only sent where the table's author sends them.

An OPTIONS hint, CREATE TABLE ... LIKE and ALTER TABLE change options of a table and inherit the others. A statement
that changes where or how the inherited secrets would be sent must set these secrets itself. ``Option.is_destination``
marks the options that decide this; the properties of Kafka's clients are below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, Final

from kafka_sql.errors import InvalidOptionError, MissingOptionError
from kafka_sql.formats.registry import FORMATS, find_format
from kafka_sql.kafka.config.token_providers import HANDLER_KEYS, OIDC_HANDLER
from kafka_sql.options import Option, dynamic
from kafka_sql.options import connector as opt
from kafka_sql.options.secret_references import has_reference
from kafka_sql.options.secrets import is_secret, mask_value

# Secrets with the same prefix are sent to the same place: a cluster and its token endpoint, or that of a format.
_PROPERTIES: Final = opt.PROPERTIES_PREFIX
_FORMAT: Final = re.compile(r"(?P<payload>key\.|value\.)?(?P<identifier>[a-z][a-z0-9-]*)\.")
_CONNECTOR_OPTIONS: Final[Mapping[str, Option[Any]]] = {
    key: option for option in (*opt.KAFKA_OPTIONS, *opt.UPSERT_OPTIONS, *opt.DYNAMIC_OPTIONS) for key in option.keys
}
_SERVICE: Final = dynamic.METADATA_SERVICE.key
_STREAMS: Final = (dynamic.STREAM_IDS.key, dynamic.STREAM_PATTERN.key)  # of 'single-cluster', these are topics
_FORMAT_KEYS: Final = {"key.": (opt.KEY_FORMAT.key,), "value.": (opt.VALUE_FORMAT.key, opt.FORMAT.key)}
# Entries of a Map that is a destination, without effect on where secrets are sent. All others have one.
_UNRELATED_ENTRIES: Final = tuple(
    f"properties.{name}" for name in ("auto.register.schemas", "basic.auth.", "bearer.auth.", "request.header.")
)
_HOST_HEADER: Final = "properties.request.header.host"  # chooses among the virtual hosts of a server

# Properties that decide where the secrets of a cluster are sent and what protects them on the way: all keys with these
# starts, so that properties of later versions are included.
_PROTECTION_STARTS: Final = (
    *("bootstrap.", "metadata.broker.", "client.dns.", "security.", "ssl.", "sasl.", "https.", "enable.ssl."),
    "enable.sasl.",
)
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
        prefix = _secrets_prefix(key)
        if prefix and _is_secret(key.removeprefix(prefix), key, options[key]):
            inherited.setdefault(prefix, []).append(key)
    for prefix, secrets in inherited.items():
        is_destination = _is_cluster_destination if prefix == _PROPERTIES else _format_destinations(prefix, base)
        changed_option = _find_change(is_destination, base, options)
        if changed_option is not None:
            names = ", ".join(f"'{key}'" for key in secrets)
            raise MissingOptionError(
                f"Option '{changed_option}' changes where the table's secrets are sent or how they are protected, so "
                f"they are not inherited. The statement must {verb} them, too: {names}.",
                option=secrets[0],
            )


def _secrets_prefix(key: str) -> str:
    """Return what the keys of an option's destination start with; empty for an option without one."""
    if key.startswith(_PROPERTIES):
        return _PROPERTIES
    match = _FORMAT.match(key)
    return match[0] if match is not None and key not in _CONNECTOR_OPTIONS else ""


def _is_secret(name: str, key: str, value: str) -> bool:
    """Return whether an option holds a secret, refers to one, or names a file of secrets or what creates tokens."""
    # the handler for OpenID Connect sends the table's client secret; others get tokens themselves
    creates_tokens = name in _TOKEN_SOURCES or (name in HANDLER_KEYS and not value.strip().endswith(OIDC_HANDLER))
    return creates_tokens or name in _SECRET_FILES or has_reference(value) or mask_value(key, value) != value


def _find_change(
    is_destination: Callable[[str], bool], base: Mapping[str, str], options: Mapping[str, str]
) -> str | None:
    """Return the first destination whose value is changed, other than to an equal or stronger protection."""
    for key in sorted(base.keys() | options.keys()):
        if is_destination(key) and not _protects_as_well(key, base, options):
            return key
    return None


def _is_cluster_destination(key: str) -> bool:
    name = key.removeprefix(_PROPERTIES)
    if name == key or key in _CONNECTOR_OPTIONS:
        return key in _CONNECTOR_OPTIONS and _CONNECTOR_OPTIONS[key].is_destination
    return name.startswith(_PROTECTION_STARTS) and name not in _IDENTITY | _SECRET_FILES and not is_secret(key)


def _format_destinations(prefix: str, base: Mapping[str, str]) -> Callable[[str], bool]:
    """Return a predicate: is the option with a key a destination of the secrets of the format with a prefix?

    If a custom format declares no destination, each of its options is one.
    """
    match = _FORMAT.match(prefix)
    assert match is not None
    payload = match["payload"] or ""
    format_keys = _FORMAT_KEYS[payload or "value."]
    known = _options_of_format(match["identifier"], {key: base[key] for key in format_keys if key in base})
    declares_none = not any(option.is_destination for option in known.values())

    def is_destination(key: str) -> bool:
        name = key.removeprefix(prefix)
        if name == key:
            return key in format_keys  # the code that gets the secrets
        if is_secret(key) or name in _SECRET_FILES:
            return name.lower() == _HOST_HEADER
        option = known.get(key.removeprefix(payload))
        if option is None:  # an entry of a Map, or an option of a format that cannot be imported
            return not name.startswith(_UNRELATED_ENTRIES)
        return declares_none or option.is_destination

    return is_destination


def _options_of_format(identifier: str, named: Mapping[str, str]) -> dict[str, Option[Any]]:
    """Return a format's options by their keys; none if it is a custom format that cannot be imported."""
    if identifier in FORMATS:
        return {key: option for option in FORMATS[identifier].options for key in option.keys}
    for key, name in named.items():
        with suppress(InvalidOptionError):
            custom = find_format(name, key)
            if custom.identifier == identifier:
                return {key: option for option in custom.options for key in option.keys}
    return {}


def _protects_as_well(key: str, base: Mapping[str, str], options: Mapping[str, str]) -> bool:
    old, new = base.get(key), options.get(key)
    if key == opt.CONNECTOR.key:
        return old == new or {old, new} == {opt.KAFKA, opt.UPSERT_KAFKA}  # which have the same brokers
    if key in _STREAMS:
        return old == new or dynamic.METADATA_SERVICE.parse(base.get(_SERVICE, "")) == dynamic.SINGLE_CLUSTER
    name = key.removeprefix(_PROPERTIES)
    if name == key or name not in _STRENGTH:
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
