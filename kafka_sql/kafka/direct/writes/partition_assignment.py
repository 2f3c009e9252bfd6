"""Assign rows to partitions: the partition that a row specifies, the one of its key, or the topic's sticky one."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kafka_sql.kafka.columns import ColumnView
from kafka_sql.kafka.direct.writes.produce_kernels import partition_by_key


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
