"""Report failed authentication, of the client or of the broker, within seconds and with its cause.

librdkafka retries forever, because another broker or a later attempt may succeed. Its errors are recorded here; when
authentication keeps failing, it becomes an error.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Final

from confluent_kafka import KafkaError

from kafka_sql.errors import AuthenticationError, BrokerError
from kafka_sql.kafka.config.token_providers import PROVIDER
from kafka_sql.kafka.librdkafka.certificate_failures import explain_broker_certificate, explain_client_certificate

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
