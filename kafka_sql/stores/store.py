"""Read key stores and trust stores of any type. The type is detected by content, as in Java; names are ignored."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from kafka_sql.stores import jks
from kafka_sql.stores.errors import StorePart, UnreadableStore, catch_rust_panic
from kafka_sql.stores.kdf_limits import check_iterations
from kafka_sql.stores.pem import check_certificates, encode_pem, parse_certificates, parse_private_key

_JCEKS_ERROR: Final = (
    "JCEKS stores are not supported. Convert the store: keytool -importkeystore -srckeystore FILE -srcstoretype JCEKS "
    "-destkeystore FILE.p12 -deststoretype PKCS12"
)
_SEQUENCE: Final = 0x30
_VERSION_3: Final = b"\x02\x01\x03"


@dataclass(frozen=True)
class Identity:
    """A private key (not encrypted) and its certificate chain, both as PEM."""

    key: str = field(repr=False)
    chain: str


@lru_cache(maxsize=16)  # each client reads its store again; opening PKCS12 takes 10 ms or more
def trusted_certificates(data: bytes, password: str | None) -> str:
    """Return the certificates of a trust store as PEM.

    Raises:
        UnreadableStore: it is not a store, the password is wrong, or it has no certificate.
    """
    if _is_pem(data):
        return trusted_certificates_of_pem(_text(data))
    is_jks = data.startswith(jks.MAGIC)
    ders = jks.read(data, password).trusted_certificates if is_jks else _pkcs12(data, password)[1]
    if not ders:
        raise UnreadableStore("it has no trusted certificate; add one with keytool -importcert")
    return "".join(encode_pem("CERTIFICATE", der) for der in check_certificates(ders))


def trusted_certificates_of_pem(text: str) -> str:
    """Return the certificates of a PEM text, normalized.

    Raises:
        UnreadableStore: there is no certificate, or one is damaged.
    """
    return "".join(encode_pem("CERTIFICATE", der) for der in parse_certificates(text))


@lru_cache(maxsize=16)
def read_identity(data: bytes, password: str | None, key_password: str | None) -> Identity:
    """Return the key and certificates of a key store.

    Args:
        key_password: password of the key; None if it is the same as the store's.

    Raises:
        UnreadableStore: it is not a store, a password is wrong, or it does not have exactly one key.
    """
    if _is_pem(data):
        text = _text(data)
        return identity_of_pem(text, text, key_password)
    if data.startswith(jks.MAGIC):
        entries = jks.read(data, password)
        if len(entries.keys) != 1:
            raise UnreadableStore(f"expected one private key, found {len(entries.keys)}")
        encrypted, chain = entries.keys[0]
        key = jks.decrypt_key(encrypted, key_password or password or "")
        return _identity(key, chain)
    private_key, chain = _pkcs12(data, password)
    if private_key is None:
        raise UnreadableStore("it has no private key, only certificates; it may be a trust store")
    return _identity(private_key, chain)


def identity_of_pem(key: str, chain: str, password: str | None) -> Identity:
    """Return the key and certificates of PEM texts.

    Raises:
        UnreadableStore: see ``read_identity``.
    """
    return _identity(parse_private_key(key, password), parse_certificates(chain))


def _identity(key: bytes, chain: list[bytes]) -> Identity:
    if not chain:
        raise UnreadableStore("its private key has no certificate")
    _check_key_matches_certificate(key, chain)
    return Identity(encode_pem("PRIVATE KEY", key), "".join(encode_pem("CERTIFICATE", der) for der in chain))


def _check_key_matches_certificate(key: bytes, chain: list[bytes]) -> None:
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_private_key

    encoding = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    try:
        check_certificates(chain)
        public_key = load_der_private_key(key, None).public_key().public_bytes(*encoding)
        certified_key = x509.load_der_x509_certificate(chain[0]).public_key().public_bytes(*encoding)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise UnreadableStore("its key or certificate is damaged, or its type is not supported") from None
    if certified_key != public_key:
        raise UnreadableStore("its first certificate does not belong to its private key")


def _pkcs12(data: bytes, password: str | None) -> tuple[bytes | None, list[bytes]]:
    """Return the key and all certificates; the certificate of the key is first."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12

    if data.startswith(jks.JCEKS):
        raise UnreadableStore(_JCEKS_ERROR)
    if data[:1] != bytes([_SEQUENCE]) or _VERSION_3 not in data[:16]:
        raise UnreadableStore("it is not a store: expected JKS, PKCS12 or PEM")
    check_iterations(data)
    try:
        with catch_rust_panic("the file is damaged"):
            store = pkcs12.load_pkcs12(data, password.encode() if password else None)
    # their messages add nothing; UserWarning is raised with -W error
    except (ValueError, TypeError, UnsupportedAlgorithm, UserWarning):
        raise UnreadableStore(
            "the store's password is wrong, or the file is damaged or truncated", StorePart.PASSWORD
        ) from None
    key = store.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()) if store.key else None
    certificates = [c.certificate for c in (store.cert, *store.additional_certs) if c is not None]
    return key, [certificate.public_bytes(Encoding.DER) for certificate in certificates]


def _is_pem(data: bytes) -> bool:
    return b"-----BEGIN" in data[:65536]


def _text(data: bytes) -> str:
    return data.decode(errors="replace")  # only text between the blocks may be non-ASCII
