"""Test that transactional ids identify their prefix and run, and keep their format."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.sink.exactly_once import transactional_ids

PREFIXES = st.text(st.sampled_from("ab-t0"), min_size=1, max_size=12)


@given(PREFIXES, PREFIXES)
def test_transactional_id_contains_prefix_and_run(prefix: str, other_prefix: str) -> None:
    run = transactional_ids.run_id("run")
    for transactional_id in (
        transactional_ids.incrementing_id(prefix, run, 3, 1, 17),
        transactional_ids.pooling_id(prefix, run, 3),
    ):
        assert transactional_ids.parse_run(prefix, transactional_id) == run
        if other_prefix != prefix:
            assert transactional_ids.parse_run(other_prefix, transactional_id) is None


def test_pooled_ids_are_used_once_per_batch_and_reused_in_the_next() -> None:
    run = transactional_ids.run_id("pooled")
    first = [transactional_ids.pooling_id("p", run, 1) for _ in range(3)]
    assert len(set(first)) == 3
    assert [transactional_ids.pooling_id("p", run, 2) for _ in range(3)] == first


def test_pooled_ids_are_used_once_per_batch_if_a_process_serves_several_runs_in_turn() -> None:
    runs = [transactional_ids.run_id(name) for name in ("first query", "second query")]
    ids = [transactional_ids.pooling_id("p", run, 1) for _ in range(3) for run in runs]
    assert len(set(ids)) == 6


def test_transactional_ids_keep_their_format() -> None:
    """Transactions of another version must be recognized."""
    run = transactional_ids.run_id("a run")
    assert run == "7666f0507e9b2d38"
    assert transactional_ids.driver_id("p") == "p-driver"
    assert transactional_ids.incrementing_id("p", run, 3, 1, 17) == f"p-t-{run}-3-1-17"
    assert re.fullmatch(rf"p-t-{run}-w[0-9a-f]{{12}}-0", transactional_ids.pooling_id("p", run, 3))
