"""SASL's GSSAPI, which is Kerberos, by the package ``gssapi``: RFC 4752, without a security layer, as Kafka has it."""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Generator, Mapping
from typing import Any, Final

from kafka_sql.errors import BrokerError, UnsupportedOptionError

_NO_LAYER: Final = 1
_REPLY: Final = bytes((_NO_LAYER, 0, 0, 0))  # no layer, so no size of its messages


def check_gss() -> None:
    """Refuse Kerberos where the package is missing.

    Raises:
        UnsupportedOptionError: says what to install.
    """
    if importlib.util.find_spec("gssapi") is None:
        raise UnsupportedOptionError(
            "Option 'properties.sasl.mechanism' = 'GSSAPI' (also where it is missing) with 'sink.delivery-guarantee' = "
            "'exactly-once' needs the Python package gssapi on the driver, for the client that ends transactions: "
            "apt install libkrb5-dev (or your system's Kerberos headers), then pip install gssapi."
        )


def talk_gss(config: Mapping[str, str], host: str) -> Generator[bytes, bytes, None]:
    """The conversation with the broker of a host, whose principal is ``sasl.kerberos.service.name``/host.

    Raises:
        BrokerError: there is no ticket for it, in the words of the Kerberos library.
    """
    from gssapi import Name, NameType, SecurityContext
    from gssapi.exceptions import GSSError

    service = f"{config.get('sasl.kerberos.service.name') or 'kafka'}@{host}"
    try:
        target = Name(service, NameType.hostbased_service)
        context = SecurityContext(name=target, creds=_credentials(config), usage="initiate")
        mine = context.step()
        while not context.complete:
            mine = context.step((yield mine or b""))
        offer = context.unwrap((yield mine or b"")).message
        if not offer or not offer[0] & _NO_LAYER:
            raise BrokerError(f"Kerberos: {host} wants a security layer, which Kafka has not.")
        yield context.wrap(_REPLY, False).message
    except GSSError as e:
        raise BrokerError(
            f"Kerberos: no security context with '{service}': {e}. Check 'properties.sasl.kerberos.*', the keytab or "
            "the ticket (kinit, klist), and that the broker's principal has the name by which it is reached."
        ) from e


def _credentials(config: Mapping[str, str]) -> Any:
    """A keytab's where one is given; else None, for the tickets that the user has."""
    from gssapi import Credentials, Name, NameType

    keytab = config.get("sasl.kerberos.keytab")
    if not keytab:
        return None
    principal = config.get("sasl.kerberos.principal") or "kafkaclient"  # librdkafka's default
    tickets = f"MEMORY:kafka_sql-{zlib.crc32(f'{principal} {keytab}'.encode())}"
    store = {"client_keytab": keytab, "ccache": tickets}
    return Credentials(name=Name(principal, NameType.kerberos_principal), usage="initiate", store=store)
