"""How often a store or an encrypted key has its password hashed: a file must not keep a process busy for hours.

Layout: RFC 7292 (PKCS12) and RFC 8018 (PBES2); everywhere the number stands behind the salt in one SEQUENCE.
"""

from __future__ import annotations

from typing import Final

from kafka_sql.stores.errors import UnreadableStore

_MOST: Final = 5_000_000  # as Java's own PKCS12 store; a second or two
_DEEPEST: Final = 32
_INTEGER, _OCTETS, _CONSTRUCTED = 0x02, 0x04, 0x20


def check_rounds(der: bytes) -> None:
    """Refuse a file that asks for more rounds than Java carries out.

    Raises:
        UnreadableStore: it does.
    """
    _look(memoryview(der), 0)


def _look(data: memoryview, depth: int) -> None:
    """Look through the elements of some DER, and through those octets that are DER themselves."""
    at, before = 0, 0
    while at + 2 <= len(data) and depth < _DEEPEST:
        tag, size, start = data[at], data[at + 1], at + 2
        if size & 0x80:
            count = size & 0x7F
            size, start = int.from_bytes(data[start : start + count], "big"), start + count
            if not 0 < count <= 8:
                size = len(data) - start  # without a length: up to the end
        if size > len(data) - start:
            return
        content = data[start : start + size]
        if tag == _INTEGER and before == _OCTETS and int.from_bytes(content[:9], "big") > _MOST:
            raise UnreadableStore(f"it asks for more than {_MOST:,} rounds of hashing, as no store does")
        if tag & _CONSTRUCTED or (tag == _OCTETS and content[0:1].tobytes() == b"\x30"):
            _look(content, depth + 1)
        at, before = start + size, tag
