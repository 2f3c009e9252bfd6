"""Collect records in one open batch per topic partition, and close the batches."""

from __future__ import annotations

import time
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from kafka_sql.kafka.direct.batch_layout import HEADER
from kafka_sql.kafka.direct.compression import Compression, compress
from kafka_sql.kafka.direct.writes.batch import Batch
from kafka_sql.kafka.direct.writes.produce_kernels import END, NEXT, RECORDS
from kafka_sql.kafka.topic_partition import TopicPartition

_MIN_CAPACITY: Final = 1 << 10  # bytes


class _OpenBatch(NamedTuple):
    memory: npt.NDArray[np.uint8]
    address: int  # of the memory
    created: float  # seconds of time.monotonic


class RecordAccumulator:
    """The open batches of a producer. ``produce_kernels.append_records`` writes their records.

    The partitions of a topic have consecutive indices. Memory stays in proportion to the records, even with thousands
    of partitions: while little memory is used, a batch gets its full capacity at once. Otherwise it gets the capacity
    that the last batch of its partition needed, and grows.

    Attributes:
        cursors: int64, one row per index, see ``append_records``; zeros if a partition has no open batch.
        capacity: bytes of memory of all open batches.
    """

    def __init__(self, batch_size: int, max_capacity: int, compression: Compression) -> None:
        """Create an accumulator without open batches.

        Args:
            batch_size: the maximum size of a batch in bytes, before compression. A larger record gets a separate batch.
            max_capacity: bytes of memory beyond which ``is_full`` returns true.
        """
        self.cursors = np.zeros((0, 5), np.int64)
        self.capacity = 0
        self._batch_size, self._max_capacity, self._compression = batch_size, max_capacity, compression
        self._partitions = list[TopicPartition]()
        self._last_sizes = list[int]()  # of the last batch of each partition
        self._spare: npt.NDArray[np.uint8] | None = None  # memory of a batch that was compressed
        self._open = dict[int, _OpenBatch]()

    def add_topic(self, topic: str, partitions: int) -> int:
        """Add the partitions of a topic. Return the index of the first."""
        first = len(self._partitions)
        self._partitions += [(topic, partition) for partition in range(partitions)]
        self._last_sizes += [0] * partitions
        self.cursors = np.concatenate((self.cursors, np.zeros((partitions, 5), np.int64)))
        return first

    def is_full(self) -> bool:
        """Return whether the open batches take too much memory and should be closed."""
        return self.capacity > self._max_capacity

    def reserve(self, index: int, record_size: int) -> bool:
        """Make space for a record in the open batch of a partition, or in a new one if no batch is open.

        Returns:
            false if the open batch is full and must be closed first.
        """
        batch = self._open.get(index)
        if batch is None:
            self._open_batch(index, HEADER + record_size)
            return True
        used = int(self.cursors[index, NEXT]) - batch.address
        if used + record_size > self._batch_size:
            return False
        memory = np.empty(min(self._batch_size, max(2 * len(batch.memory), used + record_size)), np.uint8)
        memory[:used] = batch.memory[:used]
        self.capacity += len(memory) - len(batch.memory)
        self._open[index] = _OpenBatch(memory, memory.ctypes.data, batch.created)
        self._move_cursor(index, used)
        return True

    def close(self, index: int) -> Batch:
        """Close and return the open batch of a partition. It must contain records."""
        batch = self._open.pop(index)
        self.capacity -= len(batch.memory)
        end, _, records, first_timestamp, max_timestamp = self.cursors[index].tolist()
        self.cursors[index] = 0
        size = self._last_sizes[index] = end - batch.address
        codec, content = self._compress(batch.memory[:size])
        if codec and len(batch.memory) == self._batch_size:
            self._spare = batch.memory
        elif 2 * len(content) < len(batch.memory):
            content = content.copy()  # frees the rest of the memory
        topic, partition = self._partitions[index]
        return Batch(topic, partition, records, content, codec, first_timestamp, max_timestamp, batch.created)

    def indices_with_records(self) -> list[int]:
        """Return the indices of the partitions whose open batch contains records."""
        indices: list[int] = np.flatnonzero(self.cursors[:, RECORDS]).tolist()
        return indices

    def indices_created_before(self, deadline: float) -> list[int]:
        """Return the indices of the partitions whose open batch was created before ``deadline``.

        Args:
            deadline: in seconds of ``time.monotonic``.
        """
        return [index for index, batch in self._open.items() if batch.created < deadline]

    def open_partitions(self) -> dict[str, list[int]]:
        """Return the partitions that have an open batch, by topic."""
        partitions = dict[str, list[int]]()
        for index in self._open:
            topic, partition = self._partitions[index]
            partitions.setdefault(topic, []).append(partition)
        return partitions

    def _open_batch(self, index: int, min_capacity: int) -> None:
        has_space = self.capacity + self._batch_size <= self._max_capacity // 8
        # a little more than the last time, because records differ in size
        capacity = self._batch_size if has_space else max(_MIN_CAPACITY, self._last_sizes[index] * 9 // 8)
        memory = self._allocate(max(min(capacity, self._batch_size), min_capacity))
        self.capacity += len(memory)
        self._open[index] = _OpenBatch(memory, memory.ctypes.data, time.monotonic())
        self.cursors[index] = 0
        self._move_cursor(index, HEADER)

    def _allocate(self, size: int) -> npt.NDArray[np.uint8]:
        """Return new memory, or the spare one, which the operating system need not provide again."""
        memory, self._spare = (self._spare, None) if size == self._batch_size else (None, self._spare)
        return memory if memory is not None else np.empty(size, np.uint8)

    def _move_cursor(self, index: int, used: int) -> None:
        memory, address, _ = self._open[index]
        self.cursors[index, NEXT], self.cursors[index, END] = address + used, address + len(memory)

    def _compress(self, content: npt.NDArray[np.uint8]) -> tuple[int, npt.NDArray[np.uint8]]:
        """Return the codec and the content of a batch. Records that do not become smaller are not compressed."""
        if self._compression.codec:
            compressed = compress(self._compression, content[HEADER:].data)
            if HEADER + len(compressed) < len(content):
                smaller = np.empty(HEADER + len(compressed), np.uint8)
                smaller[HEADER:] = np.frombuffer(compressed, np.uint8)
                return self._compression.codec, smaller
        return 0, content
