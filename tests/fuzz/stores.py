"""Fuzz key stores and trust stores: they are read, or raise an error with the reason."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kafka_sql.stores import jks
from kafka_sql.stores.errors import UnreadableStore
from kafka_sql.stores.store import Identity, read_identity, trusted_certificates
from tests.fuzz.harness import require
from tests.fuzz.mutation import mutate, mutate_text

_CORPUS: Final = Path(__file__).with_name("corpus") / "stores"
_PASSWORD: Final = "store-password"
_WORDS: Final = ("BEGIN", "END", "-----", "-----BEGIN CERTIFICATE-----", "PRIVATE KEY", "ENCRYPTED", "=", "MII", "\n")


def make() -> Callable[[random.Random], str]:
    """Return a target with the stores of the corpus, which were created by Java's keytool and by cryptography."""
    files = {path.name: path.read_bytes() for path in sorted(_CORPUS.iterdir())}
    expected = {name: _content(data, _PASSWORD) for name, data in files.items()}
    names = list(files)

    def feed(rng: random.Random) -> str:
        name = rng.choice(names)
        data = files[name]
        if name.endswith(".pem") and rng.random() < 0.7:
            mutant = mutate_text(rng, data.decode(), _WORDS).encode(errors="replace")
        else:
            mutant = mutate(rng, data)
        password = rng.choice((_PASSWORD, _PASSWORD, None, "another", ""))
        if data.startswith(jks.MAGIC) and rng.random() < 0.5:
            # a matching digest, so that the mutated content is parsed
            return _read_all_ways(_with_digest(mutant[:-20]), _PASSWORD)
        outcome = _read_all_ways(mutant, password)
        if data.startswith(jks.MAGIC) and password is not None and outcome == "read":
            assert _content(mutant, password) == expected[name]
        return outcome

    return feed


def _read_all_ways(data: bytes, password: str | None) -> str:
    """Read a store as trust store and key store, with and without a key password. Return the outcome."""
    outcomes = set()
    for read in (
        lambda: trusted_certificates(data, password),
        lambda: read_identity(data, password, None),
        lambda: read_identity(data, password, "key-password"),
    ):
        outcomes.add(_outcome(read))
    return "read" if "read" in outcomes else "rejected"


def _outcome(read: Callable[[], str | Identity]) -> str:
    try:
        content = read()
    except UnreadableStore as e:
        require("MII" not in str(e))
        return "rejected"
    text = content if isinstance(content, str) else content.chain
    assert text.startswith("-----BEGIN CERTIFICATE-----\n")
    return "read"


def _content(data: bytes, password: str) -> tuple[str | None, Identity | None]:
    contents: list[str | Identity | None] = []
    for read in (lambda: trusted_certificates(data, password), lambda: read_identity(data, password, None)):
        try:
            contents.append(read())
        except UnreadableStore:
            contents.append(None)
    return contents[0], contents[1]  # type: ignore[return-value]


def _with_digest(body: bytes) -> bytes:
    """Return a JKS with a matching digest."""
    return body + hashlib.sha1(_PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()
