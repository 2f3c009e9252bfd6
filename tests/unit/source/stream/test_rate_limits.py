"""Test the limits of a micro-batch and their allocation to partitions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.source.stream.rate_limits import allocate, compute_backlogs, offsets_for_bytes

A, B, C = ("a", 0), ("a", 1), ("b", 0)


def test_allocation_is_proportional_to_the_backlog() -> None:
    assert allocate({A: 600, B: 300, C: 100}, 100) == {A: 60, B: 30, C: 10}


def test_small_backlogs_get_at_least_one_offset() -> None:
    assert allocate({A: 1_000_000, B: 1}, 10) == {A: 9, B: 1}


def test_partitions_take_turns_if_the_limit_is_smaller_than_their_number() -> None:
    backlog = {A: 5, B: 5, C: 5}
    assert allocate(backlog, 1, 0) == {A: 1}
    assert allocate(backlog, 1, 1) == {B: 1}
    assert allocate(backlog, 2, 2) == {C: 1, A: 1}


def test_a_backlog_within_the_limit_is_read_completely() -> None:
    assert allocate({A: 3, B: 4}, 7) == {A: 3, B: 4}
    assert allocate({}, 7) == {}


@given(
    st.dictionaries(st.tuples(st.sampled_from("ab"), st.integers(0, 9)), st.integers(1, 10**12), max_size=15),
    st.integers(1, 10**13),
    st.integers(0, 10**15),
)
def test_the_limit_is_used_completely_and_never_exceeded(
    backlog: dict[tuple[str, int], int], limit: int, turn: int
) -> None:
    allocated = allocate(backlog, limit, turn)
    assert sum(allocated.values()) == min(limit, sum(backlog.values()))
    assert all(0 < n <= backlog[p] for p, n in allocated.items())
    if limit >= len(backlog):
        assert allocated.keys() == backlog.keys()
        proportional = {p: n * sum(allocated.values()) / sum(backlog.values()) for p, n in backlog.items()}
        assert all(abs(n - proportional[p]) <= len(backlog) * (1 + 1e-12 * n) for p, n in allocated.items())


def test_compute_backlogs_omits_partitions_without_a_backlog() -> None:
    assert compute_backlogs({A: 3, B: 7, C: 9}, {A: 5, B: 7, C: 8}) == {A: 2}


def test_offsets_for_bytes() -> None:
    assert offsets_for_bytes({A: 100, B: 100}, {A: 10.0, B: 30.0}, 1000) == 50
    assert offsets_for_bytes({A: 100}, {A: 10.0}, 1000) == 100
    assert offsets_for_bytes({A: 100}, {A: 10_000_000.0}, 1000) == 1  # a large record does not stop the stream
