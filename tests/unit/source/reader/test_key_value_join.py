"""Rows of keys and values: against Flink's loops, written out."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.formats.format import Decoded
from kafka_sql.source.reader.key_value_join import join_key_and_value

COUNTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8)


def decoded(counts: list[int], records: int) -> Decoded:
    """One column that says the row, for payloads of so many rows each."""
    rows = [record for record, count in enumerate(counts) for _ in range(count)]
    same = rows == list(range(records))
    return Decoded([pa.array(range(len(rows)), pa.int64())], None if same else pa.array(rows, pa.int64()))


@given(COUNTS)
def test_each_value_row_is_joined_with_each_key_row(counts: list[tuple[int, int]]) -> None:
    keys, values = [k for k, _ in counts], [v for _, v in counts]
    expected = []
    for record, (of_key, of_value) in enumerate(counts):
        for v in range(of_value):
            for k in range(of_key):
                expected.append((sum(keys[:record]) + k, sum(values[:record]) + v, record))
    key, value = decoded(keys, len(counts)), decoded(values, len(counts))
    found = join_key_and_value(len(counts), key, value)
    columns = [
        *found.take_keys(key.columns),
        *found.take_values(value.columns),
        found.take_records(pa.array(range(len(counts)), pa.int64())),
    ]
    assert list(zip(*(c.to_pylist() for c in columns), strict=True)) == expected


@given(COUNTS)
def test_values_without_a_key(counts: list[tuple[int, int]]) -> None:
    values = [v for _, v in counts]
    value = decoded(values, len(counts))
    found = join_key_and_value(len(counts), None, value)
    assert found.take_values(value.columns)[0] is value.columns[0]
    expected = [record for record, count in enumerate(values) for _ in range(count)]
    assert found.take_records(pa.array(range(len(counts)), pa.int64())).to_pylist() == expected
