"""Record batches that are closed and on their way."""

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
CHECKED: Final = 21  # of them are before what the checksum is of
_COUNTED: Final = 12  # and before what the batch's length is of
_MAGIC: Final = 2
_TRANSACTIONAL: Final = 0x10
_SEQUENCES: Final = 2**31  # then they begin again at 0


class Sender(NamedTuple):
    """Who writes, to the brokers' eyes.

    Attributes:
        id, epoch: of the producer.
        transaction: the transactional id; None outside of transactions.
    """

    id: int
    epoch: int
    transaction: str | None = None


class Batch(NamedTuple):
    """A closed batch.

    Attributes:
        head, body: its bytes, in two parts so that they need not be copied; nobody writes to them any more.
        since: when it was closed, in seconds of ``time.monotonic``.
    """

    partition: int
    head: bytes
    body: memoryview
    records: int
    since: float

    @property
    def size(self) -> int:
        """In bytes."""
        return len(self.head) + len(self.body)


def sequence_after(sequence: int, records: int) -> int:
    """The next batch's."""
    return (sequence + records) % _SEQUENCES


def closed(partition: int, content: npt.NDArray[np.uint8], records: int, sender: Sender, sequence: int) -> Batch:
    """A batch.

    Args:
        content: its records, after room for its header, which is filled in; the batch's from now on.
        sequence: of its first record.
    """
    now, transactional = int(time.time() * 1000), _TRANSACTIONAL if sender.transaction is not None else 0
    middle = (transactional, records - 1, now, now, sender.id, sender.epoch, sequence, records)
    struct.pack_into(">hiqqqhii", content.data, CHECKED, *middle)
    body = content[CHECKED:]
    head = struct.pack(">qiibI", 0, len(content) - _COUNTED, -1, _MAGIC, google_crc32c.value(body))
    return Batch(partition, head, body.data, records, time.monotonic())


def small(partition: int, records: Mapping[str, bytes | None], sender: Sender, sequence: int) -> Batch:
    """A batch of a few records, by key; None makes a tombstone."""
    content = bytearray(HEADER)
    for offset, (key, value) in enumerate(records.items()):
        # attributes and the time's distance are 0, there are no headers
        record = b"\0\0" + _varint(offset) + _sized(key.encode()) + _sized(value) + b"\0"
        content += _sized(record)
    return closed(partition, np.frombuffer(content, np.uint8), len(records), sender, sequence)


def _sized(data: bytes | None) -> bytes:
    return _varint(-1) if data is None else _varint(len(data)) + data


def _varint(value: int) -> bytes:
    """As Protocol Buffers' sint32."""
    return uvarint(value << 1 if value >= 0 else ~(value << 1))
