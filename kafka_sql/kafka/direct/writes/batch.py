"""Encode the header of record batches.

Layout: https://kafka.apache.org/documentation/#recordbatch.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import google_crc32c
import numpy as np
import numpy.typing as npt

from kafka_sql.kafka.direct.batch_layout import CHECKED, HEADER, UNCOUNTED
from kafka_sql.kafka.protocol.codec import uvarint

_MAGIC: Final = 2
_TRANSACTIONAL: Final = 0x10
_LAST_EPOCH: Final = 32_767
_SEQUENCES: Final = 2**31  # sequence numbers wrap around to 0


class ProducerIdAndEpoch(NamedTuple):
    """The identity of a producer."""

    id: int
    epoch: int
    transactional_id: str | None = None  # None outside of transactions

    def next_epoch(self) -> ProducerIdAndEpoch | None:
        """Return the identity with the next epoch; None after the last epoch."""
        return self._replace(epoch=self.epoch + 1) if self.epoch < _LAST_EPOCH else None


NO_PRODUCER: Final = ProducerIdAndEpoch(-1, -1)  # of batches without sequence numbers ('enable.idempotence' = 'false')


@dataclass(eq=False)
class Batch:
    """A closed batch."""

    topic: str
    partition: int
    records: int
    content: npt.NDArray[np.uint8]  # space for the header, then the records, which no longer change
    codec: int = 0
    first_timestamp: int = -1  # of its records, in milliseconds since 1970
    max_timestamp: int = -1  # of its records, in milliseconds since 1970
    created: float = 0.0  # when its first record was added, in seconds of ``time.monotonic``
    sequence: int = -1  # the sequence number of its first record; -1 until ``write_header`` is called, or without one
    sends: int = 0
    tries: int = 0  # how often it was sent, or could not be sent because its leader was unknown or unreachable
    may_be_written: bool = False  # whether a leader may have written it although it was not acknowledged
    head: bytes = b""  # the first ``CHECKED`` bytes of the encoded batch; empty until ``write_header`` is called

    @property
    def size(self) -> int:
        return len(self.content)

    @property
    def body(self) -> memoryview:
        """The bytes after ``head``. Both parts are sent without a copy."""
        return self.content[CHECKED:].data

    def write_header(self, producer: ProducerIdAndEpoch, sequence: int) -> None:
        """Write the header, with the producer's identity and the sequence number of the first record."""
        attributes = self.codec | (_TRANSACTIONAL if producer.transactional_id is not None else 0)
        timestamps = self.first_timestamp, self.max_timestamp
        fields = (attributes, self.records - 1, *timestamps, producer.id, producer.epoch, sequence, self.records)
        struct.pack_into(">hiqqqhii", self.content.data, CHECKED, *fields)
        checksum = google_crc32c.value(self.content[CHECKED:])
        self.head = struct.pack(">qiibI", 0, len(self.content) - UNCOUNTED, -1, _MAGIC, checksum)
        self.sequence = sequence


def next_sequence(sequence: int, records: int) -> int:
    """Return the sequence number of the next batch."""
    return (sequence + records) % _SEQUENCES


def small_batch(topic: str, partition: int, records: Mapping[str, bytes | None]) -> Batch:
    """Return a batch of a few records by key; None makes a tombstone."""
    content = bytearray(HEADER)
    for offset, (key, value) in enumerate(records.items()):
        # attributes and timestamp delta are 0; no headers
        record = b"\0\0" + _varint(offset) + _with_length(key.encode()) + _with_length(value) + b"\0"
        content += _with_length(record)
    now = int(time.time() * 1000)
    return Batch(
        topic,
        partition,
        len(records),
        np.frombuffer(content, np.uint8),
        first_timestamp=now,
        max_timestamp=now,
        created=time.monotonic(),
    )


def _with_length(data: bytes | None) -> bytes:
    return _varint(-1) if data is None else _varint(len(data)) + data


def _varint(value: int) -> bytes:
    """Encode a VARINT (zigzag, as sint32 of Protocol Buffers)."""
    return uvarint(value << 1 if value >= 0 else ~(value << 1))
