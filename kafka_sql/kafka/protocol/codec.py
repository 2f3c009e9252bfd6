"""Encode and decode the primitive types of Kafka's protocol: https://kafka.apache.org/protocol#protocol_types."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Any, Final, TypeVar

T = TypeVar("T")

_NEVER: Final = 1 << 15


class ApiKey(IntEnum):
    """The requests that this package knows, by the numbers of https://kafka.apache.org/protocol#protocol_api_keys.

    Attributes:
        first_flexible: the first version with compact types and tagged fields (KIP-482).
        first_throttled: the first version for which the client waits for the throttle time. For older ones, a broker
            delays its response instead (KIP-219).
    """

    first_flexible: int
    first_throttled: int

    def __new__(cls, number: int, first_flexible: int = _NEVER, first_throttled: int = 0) -> ApiKey:
        """Create a key with these versions of its API."""
        member = int.__new__(cls, number)
        member._value_, member.first_flexible, member.first_throttled = number, first_flexible, first_throttled
        return member

    PRODUCE = 0, 9, 6
    FETCH = 1, 12, 8
    LIST_OFFSETS = 2, 6, 3
    METADATA = 3, 9, 6
    OFFSET_COMMIT = 8, 8, 4
    OFFSET_FETCH = 9, 6, 4
    FIND_COORDINATOR = 10, 3, 2
    DESCRIBE_GROUPS = 15, 5, 2
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18, 3, 2
    CREATE_TOPICS = 19
    INIT_PRODUCER_ID = 22, 2, 1
    ADD_PARTITIONS_TO_TXN = 24, 3, 1
    END_TXN = 26, 3, 1
    DESCRIBE_CONFIGS = 32
    SASL_AUTHENTICATE = 36, 2
    DESCRIBE_PRODUCERS = 61, 0
    DESCRIBE_TRANSACTIONS = 65, 0
    LIST_TRANSACTIONS = 66, 0
    DESCRIBE_TOPIC_PARTITIONS = 75

    @property
    def title(self) -> str:
        """The name in Kafka's documentation, such as "FindCoordinator"."""
        return "".join(word.capitalize() for word in self.name.split("_"))


def is_flexible(key: ApiKey, version: int) -> bool:
    """Return whether a version of an API has compact types and tagged fields (KIP-482)."""
    return version >= key.first_flexible


class MalformedResponse(ConnectionError):
    """The response violates the protocol. The connection cannot be used any longer."""


def pack(layout: str, *values: Any) -> bytes:
    """Encode numbers: b, h, i and q for INT8 to INT64, ? for BOOLEAN."""
    return struct.pack(">" + layout, *values)


def string(text: str | None, flexible: bool = False) -> bytes:
    """Encode a NULLABLE_STRING; in a flexible version, a COMPACT_NULLABLE_STRING."""
    if text is None:
        return _length(-1, "h", flexible)
    content = text.encode()
    return _length(len(content), "h", flexible) + content


def data(content: bytes, flexible: bool = False) -> bytes:
    """Encode BYTES; in a flexible version, COMPACT_BYTES."""
    return data_length(len(content), flexible) + content


def data_length(length: int, flexible: bool) -> bytes:
    """Encode the part of BYTES or COMPACT_BYTES that precedes the content."""
    return _length(length, "i", flexible)


def array(items: Iterable[bytes], flexible: bool = False) -> bytes:
    """Encode an ARRAY of encoded items; in a flexible version, a COMPACT_ARRAY."""
    encoded = list(items)
    return array_length(len(encoded), flexible) + b"".join(encoded)


def array_length(length: int, flexible: bool) -> bytes:
    """Encode the part of an ARRAY or COMPACT_ARRAY that precedes the items."""
    return _length(length, "i", flexible)


def tags(flexible: bool) -> bytes:
    """Encode that there are no tagged fields; in versions that are not flexible, nothing."""
    return b"\0" if flexible else b""


def uvarint(value: int) -> bytes:
    """Encode an UNSIGNED_VARINT."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _length(length: int, layout: str, flexible: bool) -> bytes:
    return uvarint(length + 1) if flexible else pack(layout, length)


class Reader:
    """Read the body of a response from start to end. Never allocates memory on the word of a length field alone.

    Attributes:
        version: the version of the API.
        flexible: whether strings, bytes and arrays are compact, and there are tagged fields.
        throttle: takes the throttle time in milliseconds.

    Raises:
        MalformedResponse: by every method, if the body ends early or a string is not UTF-8.
    """

    def __init__(
        self,
        body: bytes | bytearray,
        version: int = 0,
        flexible: bool = False,
        throttle: Callable[[int], None] = lambda milliseconds: None,
    ) -> None:
        """Create a reader at the start of the body."""
        self._body, self._at = memoryview(body), 0
        self.version, self.flexible, self.throttle = version, flexible, throttle

    def number(self, layout: str) -> Any:
        """Read one number: b, h, i or q, or ? for a boolean."""
        (value,) = struct.unpack(">" + layout, self._bytes(struct.calcsize(">" + layout)))
        return value

    def numbers(self, layout: struct.Struct) -> tuple[Any, ...]:
        """Read several numbers."""
        return layout.unpack(self._part(layout.size))

    def string(self) -> str | None:
        """Read a NULLABLE_STRING or COMPACT_NULLABLE_STRING."""
        length = self._length("h")
        try:
            return None if length < 0 else self._bytes(length).decode()
        except UnicodeDecodeError:
            raise MalformedResponse("the response contains a string that is not UTF-8") from None

    def data(self) -> bytes:
        """Read BYTES or COMPACT_BYTES; empty for null."""
        return self._bytes(max(0, self._length("i")))

    def view(self) -> memoryview:
        """Read BYTES or COMPACT_BYTES without copying them; empty for null."""
        return self._part(max(0, self._length("i")))

    def array(self, item: Callable[[], T]) -> list[T]:
        """Read an ARRAY or COMPACT_ARRAY; empty for null."""
        return [item() for _ in range(max(0, self._length("i")))]

    def tags(self) -> None:
        """Skip the tagged fields, which only flexible versions have."""
        if self.flexible:
            for _ in range(self.uvarint()):
                self.uvarint()
                self._bytes(self.uvarint())

    def uvarint(self) -> int:
        """Read an UNSIGNED_VARINT."""
        value = 0
        for shift in range(0, 35, 7):
            byte: int = self.number("B")
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise MalformedResponse("the response contains a varint of more than 5 bytes")

    def _length(self, layout: str) -> int:
        length: int = self.uvarint() - 1 if self.flexible else self.number(layout)
        return length

    def _bytes(self, length: int) -> bytes:
        return bytes(self._part(length))

    def _part(self, length: int) -> memoryview:
        part = self._body[self._at : self._at + length]
        if len(part) < length:
            raise MalformedResponse("the response ends early")
        self._at += length
        return part
