"""Test that the digest of rows depends on their values and their order."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.sink.exactly_once.prepare import digest


def batch(values: list[int], texts: list[str | None]) -> pa.RecordBatch:
    return pa.record_batch({"a": pa.array(values, pa.int64()), "b": pa.array(texts, pa.string())})


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.none() | st.text(max_size=5)), min_size=1, max_size=300))
def test_equal_rows_have_equal_digests(rows: list[tuple[int, str | None]]) -> None:
    first, second = (batch([a for a, _ in rows], [b for _, b in rows]) for _ in range(2))
    assert digest(first) == digest(second)
    changed = batch([rows[0][0] ^ 1, *(a for a, _ in rows[1:])], [b for _, b in rows])
    assert digest(changed) != digest(first)


def test_digest_depends_on_the_order_of_batches() -> None:
    first, second = batch([1], ["x"]), batch([2], ["y"])
    assert digest(second, digest(first)) != digest(first, digest(second))
    assert digest(batch(list(range(2000)), [None] * 2000)) != digest(batch(list(range(2000))[::-1], [None] * 2000))
