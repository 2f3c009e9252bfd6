"""Authenticate with SASL/GSSAPI (Kerberos) through the package ``gssapi``: RFC 4752 without a security layer."""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Generator, Mapping
from typing import Any, Final

from kafka_sql.errors import BrokerError, UnsupportedOptionError

_NO_SECURITY_LAYER: Final = 1
_REPLY: Final = bytes((_NO_SECURITY_LAYER, 0, 0, 0))  # the maximum message size is 0 without a layer


def check_gssapi() -> None:
    """Check that the package ``gssapi`` is installed.

    Raises:
        UnsupportedOptionError: it is not; the message says what to install.
    """
    if importlib.util.find_spec("gssapi") is None:
        raise UnsupportedOptionError(
            "Option 'properties.sasl.mechanism' = 'GSSAPI' (the default) with 'sink.delivery-guarantee' = "
            "'exactly-once' needs the Python package gssapi on the driver, for the client that ends transactions: "
            "apt install libkrb5-dev (or your system's Kerberos headers), then pip install gssapi.",
            option="properties.sasl.mechanism",
        )


def authenticate_gssapi(config: Mapping[str, str], host: str) -> Generator[bytes, bytes, None]:
    """Yield the client's messages to the broker with the principal ``sasl.kerberos.service.name``/host.

    Raises:
        BrokerError: no security context could be established; the message quotes the Kerberos library.
    """
    from gssapi import Name, NameType, SecurityContext
    from gssapi.exceptions import GSSError

    service = f"{config.get('sasl.kerberos.service.name') or 'kafka'}@{host}"
    try:
        target = Name(service, NameType.hostbased_service)
        context = SecurityContext(name=target, creds=_credentials(config), usage="initiate")
        message = context.step()
        while not context.complete:
            message = context.step((yield message or b""))
        offer = context.unwrap((yield message or b"")).message
        if not offer or not offer[0] & _NO_SECURITY_LAYER:
            raise BrokerError(f"Kerberos: {host} requires a security layer, which Kafka does not support.")
        yield context.wrap(_REPLY, False).message
    except GSSError as e:
        raise BrokerError(
            f"Kerberos: no security context with '{service}': {e}. Check 'properties.sasl.kerberos.*', the keytab or "
            "the ticket (kinit, klist), and that the broker's principal contains the host name of its address."
        ) from e


def _credentials(config: Mapping[str, str]) -> Any:
    """Return the credentials of the keytab; None without a keytab, for the user's ticket cache."""
    from gssapi import Credentials, Name, NameType

    keytab = config.get("sasl.kerberos.keytab")
    if not keytab:
        return None
    principal = config.get("sasl.kerberos.principal") or "kafkaclient"  # librdkafka's default
    tickets = f"MEMORY:kafka_sql-{zlib.crc32(f'{principal} {keytab}'.encode())}"
    store = {"client_keytab": keytab, "ccache": tickets}
    return Credentials(name=Name(principal, NameType.kerberos_principal), usage="initiate", store=store)
