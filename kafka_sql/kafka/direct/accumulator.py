"""Collect records in one open batch per partition of a topic."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kafka_sql.kafka.direct.batch import HEADER, Batch, ProducerIdAndEpoch, close_batch
from kafka_sql.kafka.direct.produce_kernels import RECORDS


class RecordAccumulator:
    """The open batches of a topic's partitions. ``produce_kernels.pack`` writes the records.

    Attributes:
        cursors: int64, partitions x 3, columns ``produce_kernels.AT``, ``END`` and ``RECORDS``; zeros if the partition
            has no open batch.
    """

    def __init__(self, partitions: int, size: int) -> None:
        """Open no batch yet.

        Args:
            size: the size of a batch in bytes. A single larger record gets a batch of its size.
        """
        self.cursors = np.zeros((partitions, 3), np.int64)
        self._size = size
        self._memory: dict[int, npt.NDArray[np.uint8]] = {}

    def open(self, partition: int, min_capacity: int) -> None:
        """Open the next batch of a partition, with capacity for a record of ``min_capacity`` bytes."""
        size = max(self._size, HEADER + min_capacity)
        memory = self._memory[partition] = np.empty(size, np.uint8)
        start = memory.ctypes.data
        self.cursors[partition] = start + HEADER, start + size, 0

    def close(self, partition: int, producer: ProducerIdAndEpoch, sequence: int) -> Batch:
        """Close and return the open batch of a partition. It must contain records."""
        memory, (at, _, records) = self._memory.pop(partition), self.cursors[partition].tolist()
        self.cursors[partition] = 0
        return close_batch(partition, memory[: at - memory.ctypes.data], records, producer, sequence)

    def partitions_with_records(self) -> list[int]:
        """Return the partitions whose open batch contains records."""
        partitions: list[int] = np.flatnonzero(self.cursors[:, RECORDS]).tolist()
        return partitions
