"""PEM text as people have it: with CRLF, on one line, with ``\\n`` spelled out, or with words between the blocks."""

from __future__ import annotations

import base64
import re
import textwrap
from typing import Final

from kafka_sql.stores.errors import Part, UnreadableStore, unless_it_panics
from kafka_sql.stores.kdf_limits import check_rounds

_EDGE: Final = re.compile(r"-----(BEGIN|END) ([A-Z0-9 ]{1,64})-----")
_CERTIFICATES: Final = ("CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CERTIFICATE")


def pem(label: str, der: bytes) -> str:
    """One block."""
    body = "\n".join(textwrap.wrap(base64.b64encode(der).decode(), 64))
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n"


def certificates(text: str) -> list[bytes]:
    """The certificates of a text, each as DER.

    Raises:
        UnreadableStore: there is none, or one is damaged.
    """
    found = [_der(body) for label, body in _blocks(text) if label in _CERTIFICATES]
    if not found:
        raise UnreadableStore("it has no certificate: expected -----BEGIN CERTIFICATE-----")
    return check(found)


def check(ders: list[bytes]) -> list[bytes]:
    """The same certificates, each of which can be read.

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


def private_key(text: str, password: str | None) -> bytes:
    """The one private key of a text, decrypted, as PKCS8 in DER.

    Raises:
        UnreadableStore: there is none, it is damaged, or the password does not fit. Nothing of it is quoted.
    """
    keys = [(label, body) for label, body in _blocks(text) if label.endswith("PRIVATE KEY")]
    if len(keys) != 1:
        raise UnreadableStore(f"expected one private key (-----BEGIN PRIVATE KEY-----), found {len(keys)}")
    label, body = keys[0]
    if ":" in body:  # headers of the old encryption, which stand on lines of their own
        block = f"-----BEGIN {label}-----\n{body.strip()}\n-----END {label}-----\n"
        encrypted = "ENCRYPTED" in body
    else:
        der = _der(body)
        check_rounds(der)
        block, encrypted = pem(label, der), label.startswith("ENCRYPTED")
    return _decrypted(block.encode(), password, encrypted)


def _decrypted(block: bytes, password: str | None, encrypted: bool) -> bytes:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_pem_private_key,
    )

    if encrypted and not password:
        raise UnreadableStore("the private key is encrypted, and no password is given", Part.KEY_PASSWORD)
    try:
        with unless_it_panics("the private key is damaged"):
            key = load_pem_private_key(block, password.encode() if encrypted and password else None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        if encrypted:
            raise UnreadableStore("the private key does not open with this password", Part.KEY_PASSWORD) from None
        raise UnreadableStore("the private key is damaged, or of an unknown kind") from None
    return key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


def _blocks(text: str) -> list[tuple[str, str]]:
    plain = text.replace("\\n", "\n").replace("\r\n", "\n").replace("\r", "\n")
    found: list[tuple[str, str]] = []
    opened: re.Match[str] | None = None
    for edge in _EDGE.finditer(plain):
        if edge[1] == "BEGIN" and opened is not None:
            break
        if edge[1] == "BEGIN":
            opened = edge
        elif opened is not None and opened[2] == edge[2]:
            found.append((edge[2], plain[opened.end() : edge.start()]))
            opened = None
    if opened is not None or (not found and "-----BEGIN" in plain):
        raise UnreadableStore("it is cut off: a -----BEGIN line without its -----END line")
    return found


def _der(body: str) -> bytes:
    try:
        return base64.b64decode("".join(body.split()), validate=True)
    except ValueError:
        raise UnreadableStore("a PEM block is not base 64: is it cut off?") from None
