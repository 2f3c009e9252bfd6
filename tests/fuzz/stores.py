"""Key and trust stores: what is in them, or why they cannot be read."""

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
    """The stores of the corpus, made by Java's keytool and by cryptography."""
    files = {path.name: path.read_bytes() for path in sorted(_CORPUS.iterdir())}
    right = {name: _content(data, _PASSWORD) for name, data in files.items()}
    names = list(files)

    def one(rng: random.Random) -> str:
        name = rng.choice(names)
        data = files[name]
        if name.endswith(".pem") and rng.random() < 0.7:
            mutant = mutate_text(rng, data.decode(), _WORDS).encode(errors="replace")
        else:
            mutant = mutate(rng, data)
        password = rng.choice((_PASSWORD, _PASSWORD, None, "another", ""))
        if data.startswith(jks.MAGIC) and rng.random() < 0.5:
            return _ways(_sealed(mutant[:-20]), _PASSWORD)  # who has the password may write what they like
        word = _ways(mutant, password)
        if data.startswith(jks.MAGIC) and password is not None and word == "read":
            assert _content(mutant, password) == right[name]
        return word

    return one


def _ways(data: bytes, password: str | None) -> str:
    """What becomes of a store as each kind, and with the key's password right and wrong."""
    words = set()
    for read in (
        lambda: trusted_certificates(data, password),
        lambda: read_identity(data, password, None),
        lambda: read_identity(data, password, "key-password"),
    ):
        words.add(_word(read))
    return "read" if "read" in words else "refused"


def _word(read: Callable[[], str | Identity]) -> str:
    try:
        found = read()
    except UnreadableStore as e:
        require("MII" not in str(e))
        return "refused"
    text = found if isinstance(found, str) else found.chain
    assert text.startswith("-----BEGIN CERTIFICATE-----\n")
    return "read"


def _content(data: bytes, password: str) -> tuple[str | None, Identity | None]:
    found: list[str | Identity | None] = []
    for read in (lambda: trusted_certificates(data, password), lambda: read_identity(data, password, None)):
        try:
            found.append(read())
        except UnreadableStore:
            found.append(None)
    return found[0], found[1]  # type: ignore[return-value]


def _sealed(body: bytes) -> bytes:
    """A JKS whose digest fits."""
    return body + hashlib.sha1(_PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()
