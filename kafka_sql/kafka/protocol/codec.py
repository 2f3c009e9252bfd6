"""Encode and decode the primitive types of Kafka's protocol: https://kafka.apache.org/protocol#protocol_types."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Any, Final, TypeVar

T = TypeVar("T")


class ApiKey(IntEnum):
    """The requests that this package knows, by the numbers of https://kafka.apache.org/protocol#protocol_api_keys."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    DESCRIBE_GROUPS = 15
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    INIT_PRODUCER_ID = 22
    ADD_PARTITIONS_TO_TXN = 24
    END_TXN = 26
    DESCRIBE_CONFIGS = 32
    SASL_AUTHENTICATE = 36
    DESCRIBE_PRODUCERS = 61
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    DESCRIBE_TOPIC_PARTITIONS = 75

    @property
    def title(self) -> str:
        """The name in Kafka's documentation, such as "FindCoordinator"."""
        return "".join(word.capitalize() for word in self.name.split("_"))


_FIRST_FLEXIBLE_VERSIONS: Final[Mapping[ApiKey, int]] = {
    ApiKey.PRODUCE: 9,
    ApiKey.FETCH: 12,
    ApiKey.LIST_OFFSETS: 6,
    ApiKey.METADATA: 9,
    ApiKey.OFFSET_COMMIT: 8,
    ApiKey.OFFSET_FETCH: 6,
    ApiKey.FIND_COORDINATOR: 3,
    ApiKey.DESCRIBE_GROUPS: 5,
    ApiKey.API_VERSIONS: 3,
    ApiKey.INIT_PRODUCER_ID: 2,
    ApiKey.ADD_PARTITIONS_TO_TXN: 3,
    ApiKey.END_TXN: 3,
    ApiKey.SASL_AUTHENTICATE: 2,
    ApiKey.DESCRIBE_PRODUCERS: 0,
    ApiKey.DESCRIBE_TRANSACTIONS: 0,
    ApiKey.LIST_TRANSACTIONS: 0,
}
# Before these versions, a broker that throttles a client delays its response instead (KIP-219).
_FIRST_VERSIONS_THROTTLED_BY_CLIENT: Final[Mapping[ApiKey, int]] = {
    ApiKey.PRODUCE: 6,
    ApiKey.FETCH: 8,
    ApiKey.LIST_OFFSETS: 3,
    ApiKey.METADATA: 6,
    ApiKey.OFFSET_COMMIT: 4,
    ApiKey.OFFSET_FETCH: 4,
    ApiKey.FIND_COORDINATOR: 2,
    ApiKey.DESCRIBE_GROUPS: 2,
    ApiKey.API_VERSIONS: 2,
    ApiKey.INIT_PRODUCER_ID: 1,
    ApiKey.ADD_PARTITIONS_TO_TXN: 1,
    ApiKey.END_TXN: 1,
}


def is_flexible(key: ApiKey, version: int) -> bool:
    """Return whether a version of an API has compact types and tagged fields (KIP-482)."""
    return version >= _FIRST_FLEXIBLE_VERSIONS.get(key, 1 << 15)


def is_throttled_by_client(key: ApiKey, version: int) -> bool:
    """Return whether the client, and not the broker, has to wait for the throttle time of a response."""
    return version >= _FIRST_VERSIONS_THROTTLED_BY_CLIENT.get(key, 0)


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
        """Create a reader at the start of the body.

        Args:
            throttle: receives the throttle time.
        """
        self._body, self._at = memoryview(body), 0
        self.version, self.flexible, self._throttle = version, flexible, throttle

    def throttle_time(self) -> int:
        """Read the throttle time in milliseconds. The connection waits for it if the client has to (KIP-219)."""
        milliseconds: int = self.number("i")
        self._throttle(milliseconds)
        return milliseconds

    def number(self, layout: str) -> Any:
        """Read one number: b, h, i or q, or ? for a boolean."""
        (value,) = struct.unpack(">" + layout, self._bytes(struct.calcsize(">" + layout)))
        return value

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
