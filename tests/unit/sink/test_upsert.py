"""Upsert writes: each flush keeps the last row per key (compared to a dictionary); deletes become tombstones."""

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
from kafka_sql.sink.upsert import encode_with_tombstones, keep_updates_together, reduce_to_last_rows
from kafka_sql.table.changelog import is_retraction
from kafka_sql.table.table import Column, Table

SCHEMA = pa.schema([("k", pa.string()), ("v", pa.int64())])


def table(**buffer_flush_options: str) -> Definition:
    options = {
        "connector": "upsert-kafka",
        "topic": "t",
        "properties.bootstrap.servers": "h:1",
        "key.format": "json",
        "value.format": "json",
    }
    columns = (Column("k", "STRING", "STRING", nullable=False), Column("v", "BIGINT", "BIGINT"))
    table_options = {**options, **{f"sink.buffer-flush.{k}": v for k, v in buffer_flush_options.items()}}
    return validate_table(Table(("t",), columns, table_options, primary_key=("k",)))


def batch(rows: list[tuple[str, int]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"k": k, "v": v} for k, v in rows], SCHEMA)


def pairs(flushes: list[pa.RecordBatch]) -> list[list[tuple[str, int]]]:
    return [[(row["k"], row["v"]) for row in flush.to_pylist()] for flush in flushes]


def test_batches_are_unchanged_without_the_option() -> None:
    batches = [batch([("a", 1), ("a", 2)]), batch([("a", 3)])]
    assert list(reduce_to_last_rows(table(), iter(batches))) == batches


def test_only_the_last_row_of_each_key_is_kept() -> None:
    rows = [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("b", 5)]
    definition = table(**{"max-rows": "100", "interval": "1 h"})
    flushes = list(reduce_to_last_rows(definition, iter([batch(rows[:2]), batch(rows[2:])])))
    assert pairs(flushes) == [[("a", 3), ("c", 4), ("b", 5)]]


def test_flush_at_max_rows() -> None:
    definition = table(**{"max-rows": "2", "interval": "1 h"})
    rows = [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("a", 5), ("c", 6)]
    assert pairs(list(reduce_to_last_rows(definition, iter([batch(rows)])))) == [
        [("a", 3), ("b", 4)],
        [("a", 5), ("c", 6)],
    ]


def test_flush_after_the_interval() -> None:
    definition = table(**{"max-rows": "100", "interval": "1 ms"})

    def slow_batches() -> Iterator[pa.RecordBatch]:
        for value in range(3):
            time.sleep(0.005)
            yield batch([("a", value)])

    assert pairs(list(reduce_to_last_rows(definition, slow_batches()))) == [[("a", 0)], [("a", 1)], [("a", 2)]]


@given(
    st.lists(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 99)), max_size=8), max_size=6),
    st.integers(1, 7),
)
def test_last_rows_and_the_order_per_key_are_preserved(batches: list[list[tuple[str, int]]], limit: int) -> None:
    numbered = [[(k, n * 1000 + i) for i, (k, _) in enumerate(rows)] for n, rows in enumerate(batches)]
    flushes = pairs(
        list(
            reduce_to_last_rows(
                table(**{"max-rows": str(limit), "interval": "1 h"}), (batch(rows) for rows in numbered)
            )
        )
    )
    assert dict(chain.from_iterable(flushes)) == dict(chain.from_iterable(numbered))
    for flush in flushes:
        assert len({k for k, _ in flush}) == len(flush)
    for key in "abcde":
        written = [v for k, v in chain.from_iterable(flushes) if k == key]
        assert written == sorted(written)


def test_retractions_by_row_kind() -> None:
    kinds = pa.array(["+I", "-U", "+U", "-D", None])
    assert is_retraction(kinds).to_pylist() == [False, True, False, True, False]
    assert is_retraction(pa.array([None, None], pa.string())).to_pylist() == [False, False]


def test_an_unknown_row_kind_is_rejected() -> None:
    with pytest.raises(EncodeError, match=r"Invalid row kind 'D' .* '-D' or '-U' to delete it"):
        is_retraction(pa.array(["+I", "D"]))


def test_deletes_are_encoded_as_tombstones() -> None:
    definition, rows = table(), batch([("a", 1), ("b", 2), ("c", 3)])
    deleted = np.array([True, False, True])
    values = encode_with_tombstones(definition.value.create_encoder(SCHEMA), rows, deleted)
    assert values.to_pylist() == [None, b'{"k":"b","v":2}', None]
    all_deleted = np.array([True] * 3)
    assert encode_with_tombstones(definition.value.create_encoder(SCHEMA), rows, all_deleted).to_pylist() == [None] * 3


def changes(*kinds: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"k": ["a"] * len(kinds), "kind": list(kinds)})


def with_row_kind(connector_options: dict[str, str]) -> Definition:
    columns = (
        Column("k", "STRING", "STRING", nullable=False),
        Column("kind", "STRING", "STRING", metadata="row-kind"),
    )
    options = {"topic": "t", "properties.bootstrap.servers": "h:1", **connector_options}
    key = ("k",) if connector_options["connector"] == "upsert-kafka" else ()
    return validate_table(Table(("t",), columns, options, primary_key=key))


UPSERT = {"connector": "upsert-kafka", "key.format": "json", "value.format": "json"}
CDC = {"connector": "kafka", "format": "debezium-json"}


@pytest.mark.parametrize(
    ("options", "batches", "expected"),
    [
        (UPSERT, [["+I", "-U"], ["+U", "-D"]], [["+I"], ["-U", "+U", "-D"]]),
        (UPSERT, [["-U"], ["+U"]], [["-U", "+U"]]),
        (UPSERT, [["+I"], [], ["+U", "-U"]], [["+I"], ["+U"], ["-U"]]),
        (CDC, [["+I", "-U"], ["+U"]], [["+I", "-U"], ["+U"]]),
    ],
)
def test_an_update_is_not_divided_between_batches(
    options: dict[str, str], batches: list[list[str]], expected: list[list[str]]
) -> None:
    kept = keep_updates_together(with_row_kind(options), iter([changes(*kinds) for kinds in batches]))
    assert [rows.column("kind").to_pylist() for rows in kept] == expected
