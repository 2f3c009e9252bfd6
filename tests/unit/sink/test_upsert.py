"""Upsert writes: the last row of each key in a flush, against a dictionary; deletes as tombstones."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import EncodeError
from kafka_sql.sink.upsert import reduced, tombstones
from kafka_sql.table.declaration import Column, Table
from kafka_sql.table.row_kind import taken_back

SCHEMA = pa.schema([("k", pa.string()), ("v", pa.int64())])


def table(**more: str) -> Definition:
    options = {
        "connector": "upsert-kafka",
        "topic": "t",
        "properties.bootstrap.servers": "h:1",
        "key.format": "json",
        "value.format": "json",
    }
    columns = (Column("k", "STRING", "STRING", nullable=False), Column("v", "BIGINT", "BIGINT"))
    given_options = {**options, **{f"sink.buffer-flush.{k}": v for k, v in more.items()}}
    return validate_table(Table(("t",), columns, given_options, primary_key=("k",)))


def batch(rows: list[tuple[str, int]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"k": k, "v": v} for k, v in rows], SCHEMA)


def pairs(flushes: list[pa.RecordBatch]) -> list[list[tuple[str, int]]]:
    return [[(row["k"], row["v"]) for row in flush.to_pylist()] for flush in flushes]


def test_without_the_option_batches_pass() -> None:
    batches = [batch([("a", 1), ("a", 2)]), batch([("a", 3)])]
    assert list(reduced(table(), iter(batches))) == batches


def test_the_last_row_of_each_key() -> None:
    rows = [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("b", 5)]
    definition = table(**{"max-rows": "100", "interval": "1 h"})
    found = list(reduced(definition, iter([batch(rows[:2]), batch(rows[2:])])))
    assert pairs(found) == [[("a", 3), ("c", 4), ("b", 5)]]


def test_a_flush_when_so_many_keys_are_held() -> None:
    definition = table(**{"max-rows": "2", "interval": "1 h"})
    rows = [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("a", 5), ("c", 6)]
    assert pairs(list(reduced(definition, iter([batch(rows)])))) == [[("a", 3), ("b", 4)], [("a", 5), ("c", 6)]]


def test_a_flush_when_the_interval_has_passed() -> None:
    definition = table(**{"max-rows": "100", "interval": "1 ms"})

    def slowly() -> Iterator[pa.RecordBatch]:
        for value in range(3):
            time.sleep(0.005)
            yield batch([("a", value)])

    assert pairs(list(reduced(definition, slowly()))) == [[("a", 0)], [("a", 1)], [("a", 2)]]


@given(
    st.lists(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 99)), max_size=8), max_size=6),
    st.integers(1, 7),
)
def test_no_last_row_is_lost_and_no_order_of_a_key_changed(batches: list[list[tuple[str, int]]], limit: int) -> None:
    numbered = [[(k, n * 1000 + i) for i, (k, _) in enumerate(rows)] for n, rows in enumerate(batches)]
    flushes = pairs(
        list(reduced(table(**{"max-rows": str(limit), "interval": "1 h"}), (batch(rows) for rows in numbered)))
    )
    assert dict(chain.from_iterable(flushes)) == dict(chain.from_iterable(numbered))
    for flush in flushes:
        assert len({k for k, _ in flush}) == len(flush)
    for key in "abcde":
        written = [v for k, v in chain.from_iterable(flushes) if k == key]
        assert written == sorted(written)


def test_kinds() -> None:
    kinds = pa.array(["+I", "-U", "+U", "-D", None])
    assert taken_back(kinds).to_pylist() == [False, True, False, True, False]
    assert taken_back(pa.array([None, None], pa.string())).to_pylist() == [False, False]


def test_a_kind_that_does_not_exist() -> None:
    with pytest.raises(EncodeError, match=r"'D' is no row kind .* '-D' or '-U' to delete it"):
        taken_back(pa.array(["+I", "D"]))


def test_tombstones_between_values() -> None:
    definition, rows = table(), batch([("a", 1), ("b", 2), ("c", 3)])
    found = np.array([True, False, True])
    values = tombstones(definition.value.encoder(SCHEMA), rows, found)
    assert values.to_pylist() == [None, b'{"k":"b","v":2}', None]
    all_of_them = np.array([True] * 3)
    assert tombstones(definition.value.encoder(SCHEMA), rows, all_of_them).to_pylist() == [None] * 3
