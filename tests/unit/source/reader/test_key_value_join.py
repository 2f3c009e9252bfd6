"""Test the join of keys and values against nested loops as in Flink."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.formats.format import Decoded
from kafka_sql.source.reader.key_value_join import join_key_and_value

COUNTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8)


def decoded(counts: list[int], records: int) -> Decoded:
    """Return a column of row numbers, for payloads with the given numbers of rows."""
    rows = [record for record, count in enumerate(counts) for _ in range(count)]
    is_identity = rows == list(range(records))
    return Decoded([pa.array(range(len(rows)), pa.int64())], None if is_identity else pa.array(rows, pa.int64()))


@given(COUNTS)
def test_each_value_row_is_joined_with_each_key_row(counts: list[tuple[int, int]]) -> None:
    keys, values = [k for k, _ in counts], [v for _, v in counts]
    expected = []
    for record, (key_count, value_count) in enumerate(counts):
        for v in range(value_count):
            for k in range(key_count):
                expected.append((sum(keys[:record]) + k, sum(values[:record]) + v, record))
    key, value = decoded(keys, len(counts)), decoded(values, len(counts))
    origins = join_key_and_value(len(counts), key, value)
    columns = [
        *origins.take_keys(key.columns),
        *origins.take_values(value.columns),
        origins.take_records(pa.array(range(len(counts)), pa.int64())),
    ]
    assert list(zip(*(c.to_pylist() for c in columns), strict=True)) == expected


@given(COUNTS)
def test_values_without_a_key(counts: list[tuple[int, int]]) -> None:
    values = [v for _, v in counts]
    value = decoded(values, len(counts))
    origins = join_key_and_value(len(counts), None, value)
    assert origins.take_values(value.columns)[0] is value.columns[0]
    expected = [record for record, count in enumerate(values) for _ in range(count)]
    assert origins.take_records(pa.array(range(len(counts)), pa.int64())).to_pylist() == expected


def test_rows_are_ordered_by_offset_and_place_in_their_record() -> None:
    offsets = pa.array([7, 8, 9], pa.int64())
    value = Decoded([], pa.array([0, 0, 2, 2, 2], pa.int64()))
    order = join_key_and_value(3, None, value).order_rows(offsets).to_pylist()
    assert [divmod(number, 1 << 20) for number in order] == [(7, 0), (7, 1), (9, 0), (9, 1), (9, 2)]
    order = join_key_and_value(3, None, Decoded([], None)).order_rows(offsets).to_pylist()
    assert [divmod(number, 1 << 20) for number in order] == [(7, 0), (8, 0), (9, 0)]
