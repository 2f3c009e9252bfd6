"""Check that the SASL mechanism has its credentials, and that this machine's librdkafka supports Kerberos (GSSAPI)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

from kafka_sql.errors import InvalidOptionError, MissingOptionError, UnsupportedOptionError
from kafka_sql.kafka.config.jaas import JAAS
from kafka_sql.kafka.config.librdkafka_properties import supports_kerberos
from kafka_sql.kafka.config.token_providers import PROVIDER, check_provider

_MECHANISM: Final = "GSSAPI"
# librdkafka puts both into a shell command (the default sasl.kerberos.kinit.cmd), the principal without quotes
_SAFE_PATTERNS: Final = {
    "sasl.kerberos.principal": re.compile(r"[\w.@/:+,=%][\w.@/:+,=%-]*"),
    "sasl.kerberos.keytab": re.compile(r"[^\"$`\\\n]*"),
}
_PACKAGE: Final = "org.apache.kafka.common.security"
_LOGIN_MODULES: Final = {
    "PLAIN": "plain.PlainLoginModule",
    "SCRAM-SHA-256": "scram.ScramLoginModule",
    "SCRAM-SHA-512": "scram.ScramLoginModule",
}
_LOGIN: Final = {"the user name": "sasl.username", "the password": "sasl.password"}
# librdkafka's options that make it request or create tokens, with the values that do not
_TOKEN_SOURCES: Final = {
    "sasl.oauthbearer.method": "default",
    "sasl.oauthbearer.metadata.authentication.type": "none",
    "enable.sasl.oauthbearer.unsecure.jwt": "false",
}


def sasl_mechanism(config: Mapping[str, str]) -> str | None:
    """Return the SASL mechanism of a configuration, by default GSSAPI as in Kafka's clients; None without SASL."""
    if not config.get("security.protocol", "plaintext").lower().startswith("sasl"):
        return None
    return (config.get("sasl.mechanism") or config.get("sasl.mechanisms") or _MECHANISM).upper()


def ticket_cache() -> str | None:
    """Return the file or folder with the tickets of this process; None if they are not in files, as in a keyring.

    MIT Kerberos, "Credential cache": KRB5CCNAME, or the default of a system whose krb5.conf sets none.
    """
    name = os.environ.get("KRB5CCNAME") or f"FILE:/tmp/krb5cc_{os.getuid()}"
    kind, colon, path = name.partition(":")
    if not colon or kind.startswith("/"):
        return name
    return path.removeprefix(":") if kind in ("FILE", "DIR") else None


def check_kerberos_support(config: Mapping[str, str]) -> None:
    """Raise an error if Kerberos is configured and this librdkafka does not support it.

    Raises:
        UnsupportedOptionError: with the packages to install.
    """
    if sasl_mechanism(config) != _MECHANISM or supports_kerberos():
        return
    configured = config.get("sasl.mechanism") or config.get("sasl.mechanisms")
    problem = (
        f"Option 'properties.sasl.mechanism' = '{_MECHANISM}', which is Kerberos,"
        if configured
        else f"Option 'properties.sasl.mechanism' is missing; its default '{_MECHANISM}', which is Kerberos,"
    )
    raise UnsupportedOptionError(
        f"{problem} requires librdkafka with GSSAPI, which the PyPI wheels lack. Install librdkafka1 from Confluent's "
        "package repository and the Kerberos libraries (Debian, Ubuntu: apt install librdkafka1 "
        "libsasl2-modules-gssapi-mit krb5-user), and set the environment variable KAFKA_SQL_LIBRDKAFKA = "
        "'librdkafka.so.1'; on the driver and all executors. See docs/security.md."
        + (
            ""
            if configured
            else " For user names and passwords: 'properties.sasl.mechanism' = 'PLAIN' or 'SCRAM-SHA-512'."
        ),
        option="properties.sasl.mechanism",
    )


def check_kinit_arguments(settings: Mapping[str, str]) -> None:
    """Raise an error if the principal or the keytab has characters that are special to the shell.

    Args:
        settings: librdkafka's settings, with references resolved; their values are not shown.

    Raises:
        InvalidOptionError: names the option.
    """
    for key, pattern in _SAFE_PATTERNS.items():
        if not pattern.fullmatch(settings.get(key, "x")):
            raise InvalidOptionError(
                f"Option 'properties.{key}', or its part of 'properties.sasl.jaas.config', has an unsupported "
                "character: the value becomes part of the kinit command. Use letters, digits and ._@/:+,=%- in a "
                "principal, and no quotes, $, ` or \\ in the name of a keytab.",
                option=f"properties.{key}",
            )


def check_credentials(config: Mapping[str, str]) -> None:
    """Check that the mechanism has what it needs to log in.

    A reference to a secret counts as a value. Kerberos needs no credentials: a client uses the ticket cache of its
    machine.

    Args:
        config: librdkafka's configuration, with normalized values. References may be unresolved.

    Raises:
        MissingOptionError: a user name or a password is missing, or no token can be requested.
        OptionError: as ``check_provider``.
    """
    check_provider(config)
    mechanism = sasl_mechanism(config)
    if mechanism is None or config.get(JAAS):  # the whole JAAS string is a reference
        return
    if mechanism in _LOGIN_MODULES:
        missing = [name for name, key in _LOGIN.items() if not config.get(key)]
        if missing:
            raise _missing(
                f"'{mechanism}' requires a user name and a password. Missing: {', '.join(missing)}",
                f'{_PACKAGE}.{_LOGIN_MODULES[mechanism]} required username="..." password="...";',
            )
    if (
        mechanism == "OAUTHBEARER"
        and PROVIDER not in config
        and all(config.get(key, default) == default for key, default in _TOKEN_SOURCES.items())
    ):
        raise _missing(
            "'OAUTHBEARER' requires 'properties.sasl.oauthbearer.token.endpoint.url', from which clients request "
            f"tokens, and the client's id and secret; or 'properties.{PROVIDER}', a Python function that returns them",
            f'{_PACKAGE}.oauthbearer.OAuthBearerLoginModule required clientId="..." clientSecret="...";',
        )


def _missing(problem: str, example: str) -> MissingOptionError:
    return MissingOptionError(
        f"Option 'properties.sasl.mechanism' = {problem}. Set 'properties.{JAAS}' = '{example}'.",
        option=f"properties.{JAAS}",
    )
