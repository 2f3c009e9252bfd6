"""Columns of records: binary columns from memory, views of slices, header maps and lists, selected records."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.kafka.columns import column_view, copy_binary, flatten_headers, headers_to_maps, null_column
from kafka_sql.kafka.columns import header_lists as to_header_lists
from kafka_sql.kafka.record_metadata import HEADER_LIST, HEADER_MAP
from kafka_sql.kafka.records import Records
from tests.unit.formats.growth import assert_linear

Header = tuple[str, bytes | None]
HEADERS = st.lists(st.lists(st.tuples(st.sampled_from(["a", "b", "ab", ""]), st.none() | st.binary(max_size=3))))


def header_lists(rows: list[list[Header] | None]) -> pa.ListArray:
    return pa.array(
        [None if row is None else [{"key": key, "value": value} for key, value in row] for row in rows], HEADER_LIST
    )


@given(st.lists(st.none() | st.binary(max_size=20)), st.integers(0, 3), st.integers(0, 3))
def test_a_view_of_a_slice_and_its_copy(values: list[bytes | None], before: int, after: int) -> None:
    padded = pa.array([b"padding"] * before + values + [None] * after, pa.binary())
    offsets, address, valid = column_view(padded.slice(before, len(values)))
    assert valid.tolist() == [value is not None for value in values]
    assert not valid.flags.writeable
    sizes = np.where(valid, np.diff(offsets), -1).astype(np.int64)
    addresses = np.where(valid, address + offsets[:-1].astype(np.int64), 0)
    copied = copy_binary(addresses, sizes)
    assert copied.to_pylist() == values
    assert copied.null_count == values.count(None)


def test_an_empty_value_is_not_null() -> None:
    _, address, valid = column_view(pa.array([b""], pa.binary()))
    assert address != 0
    assert valid.tolist() == [1]


def test_null_column() -> None:
    offsets, _, valid = null_column(2)
    assert (offsets.tolist(), valid.tolist()) == ([0, 0, 0], [0, 0])
    assert (offsets.dtype, valid.dtype) == (np.int32, np.uint8)


@given(HEADERS, st.integers(0, 2))
def test_maps_have_the_last_header_of_each_name(rows: list[list[Header]], start: int) -> None:
    maps = headers_to_maps(header_lists(rows).slice(start))
    assert maps.type == HEADER_MAP
    assert [dict(entries) for entries in maps.to_pylist()] == [dict(row) for row in rows[start:]]
    assert [len(entries) for entries in maps.to_pylist()] == [len(dict(row)) for row in rows[start:]]


@given(
    st.lists(st.lists(st.tuples(st.sampled_from(["a", "b", "ab", ""]), st.binary(max_size=1)), max_size=9), max_size=9)
)
def test_maps_of_records_with_many_headers(rows: list[list[Header]]) -> None:
    """A record with more headers than are compared in pairs, beside others."""
    many = [row if i % 2 else row * 30 + [(f"{i % 70}", b"") for i in range(100)] + row for i, row in enumerate(rows)]
    assert headers_to_maps(header_lists(many)).to_pylist() == [
        [(key, value) for i, (key, value) in enumerate(row) if key not in dict(row[i + 1 :])] for row in many
    ]


HEADER_SHAPES: dict[str, Callable[[int], list[Header]]] = {
    "distinct names": lambda size: [(f"{i}", b"") for i in range(size // 6)],
    "one name": lambda size: [("k", b"")] * (size // 3),
    "empty names": lambda size: [("", None)] * (size // 2),
    "two names": lambda size: [("a" if i % 2 else "b", b"x") for i in range(size // 4)],
    "long names": lambda size: [(f"{'k' * 200}{i}", None) for i in range(size // 204)],
    "a long name": lambda size: [("k" * (size // 2), b""), ("k" * (size // 2), b"")],
    "values": lambda size: [("k", b"x" * 100)] * (size // 104),
    "names that are not UTF-8": lambda size: [("\udcff", b"")] * (size // 3),
}


@pytest.mark.parametrize("shape", HEADER_SHAPES)
def test_headers_are_read_in_linear_time(shape: str) -> None:
    def make(size: int) -> tuple[np.ndarray, pa.BinaryArray, pa.BinaryArray]:
        headers = HEADER_SHAPES[shape](size)
        names = pa.array([key.encode("utf-8", "surrogateescape") for key, _ in headers], pa.binary())
        return np.array([0, len(headers)], np.int32), names, pa.array([value for _, value in headers], pa.binary())

    def run(columns: tuple[np.ndarray, pa.BinaryArray, pa.BinaryArray]) -> None:
        lists = to_header_lists(*columns)
        headers_to_maps(lists)
        flatten_headers(lists, 1)

    assert_linear(make, run)


@given(st.lists(st.none() | st.lists(st.tuples(st.sampled_from(["a", "b"]), st.none() | st.binary(max_size=3)))))
@pytest.mark.parametrize("start", [0, 2])
def test_flat_headers(start: int, rows: list[list[Header] | None]) -> None:
    expected = [row or [] for row in rows[start:]]
    lists, names, values = flatten_headers(header_lists(rows).slice(start), len(expected))
    assert lists.dtype == np.int32
    pairs = list(zip(names.to_pylist(), values.to_pylist(), strict=True))
    assert [pairs[first:last] for first, last in pairwise(lists.tolist())] == [
        [(key.encode(), value) for key, value in row] for row in expected
    ]


def test_flat_headers_of_maps_and_of_no_column() -> None:
    maps = pa.array([[("a", b"1"), ("b", None)], [], None, [("c", b"2")]], HEADER_MAP)
    lists, names, values = flatten_headers(maps, 4)
    assert lists.tolist() == [0, 2, 2, 2, 3]
    assert (names.to_pylist(), values.to_pylist()) == ([b"a", b"b", b"c"], [b"1", None, b"2"])
    lists, names, values = flatten_headers(None, 2)
    assert (lists.tolist(), len(names), len(values)) == ([0, 0, 0], 0, 0)


def test_a_null_header_has_no_name() -> None:
    rows = pa.array([[{"key": "a", "value": b"1"}, None]], pa.list_(HEADER_LIST.value_type))
    _, names, _ = flatten_headers(rows, 1)
    assert names.to_pylist() == [b"a", None]


def test_selected_records() -> None:
    records = Records(pa.array([b"a", None, b"c"]), np.array([5, 6, 9]), leader_epochs=np.array([1, 1, 2], np.int32))
    selected = records.take(np.array([2, 0]))
    assert (selected.values.to_pylist(), selected.offsets.tolist()) == ([b"c", b"a"], [9, 5])
    assert selected.leader_epochs is not None
    assert selected.leader_epochs.tolist() == [2, 1]
    assert (selected.keys, selected.timestamps, selected.headers) == (None, None, None)
