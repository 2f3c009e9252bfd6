"""What is wrong with a certificate, in words: OpenSSL's reason as librdkafka does not tell it, and what to look at."""

from __future__ import annotations

import datetime as dt
import socket
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.protocol.tls import tls_context

if TYPE_CHECKING:
    from cryptography import x509

# X509_V_ERR_*
_EXPIRED: Final = (9, 10)  # not yet, no longer
_HOST: Final = (62, 64)  # name, address
_TRUST: Final = "Look at 'properties.ssl.truststore.location' (or '...certificates'): it must have the authority"


def broker_fault(address: tuple[str, int], settings: Mapping[str, str], patience: float) -> str:
    """Why this machine refuses a broker's certificate, as the end of a sentence with advice.

    Args:
        settings: the client's, with references resolved.
        patience: seconds to wait for the broker.
    """
    try:
        with socket.create_connection(address, patience) as connection:
            tls_context(settings).wrap_socket(connection, server_hostname=address[0]).close()
    except ssl.SSLCertVerificationError as e:
        return _told(e, address, patience)
    except (OSError, BrokerError) as e:
        return f"{type(e).__name__}. {_TRUST}."
    return f"it was not a moment ago. {_TRUST}."


def _told(error: ssl.SSLCertVerificationError, address: tuple[str, int], patience: float) -> str:
    shown = presented(address, patience)
    about = "" if shown is None else f" ({described(shown)})"
    if error.verify_code in _EXPIRED:
        return (
            f"{error.verify_message}{about}. Renew it on the broker; the clock of this machine says "
            f"{dt.datetime.now(dt.timezone.utc):%Y-%m-%d %H:%M} UTC."
        )
    if error.verify_code in _HOST:
        return (
            f"{error.verify_message}{about}. Use a name of the certificate in 'properties.bootstrap.servers' and in "
            "the brokers' advertised.listeners, or turn the check off: "
            "'properties.ssl.endpoint.identification.algorithm' = ''."
        )
    return f"{error.verify_message}{about}. {_TRUST} that has signed it."


def presented(address: tuple[str, int], patience: float) -> x509.Certificate | None:
    """The certificate that a server presents, unchecked; None where it presents none."""
    from cryptography import x509

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection(address, patience) as connection,
            context.wrap_socket(connection, server_hostname=address[0]) as secured,
        ):
            der = secured.getpeercert(binary_form=True)
    except OSError:
        return None
    return None if der is None else x509.load_der_x509_certificate(der)


def described(certificate: x509.Certificate) -> str:
    """Whose it is, for which hosts, until when, by whom."""
    from cryptography import x509

    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        hosts = [str(name.value) for name in names if isinstance(name, (x509.DNSName, x509.IPAddress))]
    except x509.ExtensionNotFound:
        hosts = []
    return (
        f"subject {certificate.subject.rfc4514_string()}, for {', '.join(hosts) or 'no host'}, valid from "
        f"{certificate.not_valid_before_utc:%Y-%m-%d} to {certificate.not_valid_after_utc:%Y-%m-%d}, signed by "
        f"{certificate.issuer.rfc4514_string()}"
    )


def client_fault(settings: Mapping[str, str]) -> str:
    """What may be wrong with the client's own certificate, as the end of a sentence with advice."""
    mine = own(settings)
    if mine is None:
        return (
            "none was sent, and the listener asks for one. Give 'properties.ssl.keystore.location', or "
            "'properties.ssl.keystore.certificate.chain' and 'properties.ssl.keystore.key'."
        )
    if mine.not_valid_after_utc < dt.datetime.now(dt.timezone.utc):
        return f"it has expired ({described(mine)}). Renew what 'properties.ssl.keystore.*' names."
    return (
        f"the broker does not trust who signed it ({described(mine)}), or has revoked it. Look at "
        "'properties.ssl.keystore.*' and at the broker's trust store."
    )


def own(settings: Mapping[str, str]) -> x509.Certificate | None:
    """The client's first certificate; None where it has none that can be seen here."""
    from cryptography import x509

    text = settings.get("ssl.certificate.pem", "").encode()
    if not text and settings.get("ssl.certificate.location"):
        try:
            with open(settings["ssl.certificate.location"], "rb") as file:
                text = file.read()
        except OSError:
            return None
    try:
        return x509.load_pem_x509_certificates(text)[0] if text else None
    except ValueError:
        return None
