"""Limit the iterations of key derivation functions (KDF): a crafted file must not keep a process busy for hours.

Format: RFC 7292 (PKCS12) and RFC 8018 (PBES2). In both, the iteration count follows the salt in a SEQUENCE.
"""

from __future__ import annotations

from typing import Final

from kafka_sql.stores.errors import UnreadableStore

_MAX_ITERATIONS: Final = 5_000_000  # the limit of Java's PKCS12 key store; takes a second or two
_MAX_DEPTH: Final = 32
_INTEGER, _OCTET_STRING, _CONSTRUCTED = 0x02, 0x04, 0x20


def check_iterations(der: bytes) -> None:
    """Check that a key store does not require more KDF iterations than Java accepts.

    Raises:
        UnreadableStore: it requires more.
    """
    _scan_der(memoryview(der), 0)


def _scan_der(data: memoryview, depth: int) -> None:
    """Check the elements of DER data, and of OCTET STRINGs that contain DER."""
    offset, previous_tag = 0, 0
    while offset + 2 <= len(data) and depth < _MAX_DEPTH:
        tag, size, start = data[offset], data[offset + 1], offset + 2
        if size & 0x80:
            size_bytes = size & 0x7F
            size, start = int.from_bytes(data[start : start + size_bytes], "big"), start + size_bytes
            if not 0 < size_bytes <= 8:
                size = len(data) - start  # indefinite length: up to the end
        if size > len(data) - start:
            return
        content = data[start : start + size]
        if tag == _INTEGER and previous_tag == _OCTET_STRING and int.from_bytes(content[:9], "big") > _MAX_ITERATIONS:
            raise UnreadableStore(
                f"it needs more than {_MAX_ITERATIONS:,} iterations of key derivation, which is not supported"
            )
        if tag & _CONSTRUCTED or (tag == _OCTET_STRING and content[0:1].tobytes() == b"\x30"):
            _scan_der(content, depth + 1)
        offset, previous_tag = start + size, tag
