"""The batches of a topic's partitions that rows are being put into."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kafka_sql.kafka.direct.batch import HEADER, Batch, Sender, closed
from kafka_sql.kafka.direct.produce_kernels import RECORDS


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
        memory = self._memory[partition] = np.empty(size, np.uint8)
        start = memory.ctypes.data
        self.places[partition] = start + HEADER, start + size, 0

    def close(self, partition: int, sender: Sender, sequence: int) -> Batch:
        """The open batch of a partition, which must have records."""
        memory, (at, _, records) = self._memory.pop(partition), self.places[partition].tolist()
        self.places[partition] = 0
        return closed(partition, memory[: at - memory.ctypes.data], records, sender, sequence)

    def filled(self) -> list[int]:
        """The partitions whose open batch has records."""
        found: list[int] = np.flatnonzero(self.places[:, RECORDS]).tolist()
        return found
