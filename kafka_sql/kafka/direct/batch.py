"""Encode the header of record batches.

Layout: https://kafka.apache.org/documentation/#recordbatch.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Mapping
from typing import Final, NamedTuple

import google_crc32c
import numpy as np
import numpy.typing as npt

from kafka_sql.kafka.protocol.codec import uvarint

HEADER: Final = 61  # bytes before the first record
CHECKED: Final = 21  # bytes before the part that the checksum covers
_COUNTED: Final = 12  # bytes before the part that the batch length covers
_MAGIC: Final = 2
_TRANSACTIONAL: Final = 0x10
_SEQUENCES: Final = 2**31  # sequence numbers wrap around to 0


class ProducerIdAndEpoch(NamedTuple):
    """The identity of a producer.

    Attributes:
        transactional_id: None outside of transactions.
    """

    id: int
    epoch: int
    transactional_id: str | None = None


class Batch(NamedTuple):
    """A closed batch.

    Attributes:
        head, body: its bytes, in two parts to avoid a copy. They no longer change.
        since: when it was closed, in seconds of ``time.monotonic``.
    """

    partition: int
    head: bytes
    body: memoryview
    records: int
    since: float

    @property
    def size(self) -> int:
        """Size in bytes."""
        return len(self.head) + len(self.body)


def next_sequence(sequence: int, records: int) -> int:
    """Return the sequence number of the next batch."""
    return (sequence + records) % _SEQUENCES


def close_batch(
    partition: int, content: npt.NDArray[np.uint8], records: int, producer: ProducerIdAndEpoch, sequence: int
) -> Batch:
    """Write the header and return the batch.

    Args:
        content: space for the header, then the records. The batch takes ownership.
        sequence: the sequence number of the first record.
    """
    now, transactional = int(time.time() * 1000), _TRANSACTIONAL if producer.transactional_id is not None else 0
    middle = (transactional, records - 1, now, now, producer.id, producer.epoch, sequence, records)
    struct.pack_into(">hiqqqhii", content.data, CHECKED, *middle)
    body = content[CHECKED:]
    head = struct.pack(">qiibI", 0, len(content) - _COUNTED, -1, _MAGIC, google_crc32c.value(body))
    return Batch(partition, head, body.data, records, time.monotonic())


def small_batch(
    partition: int, records: Mapping[str, bytes | None], producer: ProducerIdAndEpoch, sequence: int
) -> Batch:
    """Return a batch of a few records by key; None makes a tombstone."""
    content = bytearray(HEADER)
    for offset, (key, value) in enumerate(records.items()):
        # attributes and timestamp delta are 0; no headers
        record = b"\0\0" + _varint(offset) + _with_length(key.encode()) + _with_length(value) + b"\0"
        content += _with_length(record)
    return close_batch(partition, np.frombuffer(content, np.uint8), len(records), producer, sequence)


def _with_length(data: bytes | None) -> bytes:
    return _varint(-1) if data is None else _varint(len(data)) + data


def _varint(value: int) -> bytes:
    """Encode a VARINT (zigzag, as sint32 of Protocol Buffers)."""
    return uvarint(value << 1 if value >= 0 else ~(value << 1))
