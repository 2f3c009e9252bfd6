"""Encode and decode the primitive types of Kafka's protocol: https://kafka.apache.org/protocol#protocol_types."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Any, TypeVar

T = TypeVar("T")

NO_TAGS = b"\0"


class ApiKey(IntEnum):
    """The requests that this package knows, by the numbers of https://kafka.apache.org/protocol#protocol_api_keys."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    FIND_COORDINATOR = 10
    DESCRIBE_GROUPS = 15
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    INIT_PRODUCER_ID = 22
    ADD_PARTITIONS_TO_TXN = 24
    END_TXN = 26
    SASL_AUTHENTICATE = 36
    DESCRIBE_PRODUCERS = 61
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66

    @property
    def title(self) -> str:
        """The name in Kafka's documentation, such as "FindCoordinator"."""
        return "".join(word.capitalize() for word in self.name.split("_"))


class MalformedResponse(ConnectionError):
    """The response violates the protocol. The connection cannot be used any longer."""


def pack(layout: str, *values: Any) -> bytes:
    """Encode numbers: b, h, i and q for INT8 to INT64, ? for BOOLEAN."""
    return struct.pack(">" + layout, *values)


def string(text: str | None) -> bytes:
    """Encode a NULLABLE_STRING."""
    if text is None:
        return pack("h", -1)
    data = text.encode()
    return pack("h", len(data)) + data


def data(content: bytes) -> bytes:
    """Encode BYTES."""
    return pack("i", len(content)) + content


def uvarint(value: int) -> bytes:
    """Encode an UNSIGNED_VARINT."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def compact_string(text: str) -> bytes:
    """Encode a COMPACT_STRING."""
    content = text.encode()
    return uvarint(len(content) + 1) + content


def compact_array(items: Iterable[bytes]) -> bytes:
    """Encode a COMPACT_ARRAY of encoded items."""
    encoded = list(items)
    return uvarint(len(encoded) + 1) + b"".join(encoded)


class Reader:
    """Read the body of a response from start to end. Never allocates memory on the word of a length field alone.

    Raises:
        MalformedResponse: by every method, if the body ends early or a string is not UTF-8.
    """

    def __init__(self, body: bytes | bytearray) -> None:
        self._body, self._at = memoryview(body), 0

    def number(self, layout: str) -> Any:
        """Read one number: b, h, i or q, or ? for a boolean."""
        (value,) = struct.unpack(">" + layout, self._bytes(struct.calcsize(">" + layout)))
        return value

    def string(self) -> str | None:
        """Read a NULLABLE_STRING."""
        length = self.number("h")
        return None if length < 0 else self._text(length)

    def data(self) -> bytes:
        """Read BYTES; empty for null."""
        return self._bytes(max(0, self.number("i")))

    def view(self) -> memoryview:
        """Read BYTES without copying them; empty for null."""
        return self._part(max(0, self.number("i")))

    def array(self, item: Callable[[], T]) -> list[T]:
        """Read an ARRAY."""
        return [item() for _ in range(max(0, self.number("i")))]

    def uvarint(self) -> int:
        """Read an UNSIGNED_VARINT."""
        value = 0
        for shift in range(0, 35, 7):
            byte: int = self.number("B")
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise MalformedResponse("the response contains a varint of more than 5 bytes")

    def compact_string(self) -> str | None:
        """Read a COMPACT_NULLABLE_STRING."""
        length = self.uvarint()
        return None if length == 0 else self._text(length - 1)

    def compact_array(self, item: Callable[[], T]) -> list[T]:
        """Read a COMPACT_ARRAY; empty for null."""
        return [item() for _ in range(max(0, self.uvarint() - 1))]

    def tags(self) -> None:
        """Skip the tagged fields."""
        for _ in range(self.uvarint()):
            self.uvarint()
            self._bytes(self.uvarint())

    def _text(self, length: int) -> str:
        try:
            return self._bytes(length).decode()
        except UnicodeDecodeError:
            raise MalformedResponse("the response contains a string that is not UTF-8") from None

    def _bytes(self, length: int) -> bytes:
        return bytes(self._part(length))

    def _part(self, length: int) -> memoryview:
        part = self._body[self._at : self._at + length]
        if len(part) < length:
            raise MalformedResponse("the response ends early")
        self._at += length
        return part
