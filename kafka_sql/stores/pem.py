"""Parse PEM leniently: with CRLF, on one line, with ``\\n`` written out, or with text between the blocks."""

from __future__ import annotations

import base64
import re
import textwrap
from typing import Final

from kafka_sql.stores.errors import StorePart, UnreadableStore, catch_rust_panic
from kafka_sql.stores.kdf_limits import check_iterations

_BOUNDARY: Final = re.compile(r"-----(BEGIN|END) ([A-Z0-9 ]{1,64})-----")
_CERTIFICATES: Final = ("CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CERTIFICATE")


def encode_pem(label: str, der: bytes) -> str:
    """Return DER as a PEM block."""
    body = "\n".join(textwrap.wrap(base64.b64encode(der).decode(), 64))
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n"


def parse_certificates(text: str) -> list[bytes]:
    """Return the certificates of a PEM text, each as DER.

    Raises:
        UnreadableStore: there is no certificate, or one is damaged.
    """
    ders = [_decode_base64(body) for label, body in _blocks(text) if label in _CERTIFICATES]
    if not ders:
        raise UnreadableStore("it has no certificate: expected -----BEGIN CERTIFICATE-----")
    return check_certificates(ders)


def check_certificates(ders: list[bytes]) -> list[bytes]:
    """Check that all certificates can be parsed, and return them.

    Raises:
        UnreadableStore: one is damaged.
    """
    from cryptography import x509

    for number, der in enumerate(ders, 1):
        try:
            x509.load_der_x509_certificate(der)
        except (ValueError, x509.InvalidVersion):
            raise UnreadableStore(f"certificate {number} of {len(ders)} is damaged") from None
    return ders


def parse_private_key(text: str, password: str | None) -> bytes:
    """Return the only private key of a PEM text, decrypted, as PKCS8 in DER.

    Raises:
        UnreadableStore: there is not exactly one key, it is damaged, or the password is wrong. The message does not
            quote the key.
    """
    keys = [(label, body) for label, body in _blocks(text) if label.endswith("PRIVATE KEY")]
    if len(keys) != 1:
        raise UnreadableStore(f"expected one private key (-----BEGIN PRIVATE KEY-----), found {len(keys)}")
    label, body = keys[0]
    if ":" in body:  # headers of the traditional encryption, each on its own line
        block = f"-----BEGIN {label}-----\n{body.strip()}\n-----END {label}-----\n"
        encrypted = "ENCRYPTED" in body
    else:
        der = _decode_base64(body)
        check_iterations(der)
        block, encrypted = encode_pem(label, der), label.startswith("ENCRYPTED")
    return _decrypt(block.encode(), password, encrypted)


def _decrypt(block: bytes, password: str | None, encrypted: bool) -> bytes:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_pem_private_key,
    )

    if encrypted and not password:
        raise UnreadableStore("the private key is encrypted, but no password is set", StorePart.KEY_PASSWORD)
    try:
        with catch_rust_panic("the private key is damaged"):
            key = load_pem_private_key(block, password.encode() if encrypted and password else None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        if encrypted:
            raise UnreadableStore(
                "the private key cannot be decrypted with this password", StorePart.KEY_PASSWORD
            ) from None
        raise UnreadableStore("the private key is damaged, or its type is not supported") from None
    return key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


def _blocks(text: str) -> list[tuple[str, str]]:
    normalized = text.replace("\\n", "\n").replace("\r\n", "\n").replace("\r", "\n")
    blocks: list[tuple[str, str]] = []
    begin: re.Match[str] | None = None
    for boundary in _BOUNDARY.finditer(normalized):
        if boundary[1] == "BEGIN" and begin is not None:
            break
        if boundary[1] == "BEGIN":
            begin = boundary
        elif begin is not None and begin[2] == boundary[2]:
            blocks.append((boundary[2], normalized[begin.end() : boundary.start()]))
            begin = None
    if begin is not None or (not blocks and "-----BEGIN" in normalized):
        raise UnreadableStore("it is truncated: a -----BEGIN line has no matching -----END line")
    return blocks


def _decode_base64(body: str) -> bytes:
    try:
        return base64.b64decode("".join(body.split()), validate=True)
    except ValueError:
        raise UnreadableStore("a PEM block is not valid base64; it may be truncated") from None
