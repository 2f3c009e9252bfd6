"""Explain why a certificate was rejected: OpenSSL's reason, which librdkafka does not report, and what to check."""

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
_EXPIRED: Final = (9, 10)  # not yet valid, expired
_HOST: Final = (62, 64)  # name, address
_CHECK_TRUST: Final = "Check 'properties.ssl.truststore.location' (or '...certificates'): it must contain the authority"


def explain_broker_certificate(address: tuple[str, int], settings: Mapping[str, str], timeout: float) -> str:
    """Return why this machine rejects a broker's certificate, as the end of a sentence, with advice.

    Args:
        settings: the client's settings, with references resolved.
        timeout: seconds to wait for the broker.
    """
    try:
        with socket.create_connection(address, timeout) as connection:
            tls_context(settings).wrap_socket(connection, server_hostname=address[0]).close()
    except ssl.SSLCertVerificationError as e:
        return _explain(e, address, timeout)
    except (OSError, BrokerError) as e:
        return f"{type(e).__name__}. {_CHECK_TRUST}."
    return f"a second attempt succeeded. {_CHECK_TRUST}."


def _explain(error: ssl.SSLCertVerificationError, address: tuple[str, int], timeout: float) -> str:
    certificate = fetch_certificate(address, timeout)
    details = "" if certificate is None else f" ({describe_certificate(certificate)})"
    if error.verify_code in _EXPIRED:
        return (
            f"{error.verify_message}{details}. Renew it on the broker; the clock of this machine is at "
            f"{dt.datetime.now(dt.timezone.utc):%Y-%m-%d %H:%M} UTC."
        )
    if error.verify_code in _HOST:
        return (
            f"{error.verify_message}{details}. Use a host name of the certificate in 'properties.bootstrap.servers' "
            "and in the brokers' advertised.listeners, or disable the check: "
            "'properties.ssl.endpoint.identification.algorithm' = ''."
        )
    return f"{error.verify_message}{details}. {_CHECK_TRUST} that has signed it."


def fetch_certificate(address: tuple[str, int], timeout: float) -> x509.Certificate | None:
    """Return the certificate that a server presents, without verifying it; None if it presents none."""
    from cryptography import x509

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection(address, timeout) as connection,
            context.wrap_socket(connection, server_hostname=address[0]) as secured,
        ):
            der = secured.getpeercert(binary_form=True)
    except OSError:
        return None
    return None if der is None else x509.load_der_x509_certificate(der)


def describe_certificate(certificate: x509.Certificate) -> str:
    """Return a certificate's subject, hosts, validity and issuer."""
    from cryptography import x509

    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        hosts = [str(name.value) for name in names if isinstance(name, (x509.DNSName, x509.IPAddress))]
    except x509.ExtensionNotFound:
        hosts = []
    return (
        f"subject {certificate.subject.rfc4514_string()}, hosts {', '.join(hosts) or '(none)'}, valid from "
        f"{certificate.not_valid_before_utc:%Y-%m-%d} to {certificate.not_valid_after_utc:%Y-%m-%d}, signed by "
        f"{certificate.issuer.rfc4514_string()}"
    )


def explain_client_certificate(settings: Mapping[str, str]) -> str:
    """Return what may be wrong with the client's certificate, as the end of a sentence, with advice."""
    certificate = client_certificate(settings)
    if certificate is None:
        return (
            "none was sent, and the listener requires one. Set 'properties.ssl.keystore.location', or "
            "'properties.ssl.keystore.certificate.chain' and 'properties.ssl.keystore.key'."
        )
    if certificate.not_valid_after_utc < dt.datetime.now(dt.timezone.utc):
        details = describe_certificate(certificate)
        return f"it has expired ({details}). Renew the certificate in 'properties.ssl.keystore.*'."
    return (
        f"the broker does not trust its issuer ({describe_certificate(certificate)}), or it was revoked. Check "
        "'properties.ssl.keystore.*' and the broker's trust store."
    )


def client_certificate(settings: Mapping[str, str]) -> x509.Certificate | None:
    """Return the client's first certificate; None if it has none or it cannot be read."""
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
