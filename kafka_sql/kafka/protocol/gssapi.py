"""Authenticate with SASL/GSSAPI (Kerberos): RFC 4752 without a security layer."""

from __future__ import annotations

import zlib
from collections.abc import Generator, Mapping
from contextlib import closing
from typing import Final

from kafka_sql.errors import BrokerError, UnsupportedOptionError
from kafka_sql.kafka.protocol.gssapi_library import GssapiError, SecurityContext, load_library

_NO_SECURITY_LAYER: Final = 1
_REPLY: Final = bytes((_NO_SECURITY_LAYER, 0, 0, 0))  # the maximum message size is 0 without a layer


def check_gssapi() -> None:
    """Check that the Kerberos library is installed.

    Raises:
        UnsupportedOptionError: it is not; the message says what to install.
    """
    if load_library() is None:
        raise UnsupportedOptionError(
            "Option 'properties.sasl.mechanism' = 'GSSAPI' (the default) requires MIT Kerberos' library "
            "libgssapi_krb5. Debian, Ubuntu: apt install libgssapi-krb5-2; Fedora, RHEL: dnf install krb5-libs.",
            option="properties.sasl.mechanism",
        )


def authenticate_gssapi(config: Mapping[str, str], host: str) -> Generator[bytes, bytes, None]:
    """Yield the client's messages to the broker with the principal ``sasl.kerberos.service.name``/host.

    Raises:
        BrokerError: no security context could be established; the message quotes the Kerberos library.
    """
    service = f"{config.get('sasl.kerberos.service.name') or 'kafka'}@{host}"
    principal = config.get("sasl.kerberos.principal") or "kafkaclient"  # librdkafka's default
    try:
        with closing(SecurityContext(service, principal, _credential_store(config, principal))) as context:
            message = context.step()
            while not context.is_complete:
                message = context.step((yield message))
            offer = context.unwrap((yield message))
            if not offer or not offer[0] & _NO_SECURITY_LAYER:
                raise BrokerError(f"Kerberos: {host} requires a security layer, which Kafka does not support.")
            yield context.wrap(_REPLY)
    except GssapiError as e:
        raise BrokerError(
            f"Kerberos: no security context with '{service}': {e}. Check 'properties.sasl.kerberos.*', the keytab or "
            "the ticket (kinit, klist), and that the broker's principal contains the host name of its address."
        ) from e


def _credential_store(config: Mapping[str, str], principal: str) -> dict[str, str]:
    """Return where the library finds the keytab and keeps the tickets; empty for the user's ticket cache."""
    keytab = config.get("sasl.kerberos.keytab")
    if not keytab:
        return {}
    return {
        "client_keytab": keytab,
        "ccache": f"MEMORY:kafka_sql-{zlib.crc32(f'{principal} {keytab}'.encode())}",
    }
