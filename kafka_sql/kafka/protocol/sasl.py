"""Authenticate with SASL. A mechanism is a generator: it yields the client's messages and is sent the broker's.

PLAIN: RFC 4616. SCRAM: RFC 5802 and 7677. OAUTHBEARER: RFC 7628. GSSAPI: ``gssapi``.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
from collections.abc import Callable, Generator, Mapping
from typing import Final

from kafka_sql.errors import BrokerError, InvalidOptionError
from kafka_sql.kafka.config.token_providers import PROVIDER
from kafka_sql.kafka.protocol.gssapi import authenticate_gssapi, check_gssapi
from kafka_sql.kafka.protocol.oauth import check_oauth, extensions, unsecured_token, uses_endpoint
from kafka_sql.kafka.protocol.token_cache import discard_token, get_valid_token

# RFC 5802, section 7, except that the number of iterations is limited: 7 digits take seconds. A nonce is printable
# ASCII without a comma. Unknown extensions at the end are ignored, but m=, a mandatory one, ends the exchange.
_BASE64: Final = "[A-Za-z0-9+/]+={0,2}"
_CHALLENGE: Final = re.compile(
    rf"r=(?P<nonce>[!-+\--~]+),s=(?P<salt>{_BASE64}),i=(?P<iterations>[1-9][0-9]{{3,6}})(,(?!m=)[A-Za-z]=[^,\0]+)*"
)
_SIGNATURE: Final = re.compile(rf"v=({_BASE64})(?=,|\Z)")
_MIN_ITERATIONS: Final = 4096  # as in the Java client: fewer make it easy to guess the password of a recorded exchange

_TOKEN: Final = "OAUTHBEARER token"  # key in a configuration; no option has this name

SaslExchange = Generator[bytes, bytes, None]


def mechanism(config: Mapping[str, str]) -> str:
    """Return the name of the mechanism; GSSAPI by default, as in the Java client."""
    return (config.get("sasl.mechanism") or config.get("sasl.mechanisms") or "GSSAPI").upper()


def check_sasl(config: Mapping[str, str]) -> None:
    """Check that this client supports the mechanism.

    Raises:
        InvalidOptionError: it does not; the message lists the supported ones.
        UnsupportedOptionError: Kerberos is configured, and its library is not installed.
    """
    name = mechanism(config)
    if name not in _MECHANISMS:
        raise InvalidOptionError(
            f"SASL mechanism '{name}' (option 'properties.sasl.mechanism') is not supported with "
            "'sink.delivery-guarantee' = 'exactly-once' and 'properties.group.id': the client for transactions and "
            "groups supports " + ", ".join(f"'{supported}'" for supported in _MECHANISMS) + ".",
            option="properties.sasl.mechanism",
        )
    if name == "OAUTHBEARER":
        check_oauth(config)
    if name == "GSSAPI":
        check_gssapi()


def get_credentials(config: Mapping[str, str], seconds: float) -> dict[str, str]:
    """Return the configuration with what the mechanism needs from servers other than the broker, such as a token.

    Args:
        config: librdkafka's configuration, with references to secrets resolved.

    Raises:
        TokenEndpointUnavailableError: the endpoint returned no token in time.
        BrokerError: the endpoint rejected the request.
        KafkaSqlError: a function returned no token.
    """
    if mechanism(config) != "OAUTHBEARER":
        return dict(config)
    check_oauth(config)
    if uses_endpoint(config) or PROVIDER in config:
        token = get_valid_token(config, seconds)
        return {**config, _TOKEN: token.value + token.extensions}
    return {**config, _TOKEN: unsecured_token(config)}


def discard_credentials(config: Mapping[str, str]) -> bool:
    """Forget credentials that a broker rejected, and return whether a new connection would get others."""
    has_token = mechanism(config) == "OAUTHBEARER" and (uses_endpoint(config) or PROVIDER in config)
    return has_token and discard_token(config)


def sasl_exchange(config: Mapping[str, str], host: str) -> SaslExchange:
    """Start the exchange with the broker on a host.

    Args:
        config: as ``get_credentials`` returns it.
    """
    check_sasl(config)
    return _MECHANISMS[mechanism(config)](config, host)


def _plain(config: Mapping[str, str], _: str) -> SaslExchange:
    yield f"\0{config.get('sasl.username', '')}\0{config.get('sasl.password', '')}".encode()


def _oauth(config: Mapping[str, str], _: str) -> SaslExchange:
    error = yield f"n,,\x01auth=Bearer {config[_TOKEN]}{extensions(config)}\x01\x01".encode()
    if error:
        yield b"\x01"


def _scram(algorithm: str) -> Callable[[Mapping[str, str], str], SaslExchange]:
    def exchange(config: Mapping[str, str], _: str) -> SaslExchange:
        user = config.get("sasl.username", "").replace("=", "=3D").replace(",", "=2C")
        nonce = base64.b64encode(os.urandom(24)).decode()
        bare = f"n={user},r={nonce}"
        first = (yield f"n,,{bare}".encode()).decode()
        challenge = _CHALLENGE.fullmatch(first)
        if challenge is None or not challenge["nonce"].startswith(nonce) or challenge["nonce"] == nonce:
            raise BrokerError("SCRAM: the broker's first message is malformed.")
        iterations = int(challenge["iterations"])
        if iterations < _MIN_ITERATIONS:
            raise BrokerError(
                f"SCRAM: the broker requires {iterations} iterations, fewer than the minimum of {_MIN_ITERATIONS}."
            )
        secret, salt = config.get("sasl.password", "").encode(), base64.b64decode(challenge["salt"], validate=True)
        salted = hashlib.pbkdf2_hmac(algorithm, secret, salt, iterations)
        last = f"c=biws,r={challenge['nonce']}"
        messages = f"{bare},{first},{last}".encode()
        client_key = hmac.digest(salted, b"Client Key", algorithm)
        signature = hmac.digest(hashlib.new(algorithm, client_key).digest(), messages, algorithm)
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(client_key, signature, strict=True))).decode()
        final = _SIGNATURE.match((yield f"{last},p={proof}".encode()).decode())
        expected = hmac.digest(hmac.digest(salted, b"Server Key", algorithm), messages, algorithm)
        if final is None or not hmac.compare_digest(base64.b64decode(final[1], validate=True), expected):
            raise BrokerError(
                "SCRAM: the broker could not prove that it knows the password. Check 'properties.bootstrap.servers': "
                "this may not be your broker."
            )

    return exchange


_MECHANISMS: Final[dict[str, Callable[[Mapping[str, str], str], SaslExchange]]] = {
    "PLAIN": _plain,
    "SCRAM-SHA-256": _scram("sha256"),
    "SCRAM-SHA-512": _scram("sha512"),
    "OAUTHBEARER": _oauth,
    "GSSAPI": authenticate_gssapi,
}
