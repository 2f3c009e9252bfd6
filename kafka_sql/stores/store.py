"""A store of any kind, by its content: as Java's own provider does, a file's name and declared type say nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from kafka_sql.stores import jks
from kafka_sql.stores.errors import Part, UnreadableStore, unless_it_panics
from kafka_sql.stores.kdf_limits import check_rounds
from kafka_sql.stores.pem import certificates, check, pem, private_key

_JCEKS: Final = (
    "it is a JCEKS store; convert it: keytool -importkeystore -srckeystore FILE -srcstoretype JCEKS -destkeystore "
    "FILE.p12 -deststoretype PKCS12"
)
_SEQUENCE: Final = 0x30
_VERSION_3: Final = b"\x02\x01\x03"


@dataclass(frozen=True)
class Identity:
    """A private key and the certificates that say whose it is, both as PEM; the key is not encrypted."""

    key: str = field(repr=False)
    chain: str


@lru_cache(maxsize=16)  # a store is asked for once a client; opening one of PKCS12 takes 10 ms and more
def trusted(data: bytes, password: str | None) -> str:
    """The certificates of a trust store as PEM.

    Args:
        password: of the store; None where none is given.

    Raises:
        UnreadableStore: it is none, the password is wrong, or it has no certificate.
    """
    if _is_pem(data):
        return trusted_pem(_text(data))
    found = jks.read(data, password).trusted if data.startswith(jks.MAGIC) else _pkcs12(data, password)[1]
    if not found:
        raise UnreadableStore("it has no trusted certificate (keytool -importcert puts one in)")
    return "".join(pem("CERTIFICATE", der) for der in check(found))


def trusted_pem(text: str) -> str:
    """The certificates of a text as PEM.

    Raises:
        UnreadableStore: it has none, or one is damaged.
    """
    return "".join(pem("CERTIFICATE", der) for der in certificates(text))


@lru_cache(maxsize=16)
def identity(data: bytes, password: str | None, key_password: str | None) -> Identity:
    """The key and certificates of a key store.

    Args:
        key_password: of the key; None where it is the store's.

    Raises:
        UnreadableStore: it is none, a password is wrong, or it has not exactly one key.
    """
    if _is_pem(data):
        text = _text(data)
        return of_pem(text, text, key_password)
    if data.startswith(jks.MAGIC):
        entries = jks.read(data, password)
        if len(entries.keys) != 1:
            raise UnreadableStore(f"expected one private key, found {len(entries.keys)}")
        hidden, chain = entries.keys[0]
        key = jks.unprotect(hidden, key_password or password or "")
        return _fitting(key, chain)
    found, chain = _pkcs12(data, password)
    if found is None:
        raise UnreadableStore("it has no private key, only certificates: is it a trust store?")
    return _fitting(found, chain)


def of_pem(key: str, chain: str, password: str | None) -> Identity:
    """The same from PEM texts.

    Raises:
        UnreadableStore: as ``identity``.
    """
    return _fitting(private_key(key, password), certificates(chain))


def _fitting(key: bytes, chain: list[bytes]) -> Identity:
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_private_key

    if not chain:
        raise UnreadableStore("its private key has no certificate")
    form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    try:
        check(chain)
        public = load_der_private_key(key, None).public_key().public_bytes(*form)
        certified = x509.load_der_x509_certificate(chain[0]).public_key().public_bytes(*form)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise UnreadableStore("its key or its certificate is damaged, or of an unknown kind") from None
    if certified != public:
        raise UnreadableStore("its first certificate is of another private key")
    return Identity(pem("PRIVATE KEY", key), "".join(pem("CERTIFICATE", der) for der in chain))


def _pkcs12(data: bytes, password: str | None) -> tuple[bytes | None, list[bytes]]:
    """Key and certificates; the key's own one stands first."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12

    if data.startswith(jks.JCEKS):
        raise UnreadableStore(_JCEKS)
    if data[:1] != bytes([_SEQUENCE]) or _VERSION_3 not in data[:16]:
        raise UnreadableStore("it is no store: neither JKS nor PKCS12 nor PEM")
    check_rounds(data)
    try:
        with unless_it_panics("the file is damaged"):
            store = pkcs12.load_pkcs12(data, password.encode() if password else None)
    except (ValueError, TypeError, UnsupportedAlgorithm, UserWarning):  # its words tell no more; -W error
        raise UnreadableStore(
            "the store's password is wrong, or the file is damaged or cut off", Part.PASSWORD
        ) from None
    key = store.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()) if store.key else None
    every = [c.certificate for c in (store.cert, *store.additional_certs) if c is not None]
    return key, [certificate.public_bytes(Encoding.DER) for certificate in every]


def _is_pem(data: bytes) -> bool:
    return b"-----BEGIN" in data[:65536]


def _text(data: bytes) -> str:
    return data.decode(errors="replace")  # what is no ASCII stands between the blocks
