"""Report failed authentication, of the client or of the broker, within seconds and with its cause.

librdkafka retries forever, because another broker or a later attempt may succeed. Its errors are recorded here; when
authentication keeps failing, it becomes an error.
"""

from __future__ import annotations

import datetime as dt
import re
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaError

from kafka_sql.errors import AuthenticationError, BrokerError
from kafka_sql.kafka.config.token_providers import PROVIDER
from kafka_sql.kafka.protocol.tls import tls_context

if TYPE_CHECKING:
    from cryptography import x509

# seconds; a broker that has just started may not have loaded its users yet
PERSISTENT_SECONDS: Final = 1.5  # for the first request to a cluster
PERSISTENT_SECONDS_IN_USE: Final = 3.0  # while records are read or written

UNREACHABLE: Final = (KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN)
_CODES: Final = (KafkaError._AUTHENTICATION, KafkaError._SSL)
_ALERT: Final = "tls alert"
_TOKEN: Final = "OAUTHBEARER token"
_ADDRESS: Final = re.compile(r"(?:\w+://)?\[?([\w.:%-]+?)\]?:(\d+)/\w+: ")
_TIMING: Final = re.compile(r" \(after \d+ms in state \w+(, \d+ identical error\(s\) suppressed)?\)")
_CHECK_PASSWORD: Final = (
    "Check 'properties.sasl.jaas.config', or 'properties.sasl.username' and 'properties.sasl.password' if they are set"
)
# X509_V_ERR_*
_EXPIRED: Final = (9, 10)  # not yet valid, expired
_HOST: Final = (62, 64)  # name, address
_CHECK_TRUST: Final = "Check 'properties.ssl.truststore.location' (or '...certificates'): it must contain the authority"


class AuthFailures:
    """The authentication failures of a client since its last success."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._provider_failure = ""
        self.clear()

    def note_provider_failure(self, message: str) -> None:
        """Keep why the token provider returned no token: librdkafka reports only that it failed."""
        self._provider_failure = message

    def clear(self) -> None:
        """Forget the failures: a broker has responded."""
        self._first: float | None = None
        self._last = 0.0
        self.message = ""

    def record(self, code: int, message: str) -> None:
        """Record an error of librdkafka, unless it is not about authentication."""
        is_rejected = code in _CODES or _ALERT in message  # librdkafka reports alerts as network errors
        if not is_rejected or "Disconnected" in message:  # the broker may be stopping
            return
        if _TOKEN in message and self._provider_failure:
            message = f"no {_TOKEN}: {self._provider_failure}"
        self._last, self.message = self._clock(), message
        if self._first is None:
            self._first = self._last

    def is_persistent(self, seconds: float = PERSISTENT_SECONDS) -> bool:
        """Whether authentication has failed for so long that a retry will not help."""
        # librdkafka retries a token endpoint only after ten seconds
        last = self._clock() if _TOKEN in self.message else self._last
        return self._first is not None and last - self._first >= seconds


def auth_error(message: str, settings: Mapping[str, str], timeout: float) -> BrokerError:
    """Return the error for an authentication failure.

    Args:
        message: librdkafka's message, without secrets.
        settings: the client's settings, with references resolved; their values are not shown.
        timeout: seconds to get the broker's certificate.
    """
    address = _ADDRESS.search(message)
    server = f"{address[1]}:{address[2]}" if address else settings.get("bootstrap.servers", "")
    if "certificate verify failed" in message and address:
        failure = explain_broker_certificate((address[1], int(address[2])), settings, timeout)
        return AuthenticationError(f"{server}: the broker's certificate is rejected: {failure}", servers=server)
    if _ALERT in message:
        failure = explain_client_certificate(settings)
        return AuthenticationError(f"{server}: the broker rejects the client's certificate: {failure}", servers=server)
    short = _TIMING.sub("", _ADDRESS.sub("", message)).rstrip(". ")
    return AuthenticationError(f"{server}: {short}. {_advice(message, settings)}.", servers=server)


def _advice(message: str, settings: Mapping[str, str]) -> str:
    if PROVIDER in settings and ("SASL" in message or _TOKEN in message):
        return (
            f"Check the tokens of 'properties.{PROVIDER}' = '{settings[PROVIDER]}', and that the listener accepts "
            "OAUTHBEARER"
        )
    if _TOKEN in message:
        return (
            "The token endpoint returned no token. Check 'properties.sasl.oauthbearer.token.endpoint.url', and "
            "clientId and clientSecret in 'properties.sasl.jaas.config'"
        )
    if "GSSAPI" in message:
        return (
            "Check 'properties.sasl.kerberos.service.name', which must be the broker's, and the keytab or the ticket "
            "(kinit, klist) of 'properties.sasl.jaas.config'. The broker's principal must contain the host name that "
            "the client connects to"
        )
    if "handshake failed" in message and "SASL" in message:
        return (
            "Check 'properties.sasl.mechanism' and 'properties.security.protocol': the listener may use other "
            "mechanisms, or none"
        )
    if "SASL" in message:
        return _CHECK_PASSWORD
    return "Check 'properties.security.protocol' and 'properties.ssl.*'"


def explain_broker_certificate(address: tuple[str, int], settings: Mapping[str, str], seconds: float) -> str:
    """Return why this machine rejects a broker's certificate, as the end of a sentence, with advice."""
    try:
        with socket.create_connection(address, seconds) as connection:
            tls_context(settings).wrap_socket(connection, server_hostname=address[0]).close()
    except ssl.SSLCertVerificationError as e:
        return _explain(e, address, seconds)
    except (OSError, BrokerError) as e:
        return f"{type(e).__name__}. {_CHECK_TRUST}."
    return f"a second attempt succeeded. {_CHECK_TRUST}."


def _explain(error: ssl.SSLCertVerificationError, address: tuple[str, int], seconds: float) -> str:
    certificate = fetch_certificate(address, seconds)
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


def fetch_certificate(address: tuple[str, int], seconds: float) -> x509.Certificate | None:
    """Return the certificate that a server presents, without verifying it; None if it presents none."""
    from cryptography import x509

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection(address, seconds) as connection,
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
