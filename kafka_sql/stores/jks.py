"""Read Java key stores (JKS): an SHA-1 digest over password and content; keys encrypted with an SHA-1 keystream.

Format: classes sun.security.provider.JavaKeyStore and KeyProtector of OpenJDK.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass
from typing import Final

from kafka_sql.stores.errors import StorePart, UnreadableStore

MAGIC: Final = b"\xfe\xed\xfe\xed"
JCEKS: Final = b"\xce\xce\xce\xce"
_DIGEST: Final = 20
_DIGEST_SALT: Final = b"Mighty Aphrodite"  # Java inserts it between password and content
_KEY, _CERTIFICATE = 1, 2


@dataclass(frozen=True)
class Entries:
    """The entries of a store, as DER."""

    keys: list[tuple[bytes, list[bytes]]]  # encrypted keys (EncryptedPrivateKeyInfo), each with its certificate chain
    trusted_certificates: list[bytes]  # certificates without a key


def read(data: bytes, password: str | None) -> Entries:
    """Return the entries of a store.

    Args:
        password: password of the store. With None, the digest is not checked, as in Java.

    Raises:
        UnreadableStore: the password is wrong, or the file is damaged.
    """
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    if password is not None:
        expected = hashlib.sha1(_utf16(password) + _DIGEST_SALT + body).digest()
        if not hmac.compare_digest(expected, digest):
            raise UnreadableStore(
                "the store's password is wrong, or the file is damaged or truncated", StorePart.PASSWORD
            )
    try:
        return _read_entries(_Reader(body))
    except struct.error:
        raise UnreadableStore("the JKS file is damaged or truncated") from None


def decrypt_key(encrypted: bytes, password: str) -> bytes:
    """Return a decrypted private key as PKCS8 in DER.

    Raises:
        UnreadableStore: the password is wrong, or the key is damaged.
    """
    try:
        _, start, _ = _tlv(encrypted, 0)
        _, _, end = _tlv(encrypted, start)  # skip the algorithm; there is only one
        _, start, end = _tlv(encrypted, end)
    except IndexError:
        raise UnreadableStore("the private key in the JKS file is damaged") from None
    content = encrypted[start:end]
    salt, ciphertext, digest = content[:_DIGEST], content[_DIGEST:-_DIGEST], content[-_DIGEST:]
    keystream, password_bytes, plaintext = salt, _utf16(password), bytearray()
    while len(plaintext) < len(ciphertext):
        keystream = hashlib.sha1(password_bytes + keystream).digest()
        part = ciphertext[len(plaintext) : len(plaintext) + _DIGEST]
        plaintext += bytes(a ^ b for a, b in zip(part, keystream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(password_bytes + plaintext).digest(), digest):
        raise UnreadableStore("the private key cannot be decrypted with this password", StorePart.KEY_PASSWORD)
    return bytes(plaintext)


def _read_entries(reader: _Reader) -> Entries:
    entries = Entries([], [])
    reader.take(4)
    version, count = reader.number(), reader.number()
    if version not in (1, 2):
        raise UnreadableStore(f"JKS version {version} is not supported")
    for _ in range(count):
        tag = reader.number()
        reader.text()  # alias
        reader.take(8)  # creation time
        if tag == _KEY:
            key = reader.take(reader.number())
            entries.keys.append((key, [reader.certificate(version) for _ in range(reader.number())]))
        elif tag == _CERTIFICATE:
            entries.trusted_certificates.append(reader.certificate(version))
        else:
            raise UnreadableStore("the JKS file is damaged: an entry is neither a key nor a certificate")
    return entries


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._offset = data, 0

    def take(self, count: int) -> bytes:
        part = self._data[self._offset : self._offset + count]
        if len(part) < count:
            raise struct.error("end of data")
        self._offset += count
        return part

    def number(self) -> int:
        return int(struct.unpack(">I", self.take(4))[0])

    def text(self) -> bytes:
        return self.take(struct.unpack(">H", self.take(2))[0])  # in modified UTF-8

    def certificate(self, version: int) -> bytes:
        if version == 2:
            self.text()
        return self.take(self.number())


def _tlv(data: bytes, offset: int) -> tuple[int, int, int]:
    """Return tag, start and end of the content of the DER element at an offset."""
    tag, size = data[offset], data[offset + 1]
    offset += 2
    if size & 0x80:
        count = size & 0x7F
        size = int.from_bytes(data[offset : offset + count], "big")
        offset += count
    return tag, offset, offset + size


def _utf16(password: str) -> bytes:
    return password.encode("utf-16-be", "surrogatepass")
