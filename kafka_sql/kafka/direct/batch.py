"""Record batches: the open one of a partition, and those that are closed and on their way."""

from __future__ import annotations

import struct
import time
from typing import Final, NamedTuple

import google_crc32c
import numpy as np
import numpy.typing as npt

from kafka_sql.kafka.direct.kernels import RECORDS

HEADER: Final = 61  # bytes before the first record
_CHECKED: Final = 21  # of them are before what the checksum is of
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
        head, body: its bytes, in two parts so that they are copied once.
        since: when it was closed, in seconds of ``time.monotonic``.
    """

    partition: int
    head: bytes
    body: bytes
    records: int
    since: float

    @property
    def size(self) -> int:
        """In bytes."""
        return len(self.head) + len(self.body)


class OpenBatches:
    """Those of a topic's partitions, which ``kernels.pack`` fills."""

    def __init__(self, partitions: int, size: int) -> None:
        """
        Args:
            size: bytes of a batch; one record that is larger has one of its own.
        """
        self.places = np.zeros((partitions, 3), np.int64)
        self._size = size
        self._memory: dict[int, npt.NDArray[np.uint8]] = {}

    def begin(self, partition: int, least: int) -> None:
        """Open a partition's next batch, with room for a record of ``least`` bytes."""
        size = max(self._size, HEADER + least)
        memory = self._memory.get(partition)
        if memory is None or len(memory) < size:
            memory = self._memory[partition] = np.empty(size, np.uint8)
        start = memory.ctypes.data
        self.places[partition] = start + HEADER, start + size, 0

    def close(self, partition: int, sender: Sender, sequence: int) -> Batch:
        """The open batch of a partition, which must have records."""
        memory, (at, _, records) = self._memory[partition], self.places[partition].tolist()
        size, now = at - memory.ctypes.data, int(time.time() * 1000)
        attributes = _TRANSACTIONAL if sender.transaction is not None else 0
        middle = (attributes, records - 1, now, now, sender.id, sender.epoch, sequence, records)
        struct.pack_into(">hiqqqhii", memory.data, _CHECKED, *middle)
        body = memory[_CHECKED:size].tobytes()
        head = struct.pack(">qiibI", 0, size - _COUNTED, -1, _MAGIC, google_crc32c.value(body))
        self.places[partition] = 0
        return Batch(partition, head, body, records, time.monotonic())

    def filled(self) -> list[int]:
        """The partitions whose open batch has records."""
        found: list[int] = np.flatnonzero(self.places[:, RECORDS]).tolist()
        return found


def sequence_after(sequence: int, records: int) -> int:
    """The next batch's."""
    return (sequence + records) % _SEQUENCES
