"""Encode record batches, independently of the direct writer."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import google_crc32c

Headers: TypeAlias = Sequence[tuple[bytes, bytes | None]]


class RecordBatch(NamedTuple):
    """A batch to encode. Offsets are relative to ``base``, timestamps to 1,000 ms."""

    base: int
    rows: Sequence[tuple[int, int, bytes | None, bytes | None]]  # offset, time, key, value
    last: int
    attributes: int = 0
    producer: int = -1
    epoch: int = 3
    headers: Sequence[Headers] | None = None  # of each row; None for one header in each

    def encode(self) -> bytes:
        """Encode the batch as in a Fetch response."""
        headers = self.headers or [[(b"name", b"value")]] * len(self.rows)
        records = b"".join(
            with_length(
                b"\0"
                + varint(time)
                + varint(offset)
                + with_length(key)
                + with_length(value)
                + varint(len(row_headers))
                + b"".join(with_length(name) + with_length(content) for name, content in row_headers)
            )
            for (offset, time, key, value), row_headers in zip(self.rows, headers, strict=True)
        )
        counted = struct.pack(
            ">hiqqqhii", self.attributes, self.last, 1_000, 9_000, self.producer, 0, 0, len(self.rows)
        )
        checked = counted + records
        return struct.pack(">qiibI", self.base, len(checked) + 9, self.epoch, 2, google_crc32c.value(checked)) + checked


def varint(value: int) -> bytes:
    """Encode a VARINT."""
    rest, out = (value << 1) ^ (value >> 63), bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def with_length(content: bytes | None) -> bytes:
    """Encode nullable bytes with a VARINT length."""
    return varint(-1) if content is None else varint(len(content)) + content
