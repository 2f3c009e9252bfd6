"""SASL mechanisms as conversations: a generator yields what the client says and is sent what the broker answers.

PLAIN: RFC 4616. SCRAM: RFC 5802 and 7677. OAUTHBEARER: RFC 7628. GSSAPI: gss.
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
from kafka_sql.kafka.protocol.gssapi import check_gss, talk_gss
from kafka_sql.kafka.protocol.oauth import check_oauth, extensions, token

_ROUNDS: Final = re.compile(r"[1-9][0-9]{3,6}")
_FEWEST: Final = 4096  # as Java's client: with fewer, who listens could guess the password. Seven digits are seconds

Conversation = Generator[bytes, bytes, None]


def mechanism(config: Mapping[str, str]) -> str:
    """The mechanism's name; GSSAPI where none is given, as in Kafka's clients."""
    return (config.get("sasl.mechanism") or config.get("sasl.mechanisms") or "GSSAPI").upper()


def check_sasl(config: Mapping[str, str]) -> None:
    """Refuse a mechanism that this client does not know.

    Raises:
        InvalidOptionError: names it and those that it knows.
        UnsupportedOptionError: Kerberos, and its package is missing.
    """
    name = mechanism(config)
    if name not in _KNOWN:
        raise InvalidOptionError(
            f"SASL mechanism '{name}' (option 'properties.sasl.mechanism') is not supported with "
            "'sink.delivery-guarantee' = 'exactly-once': the client that ends transactions knows "
            + ", ".join(f"'{known}'" for known in _KNOWN)
            + "."
        )
    if name == "OAUTHBEARER":
        check_oauth(config)
    if name == "GSSAPI":
        check_gss()


def conversation(config: Mapping[str, str], host: str) -> Conversation:
    """What to say to a host's broker, from ``config`` with its references resolved."""
    check_sasl(config)
    return _KNOWN[mechanism(config)](config, host)


def _plain(config: Mapping[str, str], _: str) -> Conversation:
    yield f"\0{config.get('sasl.username', '')}\0{config.get('sasl.password', '')}".encode()


def _oauth(config: Mapping[str, str], _: str) -> Conversation:
    refusal = yield f"n,,\x01auth=Bearer {token(config)}{extensions(config)}\x01\x01".encode()
    if refusal:
        yield b"\x01"


def _scram(algorithm: str) -> Callable[[Mapping[str, str], str], Conversation]:
    def talk(config: Mapping[str, str], _: str) -> Conversation:
        user = config.get("sasl.username", "").replace("=", "=3D").replace(",", "=2C")
        nonce = base64.b64encode(os.urandom(24)).decode()
        bare = f"n={user},r={nonce}"
        first = (yield f"n,,{bare}".encode()).decode()
        said = _attributes(first)
        rounds = said.get("i", "")
        if not said.get("r", "").startswith(nonce) or "s" not in said or not _ROUNDS.fullmatch(rounds):
            raise BrokerError("SCRAM: the broker's first answer is none.")
        if int(rounds) < _FEWEST:
            raise BrokerError(f"SCRAM: the broker asks for {rounds} rounds, fewer than {_FEWEST}.")
        secret, salt = config.get("sasl.password", "").encode(), base64.b64decode(said["s"])
        salted = hashlib.pbkdf2_hmac(algorithm, secret, salt, int(rounds))
        last = f"c=biws,r={said['r']}"
        talked = f"{bare},{first},{last}".encode()
        client = hmac.digest(salted, b"Client Key", algorithm)
        signature = hmac.digest(hashlib.new(algorithm, client).digest(), talked, algorithm)
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(client, signature, strict=True))).decode()
        verdict = _attributes((yield f"{last},p={proof}".encode()).decode())
        server = hmac.digest(hmac.digest(salted, b"Server Key", algorithm), talked, algorithm)
        if not hmac.compare_digest(base64.b64decode(verdict.get("v", "")), server):
            raise BrokerError("SCRAM: the broker does not know the password either; is it the right one?")

    return talk


def _attributes(message: str) -> dict[str, str]:
    return dict(part.partition("=")[::2] for part in message.split(","))


_KNOWN: Final[dict[str, Callable[[Mapping[str, str], str], Conversation]]] = {
    "PLAIN": _plain,
    "SCRAM-SHA-256": _scram("sha256"),
    "SCRAM-SHA-512": _scram("sha512"),
    "OAUTHBEARER": _oauth,
    "GSSAPI": talk_gss,
}
