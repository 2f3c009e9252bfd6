"""The types of Kafka's protocol as bytes: https://kafka.apache.org/protocol, "Protocol Primitive Types"."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")

NO_TAGS = b"\0"


class BrokenAnswer(ConnectionError):
    """A response that is not what the protocol says: the connection is of no use any more."""


def pack(layout: str, *values: Any) -> bytes:
    """Numbers: b, h, i and q for INT8 to INT64, ? for BOOLEAN."""
    return struct.pack(">" + layout, *values)


def string(text: str | None) -> bytes:
    """NULLABLE_STRING."""
    if text is None:
        return pack("h", -1)
    data = text.encode()
    return pack("h", len(data)) + data


def data(content: bytes) -> bytes:
    """BYTES."""
    return pack("i", len(content)) + content


def uvarint(value: int) -> bytes:
    """UNSIGNED_VARINT."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def compact_string(text: str) -> bytes:
    """COMPACT_STRING."""
    content = text.encode()
    return uvarint(len(content) + 1) + content


def compact_array(items: Iterable[bytes]) -> bytes:
    """COMPACT_ARRAY of what is encoded already."""
    found = list(items)
    return uvarint(len(found) + 1) + b"".join(found)


class Reader:
    """A response's body, read from the front. Nothing is allocated that a length alone asks for.

    Raises:
        BrokenAnswer: by every method, where the body ends early or is no text where one should be.
    """

    def __init__(self, body: bytes | bytearray) -> None:
        self._body, self._at = memoryview(body), 0

    def number(self, layout: str) -> Any:
        """One number: b, h, i or q, or ? for a boolean."""
        (value,) = struct.unpack(">" + layout, self._bytes(struct.calcsize(">" + layout)))
        return value

    def string(self) -> str | None:
        """NULLABLE_STRING."""
        length = self.number("h")
        return None if length < 0 else self._text(length)

    def data(self) -> bytes:
        """BYTES, empty for null."""
        return self._bytes(max(0, self.number("i")))

    def view(self) -> memoryview:
        """BYTES where they are, empty for null."""
        return self._part(max(0, self.number("i")))

    def array(self, item: Callable[[], T]) -> list[T]:
        """ARRAY."""
        return [item() for _ in range(max(0, self.number("i")))]

    def uvarint(self) -> int:
        """UNSIGNED_VARINT."""
        value = 0
        for shift in range(0, 35, 7):
            byte: int = self.number("B")
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise BrokenAnswer("the response has a number that does not end")

    def compact_string(self) -> str | None:
        """COMPACT_NULLABLE_STRING."""
        length = self.uvarint()
        return None if length == 0 else self._text(length - 1)

    def compact_array(self, item: Callable[[], T]) -> list[T]:
        """COMPACT_ARRAY, empty for null."""
        return [item() for _ in range(max(0, self.uvarint() - 1))]

    def tags(self) -> None:
        """Pass over the tagged fields."""
        for _ in range(self.uvarint()):
            self.uvarint()
            self._bytes(self.uvarint())

    def _text(self, length: int) -> str:
        try:
            return self._bytes(length).decode()
        except UnicodeDecodeError:
            raise BrokenAnswer("the response has a text that is none") from None

    def _bytes(self, length: int) -> bytes:
        return bytes(self._part(length))

    def _part(self, length: int) -> memoryview:
        found = self._body[self._at : self._at + length]
        if len(found) < length:
            raise BrokenAnswer("the response ends early")
        self._at += length
        return found
