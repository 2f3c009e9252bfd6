"""Test that tasks cover every offset once and are balanced."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.kafka.split import Split
from kafka_sql.source.enumerator.splits import Task, offset_count, plan_tasks


def splits(*sizes: int) -> list[Split]:
    return [Split("t", p, 10 * p, 10 * p + n) for p, n in enumerate(sizes)]


def as_tuples(tasks: list[Task]) -> list[list[tuple[int, int, int]]]:
    return [[(s.partition, s.start, s.stop) for s in task] for task in tasks]


@pytest.mark.parametrize("parallelism", [None, 2])
def test_one_task_per_partition(parallelism: int | None) -> None:
    assert as_tuples(plan_tasks(splits(3, 5), parallelism)) == [[(0, 0, 3)], [(1, 10, 15)]]


def test_more_tasks_than_partitions_cut_the_largest_splits() -> None:
    assert as_tuples(plan_tasks(splits(9, 2), 4)) == [[(0, 0, 3)], [(0, 3, 6)], [(0, 6, 9)], [(1, 10, 12)]]


def test_at_most_one_task_per_offset() -> None:
    assert as_tuples(plan_tasks(splits(2, 1), 10)) == [[(0, 0, 1)], [(0, 1, 2)], [(1, 10, 11)]]
    assert plan_tasks([], 10) == []


def test_splits_that_cannot_be_cut() -> None:
    assert as_tuples(plan_tasks(splits(9, 2), 4, can_cut=False)) == [[(0, 0, 9)], [(1, 10, 12)]]
    assert as_tuples(plan_tasks(splits(9, 2), 1, can_cut=False)) == [[(0, 0, 9), (1, 10, 12)]]


def test_fewer_tasks_than_partitions_are_packed_by_size() -> None:
    assert as_tuples(plan_tasks(splits(5, 1, 1, 1, 2), 2)) == [
        [(0, 0, 5)],
        [(1, 10, 11), (2, 20, 21), (3, 30, 31), (4, 40, 42)],
    ]


@given(st.lists(st.integers(1, 10_000), max_size=20), st.integers(1, 50))
def test_every_offset_is_planned_once_and_tasks_are_balanced(sizes: list[int], parallelism: int) -> None:
    planned = [Split("t", p, 7, 7 + n) for p, n in enumerate(sizes)]
    tasks = plan_tasks(planned, parallelism)
    ranges = sorted((s for task in tasks for s in task), key=lambda s: (s.partition, s.start))
    joined: list[Split] = []
    for part in ranges:
        assert offset_count(part) > 0
        if joined and joined[-1].partition == part.partition:
            assert joined[-1].stop == part.start
            joined[-1] = Split("t", part.partition, joined[-1].start, part.stop)
        else:
            joined.append(part)
    assert joined == planned
    assert len(tasks) == min(parallelism, sum(sizes))
    if tasks:
        loads = [sum(map(offset_count, task)) for task in tasks]
        largest = max(loads)
        if parallelism >= len(sizes):  # ranges that are smaller by one would need more tasks
            assert largest == 1 or sum(-(-n // (largest - 1)) for n in sizes) > len(tasks)
        else:
            assert largest <= max(max(sizes), 4 / 3 * sum(sizes) / len(tasks) + max(sizes) / 3)  # Graham's bound
