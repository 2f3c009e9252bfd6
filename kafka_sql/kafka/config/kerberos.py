"""Kerberos (SASL's GSSAPI): whether this machine's librdkafka has it, and what it may be given."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from kafka_sql.errors import InvalidOptionError, UnsupportedOptionError
from kafka_sql.kafka import bindings

_MECHANISM: Final = "GSSAPI"
# librdkafka puts both into a shell's command, its default of sasl.kerberos.kinit.cmd: the principal without quotes
_HARMLESS: Final = {
    "sasl.kerberos.principal": re.compile(r"[\w.@/:+,=%][\w.@/:+,=%-]*"),
    "sasl.kerberos.keytab": re.compile(r"[^\"$`\\\n]*"),
}


@cache
def features() -> frozenset[str]:
    """What this librdkafka was built with: ``ssl``, ``sasl_gssapi``, ``oidc`` and so on."""
    conf, text, size = bindings.conf_new(), ctypes.create_string_buffer(1024), ctypes.c_size_t(1024)
    bindings.conf_get(conf, b"builtin.features", text, ctypes.byref(size))
    bindings.conf_destroy(conf)
    return frozenset(text.value.decode().split(","))


def mechanism(config: Mapping[str, str]) -> str | None:
    """The SASL mechanism of a configuration; GSSAPI where none is given, as in Kafka's clients; None without SASL."""
    if not config.get("security.protocol", "plaintext").lower().startswith("sasl"):
        return None
    return (config.get("sasl.mechanism") or config.get("sasl.mechanisms") or _MECHANISM).upper()


def check_kerberos_support(config: Mapping[str, str]) -> None:
    """Refuse Kerberos where the client has none.

    Raises:
        UnsupportedOptionError: says what to install.
    """
    if mechanism(config) != _MECHANISM or "sasl_gssapi" in features():
        return
    given = config.get("sasl.mechanism") or config.get("sasl.mechanisms")
    why = (
        f"Option 'properties.sasl.mechanism' = '{_MECHANISM}', which is Kerberos,"
        if given
        else f"Option 'properties.sasl.mechanism' is missing, and means '{_MECHANISM}', which is Kerberos: that"
    )
    raise UnsupportedOptionError(
        f"{why} needs a Kafka client that is built with it, and the one of PyPI's wheels is not. Install the Kerberos "
        "libraries (Debian, Ubuntu: apt install libsasl2-dev libsasl2-modules-gssapi-mit krb5-user), build librdkafka "
        "with --enable-gssapi, then: pip install --no-binary confluent-kafka --force-reinstall confluent-kafka; on the "
        "driver and on all executors. docs/security.md has the steps."
        + ("" if given else " For a user with a password: 'properties.sasl.mechanism' = 'PLAIN' or 'SCRAM-SHA-512'.")
    )


def check_kinit_arguments(settings: Mapping[str, str]) -> None:
    """Refuse a principal or a keytab that the shell would not take for a word.

    Args:
        settings: librdkafka's, with references resolved; no value of it is shown.

    Raises:
        InvalidOptionError: names the option.
    """
    for key, harmless in _HARMLESS.items():
        if not harmless.fullmatch(settings.get(key, "x")):
            raise InvalidOptionError(
                f"Option 'properties.{key}', or its part of 'properties.sasl.jaas.config', has a character that is not "
                "supported: it becomes part of a command, kinit's. Expected letters, digits and ._@/:+,=%- in a "
                "principal, and neither quotes nor $, ` and \\ in the name of a keytab."
            )
