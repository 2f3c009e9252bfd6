"""A broker that refuses the client, or a client that refuses the broker: told within seconds, with its cause.

librdkafka goes on trying for ever, as another broker or another minute may bring the answer. What it says of its
attempts is noted here; where the same kind of refusal has lasted, it is an error.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Final

from kafka_sql.errors import AuthenticationError, BrokerError
from kafka_sql.kafka.librdkafka import bindings
from kafka_sql.kafka.librdkafka.certificate_failures import broker_fault, client_fault

# seconds: a broker that has just started may not know its users yet
LASTING: Final = 1.5  # at the first question to a cluster
LASTING_AT_WORK: Final = 3.0  # while records are read or written

_CODES: Final = (bindings.AUTHENTICATION, bindings.SSL)
_ALERT: Final = "tls alert"
_TOKEN: Final = "OAUTHBEARER token"
_PLACE: Final = re.compile(r"(?:\w+://)?\[?([\w.:%-]+?)\]?:(\d+)/\w+: ")
_LOGIN: Final = (
    "Look at 'properties.sasl.jaas.config', or at 'properties.sasl.username' and 'properties.sasl.password' where they "
    "are given"
)


class Refusals:
    """What a client was told when it was refused; forgotten when it gets an answer."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.clear()

    def clear(self) -> None:
        """Forget: a broker has answered."""
        self._first: float | None = None
        self._last = 0.0
        self.words = ""

    def note(self, code: int, words: str) -> None:
        """Take note of librdkafka's error; others than refusals are passed over."""
        # a connection that is closed while it is made may be a broker that stops
        refused = code in _CODES or _ALERT in words  # which librdkafka takes for a fault of the network
        if not refused or "Disconnected" in words:
            return
        self._last, self.words = self._clock(), words
        if self._first is None:
            self._first = self._last

    def lasting(self, seconds: float = LASTING) -> bool:
        """Whether it was refused for so long that it will not pass."""
        # a token endpoint is asked again after ten seconds only
        last = self._clock() if _TOKEN in self.words else self._last
        return self._first is not None and last - self._first >= seconds


def refusal(words: str, settings: Mapping[str, str], patience: float) -> BrokerError:
    """The error for a refusal.

    Args:
        words: librdkafka's, without secrets.
        settings: the client's, with references resolved; no value of it is shown.
        patience: seconds to look at the broker's certificate.
    """
    place = _PLACE.search(words)
    server = f"{place[1]}:{place[2]}" if place else settings.get("bootstrap.servers", "")
    if "certificate verify failed" in words and place:
        fault = broker_fault((place[1], int(place[2])), settings, patience)
        return AuthenticationError(f"{server}: the broker's certificate is refused: {fault}")
    if _ALERT in words:
        return AuthenticationError(f"{server}: the broker refuses the client's certificate: {client_fault(settings)}")
    short = re.sub(r" \(after \d+ms in state \w+\)", "", _PLACE.sub("", words)).rstrip(". ")
    return AuthenticationError(f"{server}: {short}. {_advice(words)}.")


def _advice(words: str) -> str:
    if _TOKEN in words:
        return (
            "The token endpoint gave no token: look at 'properties.sasl.oauthbearer.token.endpoint.url', and at "
            "clientId and clientSecret in 'properties.sasl.jaas.config'"
        )
    if "GSSAPI" in words:
        return (
            "Look at 'properties.sasl.kerberos.service.name', which must be the broker's, and at the keytab or the "
            "ticket (kinit, klist) of 'properties.sasl.jaas.config'; the broker's principal must have the name by "
            "which it is reached"
        )
    if "handshake failed" in words and "SASL" in words:
        return (
            "Look at 'properties.sasl.mechanism' and 'properties.security.protocol': the listener may have other "
            "mechanisms, or none"
        )
    if "SASL" in words:
        return _LOGIN
    return "Look at 'properties.security.protocol' and 'properties.ssl.*'"
