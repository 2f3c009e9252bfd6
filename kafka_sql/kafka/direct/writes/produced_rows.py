"""The rows of one call to a producer: their columns, as compiled loops take them, and their partitions.

A row goes to the partition that it specifies, the one of its key, or the topic's sticky one.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.kafka.columns import ColumnView, column_view, flatten_headers, null_column, read_only
from kafka_sql.kafka.direct.writes.produce_kernels import HeaderViews, append_records, max_record_size, partition_by_key


@dataclass
class ProducerTopic:
    """A topic that a producer writes to."""

    name: str
    partitions: int
    first_index: int  # the index of its first partition in the accumulator
    has_leader: Callable[[int], bool]
    # the sticky partition, or the first candidate for it if this one has no leader. At first a random one, so that
    # short tasks do not all write to the first partition.
    next_sticky: int = field(init=False)

    def __post_init__(self) -> None:
        self.next_sticky = random.randrange(self.partitions)

    def sticky_partition(self) -> int:
        """Return the partition for rows that may go to any. It has a leader if any partition has one."""
        candidates = ((self.next_sticky + i) % self.partitions for i in range(self.partitions))
        return next(filter(self.has_leader, candidates), self.next_sticky)

    def advance_sticky(self) -> None:
        """Choose the next sticky partition, because the batch of the current one is full."""
        self.next_sticky = (self.sticky_partition() + 1) % self.partitions


class UnknownPartitionError(Exception):
    """A row's partition does not exist.

    Attributes:
        topic, row: the row's topic, and the row's index in the call.
    """

    def __init__(self, topic: ProducerTopic, row: int) -> None:
        super().__init__(topic.name, row)
        self.topic, self.row = topic, row


@dataclass
class PartitionAssignment:
    """The partitions of the rows of one call to ``DirectProducer.produce``."""

    topics: Sequence[ProducerTopic]
    # int32, the index in ``topics`` of each row's topic; None if there is only one topic
    topic_indices: npt.NDArray[np.int32] | None
    indices: npt.NDArray[np.int32]  # int32, the accumulator's index of each row's partition
    is_free: npt.NDArray[np.bool_]  # whether each row may go to any partition of its topic

    def topic_of(self, row: int) -> ProducerTopic:
        return self.topics[0 if self.topic_indices is None else int(self.topic_indices[row])]

    def assign_free_rows(self, topic: ProducerTopic, start: int = 0) -> None:
        """Assign rows that may go to any partition of a topic to its sticky partition. Begins at row ``start``."""
        rows = self.is_free[start:]
        if self.topic_indices is not None:
            rows = rows & (self.topic_indices[start:] == self.topics.index(topic))
        self.indices[start:][rows] = topic.first_index + topic.sticky_partition()


def assign_partitions(
    topics: Sequence[ProducerTopic],
    topic_indices: npt.NDArray[np.int32] | None,
    keys: ColumnView,
    partitions: npt.NDArray[np.int32] | None,
) -> PartitionAssignment:
    """Assign rows to partitions.

    Args:
        partitions: the partition of each row; -1 or None for the one of the row's key, as the Java client chooses it.
            Rows without a key may go to any.

    Raises:
        UnknownPartitionError: a partition does not exist.
    """
    count = len(keys[2])  # the number of rows
    counts = _per_row([topic.partitions for topic in topics], topic_indices, count)
    row_partitions = np.full(count, -1, np.int32) if partitions is None else partitions.astype(np.int32)
    if partitions is not None and (invalid := np.flatnonzero((row_partitions < -1) | (row_partitions >= counts))).size:
        row = int(invalid[0])
        raise UnknownPartitionError(topics[0 if topic_indices is None else topic_indices[row]], row)
    partition_by_key(row_partitions, keys, counts)
    indices = row_partitions + _per_row([topic.first_index for topic in topics], topic_indices, count)
    assignment = PartitionAssignment(topics, topic_indices, indices, row_partitions < 0)
    if assignment.is_free.any():
        for topic in topics:
            assignment.assign_free_rows(topic)
    return assignment


def _per_row(values: Sequence[int], topic_indices: npt.NDArray[np.int32] | None, count: int) -> npt.NDArray[np.int32]:
    if topic_indices is None:
        return np.full(count, values[0], np.int32)
    per_row: npt.NDArray[np.int32] = np.array(values, np.int32)[topic_indices]
    return per_row


@dataclass(frozen=True)
class ProducedColumns:
    """Columns of records."""

    values: ColumnView
    keys: ColumnView  # nulls if no record has a key
    timestamps: npt.NDArray[np.int64] | None  # int64 milliseconds since 1970; None for ``now`` in all rows
    headers: HeaderViews | None  # None for none in all rows
    now: int  # milliseconds since 1970
    arrays: tuple[pa.Array | None, ...]  # the arrays whose memory the views refer to

    @property
    def payload_bytes(self) -> int:
        """Bytes of all keys and values."""
        return sum(int(offsets[-1] - offsets[0]) for offsets, _, _ in (self.keys, self.values))

    def append(self, cursors: npt.NDArray[np.int64], indices: npt.NDArray[np.int32], row: int) -> int:
        """Append the rows from ``row`` on to open batches; see ``produce_kernels.append_records``."""
        appended: int = append_records(
            cursors, self.values, self.keys, self.timestamps, self.headers, self.now, indices, row
        )
        return appended

    def record_sizes(self, row: int) -> tuple[int, int]:
        """Return the bytes of a row's key, value and headers, and the maximum size of its record."""
        key, value = (int(offsets[row + 1] - offsets[row]) for offsets, _, _ in (self.keys, self.values))
        headers = header_count = 0
        if self.headers is not None:
            header_offsets, *names_and_values = self.headers
            start, end = int(header_offsets[row]), int(header_offsets[row + 1])
            headers = sum(int(offsets[end] - offsets[start]) for offsets, _, _ in names_and_values)
            header_count = end - start
        return key + value + headers, max_record_size(key, value, headers, header_count)


def produced_columns(
    values: pa.BinaryArray,
    keys: pa.BinaryArray | None,
    timestamps: npt.NDArray[np.int64] | None,
    headers: pa.ListArray | pa.MapArray | None,
) -> ProducedColumns:
    """Return the columns of records; see ``DirectProducer.produce``."""
    count, now = len(values), int(time.time() * 1000)
    key_view = column_view(keys) if keys is not None else null_column(count)
    if timestamps is not None:
        timestamps = np.where(timestamps < 0, now, timestamps)
    if headers is None:
        return ProducedColumns(column_view(values), key_view, timestamps, None, now, (values, keys))
    header_offsets, names, header_values = flatten_headers(headers, count)
    header_views = read_only(header_offsets), column_view(names), column_view(header_values)
    arrays = values, keys, names, header_values
    return ProducedColumns(column_view(values), key_view, timestamps, header_views, now, arrays)
