"""Java's own key store (JKS): an SHA-1 digest over password and content, and keys under a keystream of SHA-1.

Layout: the class sun.security.provider.JavaKeyStore and KeyProtector of OpenJDK.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass
from typing import Final

from kafka_sql.stores.errors import Part, UnreadableStore

MAGIC: Final = b"\xfe\xed\xfe\xed"
JCEKS: Final = b"\xce\xce\xce\xce"
_DIGEST: Final = 20
_WORDS: Final = b"Mighty Aphrodite"  # what Java puts between password and content
_KEY, _CERTIFICATE = 1, 2


@dataclass(frozen=True)
class Entries:
    """What a store has, as DER.

    Attributes:
        keys: protected keys (EncryptedPrivateKeyInfo), each with its chain of certificates.
        trusted: certificates that stand for themselves.
    """

    keys: list[tuple[bytes, list[bytes]]]
    trusted: list[bytes]


def read(data: bytes, password: str | None) -> Entries:
    """The entries of a store.

    Args:
        password: None leaves the digest unchecked, as in Java.

    Raises:
        UnreadableStore: the password is wrong, or the file is damaged.
    """
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    if password is not None:
        expected = hashlib.sha1(_utf16(password) + _WORDS + body).digest()
        if not hmac.compare_digest(expected, digest):
            raise UnreadableStore("the store's password is wrong, or the file is damaged or cut off", Part.PASSWORD)
    try:
        return _entries(_Reader(body))
    except struct.error:
        raise UnreadableStore("the JKS file is damaged or cut off") from None


def unprotect(protected: bytes, password: str) -> bytes:
    """A private key as PKCS8 in DER.

    Raises:
        UnreadableStore: the key's password is another one.
    """
    try:
        _, start, _ = _tlv(protected, 0)
        _, _, end = _tlv(protected, start)  # the algorithm, of which there is only one
        _, first, last = _tlv(protected, end)
    except IndexError:
        raise UnreadableStore("the private key in the JKS file is damaged") from None
    blob = protected[first:last]
    salt, hidden, check = blob[:_DIGEST], blob[_DIGEST:-_DIGEST], blob[-_DIGEST:]
    stream, words, plain = salt, _utf16(password), bytearray()
    while len(plain) < len(hidden):
        stream = hashlib.sha1(words + stream).digest()
        part = hidden[len(plain) : len(plain) + _DIGEST]
        plain += bytes(a ^ b for a, b in zip(part, stream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(words + plain).digest(), check):
        raise UnreadableStore("the private key does not open with this password", Part.KEY_PASSWORD)
    return bytes(plain)


def _entries(reader: _Reader) -> Entries:
    found = Entries([], [])
    reader.take(4)
    version, count = reader.number(), reader.number()
    if version not in (1, 2):
        raise UnreadableStore(f"JKS of version {version} is not known")
    for _ in range(count):
        tag = reader.number()
        reader.text()  # its alias
        reader.take(8)  # when it was made
        if tag == _KEY:
            key = reader.take(reader.number())
            found.keys.append((key, [reader.certificate(version) for _ in range(reader.number())]))
        elif tag == _CERTIFICATE:
            found.trusted.append(reader.certificate(version))
        else:
            raise UnreadableStore("the JKS file is damaged: an entry is neither key nor certificate")
    return found


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, count: int) -> bytes:
        part = self._data[self._at : self._at + count]
        if len(part) < count:
            raise struct.error("end of data")
        self._at += count
        return part

    def number(self) -> int:
        return int(struct.unpack(">I", self.take(4))[0])

    def text(self) -> bytes:
        return self.take(struct.unpack(">H", self.take(2))[0])  # in Java's own kind of UTF-8

    def certificate(self, version: int) -> bytes:
        if version == 2:
            self.text()
        return self.take(self.number())


def _tlv(data: bytes, at: int) -> tuple[int, int, int]:
    """Tag, start and end of the content of a DER element."""
    tag, size = data[at], data[at + 1]
    at += 2
    if size & 0x80:
        count = size & 0x7F
        size = int.from_bytes(data[at : at + count], "big")
        at += count
    return tag, at, at + size


def _utf16(password: str) -> bytes:
    return password.encode("utf-16-be", "surrogatepass")
