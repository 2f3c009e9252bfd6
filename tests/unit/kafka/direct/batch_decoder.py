"""Decode record batches slowly, field by field, as the documentation of Kafka's protocol lays them out."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import google_crc32c

from kafka_sql.kafka.direct.batch_layout import HEADER
from kafka_sql.kafka.direct.compression import decompress

_NAMES = ("attributes", "last", "first_time", "last_time", "producer", "epoch", "sequence", "count")
_CODEC = 7  # bits of the attributes


class Record(NamedTuple):
    """A record."""

    key: bytes | None
    value: bytes | None
    timestamp: int | None
    headers: list[tuple[str | None, bytes | None]]


def decode_batch(content: bytes) -> tuple[dict[str, Any], list[Record]]:
    """Return the header fields of a batch, and its records."""
    _, length, _, magic, checksum = struct.unpack_from(">qiibI", content)
    assert (length, magic) == (len(content) - 12, 2)
    assert checksum == google_crc32c.value(content[21:])
    header = dict(zip(_NAMES, struct.unpack_from(">hiqqqhii", content, 21), strict=True))
    assert header["last"] == header["count"] - 1
    codec, records = header["attributes"] & _CODEC, content[HEADER:]
    if codec:
        records = decompress(codec, memoryview(records), 1 << 30)
    return header, decode_records(records, header["count"], header["first_time"])


def decode_records(content: bytes, count: int, first_timestamp: int) -> list[Record]:
    """Return the records of a batch, which must be all of the content."""
    records, at = [], 0
    for offset in range(count):
        size, at = _read_varint(content, at)
        end = at + size
        assert content[at] == 0  # attributes
        delta, at = _read_varint(content, at + 1)
        offset_delta, at = _read_varint(content, at)
        assert offset_delta == offset
        key, at = _read_bytes(content, at)
        value, at = _read_bytes(content, at)
        header_count, at = _read_varint(content, at)
        headers: list[tuple[str | None, bytes | None]] = []
        for _ in range(header_count):
            name, at = _read_bytes(content, at)
            assert name is not None
            header, at = _read_bytes(content, at)
            headers.append((name.decode(), header))
        assert at == end
        records.append(Record(key, value, first_timestamp + delta, headers))
    assert at == len(content)
    return records


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a VARINT and the next position."""
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at


def _read_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = _read_varint(data, at)
    return (None, at) if size < 0 else (data[at : at + size], at + size)
