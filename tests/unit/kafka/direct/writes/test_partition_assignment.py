"""Partitions of rows: given, by key, or sticky, for one topic or for a topic per row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka_sql.kafka.columns import column_view, null_column
from kafka_sql.kafka.direct.writes.produced_rows import (
    PartitionAssignment,
    ProducerTopic,
    UnknownPartitionError,
    assign_partitions,
)

HASH = -973932308 & 0x7FFFFFFF  # of b"21", from the tests of Kafka's Java client


def topic(
    partitions: int, first_index: int = 0, sticky: int = 0, has_leader: Callable[[int], bool] = lambda _: True
) -> ProducerTopic:
    created = ProducerTopic("t", partitions, first_index, has_leader)
    created.next_sticky = sticky
    return created


def assign(topics: list[ProducerTopic], topic_indices: list[int] | None, keys: list[Any], partitions: Any) -> Any:
    array = pa.array(keys, pa.binary())
    indices = None if topic_indices is None else np.array(topic_indices, np.int32)
    given = None if partitions is None else np.array(partitions, np.int64)
    return assign_partitions(topics, indices, column_view(array), given)


def test_a_given_partition_comes_before_the_key_and_the_key_before_the_sticky_one() -> None:
    rows = [(2, None), (0, b"21"), (-1, b"21"), (-1, None)]
    assignment = assign([topic(3, 10, sticky=1)], None, [key for _, key in rows], [partition for partition, _ in rows])
    assert assignment.indices.tolist() == [12, 10, 10 + HASH % 3, 11]
    assert assignment.is_free.tolist() == [False, False, False, True]


def test_each_row_has_the_partitions_of_its_topic() -> None:
    topics = [topic(3, 0, sticky=2), topic(7, 3, sticky=4)]
    assignment = assign(topics, [0, 1, 1, 0, 1], [b"21", b"21", None, None, None], [-1, -1, -1, -1, 6])
    assert assignment.indices.tolist() == [HASH % 3, 3 + HASH % 7, 7, 2, 9]
    assert [assignment.topic_of(row) for row in range(5)] == [topics[i] for i in (0, 1, 1, 0, 1)]


@pytest.mark.parametrize(("partitions", "row"), [([0, 3, -1], 1), ([0, -1, -2], 2), ([4, 5, 6], 0)])
def test_unknown_partition(partitions: list[int], row: int) -> None:
    with pytest.raises(UnknownPartitionError) as raised:
        assign([topic(3)], None, [None] * 3, partitions)
    assert (raised.value.topic.name, raised.value.row) == ("t", row)


def test_a_partition_of_another_topic_is_unknown() -> None:
    with pytest.raises(UnknownPartitionError) as raised:
        assign([topic(3), topic(7, 3)], [0, 1, 0], [None] * 3, [2, 5, 5])
    assert raised.value.row == 2


def free_rows(topics: list[ProducerTopic], topic_indices: list[int] | None, count: int) -> PartitionAssignment:
    indices = None if topic_indices is None else np.array(topic_indices, np.int32)
    return assign_partitions(topics, indices, null_column(count), None)


def test_rows_that_may_go_to_any_partition_move_to_the_next_one() -> None:
    topics = [topic(3, 0, sticky=2), topic(3, 3, sticky=2)]
    assignment = free_rows(topics, [0, 1, 0, 1, 0], 5)
    topics[0].advance_sticky()
    assignment.assign_free_rows(topics[0], 2)
    assert assignment.indices.tolist() == [2, 5, 0, 5, 0]


def test_the_sticky_partition_has_a_leader() -> None:
    only = topic(4, sticky=3, has_leader=lambda partition: partition in (0, 2))
    sticky = []
    for _ in range(4):
        sticky.append(only.sticky_partition())
        only.advance_sticky()
    assert sticky == [0, 2, 0, 2]
    assert free_rows([only], None, 2).indices.tolist() == [0, 0]


def test_without_any_leader_rows_wait_for_one() -> None:
    assert topic(4, sticky=3, has_leader=lambda _: False).sticky_partition() == 3


def test_producers_begin_with_different_partitions() -> None:
    first = {ProducerTopic("t", 5, 0, lambda _: True).sticky_partition() for _ in range(200)}
    assert first == set(range(5))
