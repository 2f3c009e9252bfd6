"""Values are written with the precision of their columns, which is lower than that of Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kafka_sql.sink.fractional_seconds import truncate_fractions
from kafka_sql.table.table import Column, Table

TIME, TIMESTAMP, LTZ = pa.time64("ns"), pa.timestamp("us"), pa.timestamp("us", "UTC")


def truncate(declared: str, array: pa.Array) -> list[Any]:
    """Return the written values as integers."""
    table = Table(("t",), (Column("a", "", declared), Column("m", "", "TIME(0)", metadata="x")), {})
    schema = pa.schema([pa.field("a", array.type), pa.field("m", TIME)])
    times = pa.array([1] * len(array), TIME)
    (batch,) = truncate_fractions(table, iter([pa.record_batch([array, times], schema)]))
    batch.validate(full=True)
    assert batch.schema == schema
    assert batch.column("m") == times  # metadata has its own casts
    integers: list[Any] = batch.column("a").cast(pa.int64()).to_pylist()
    return integers


@pytest.mark.parametrize(
    ("declared", "arrow_type", "value", "expected"),
    [
        ("TIME", TIME, 1_999_999_999, 1_000_000_000),
        ("TIME(1) WITHOUT TIME ZONE", TIME, 1_999_999_999, 1_900_000_000),
        ("TIME(6)", TIME, 1_999_999_000, 1_999_999_000),
        ("TIMESTAMP(0)", TIMESTAMP, 1_999_999, 1_000_000),
        ("TIMESTAMP(3)", TIMESTAMP, 1_999_999, 1_999_000),
        ("TIMESTAMP(3)", TIMESTAMP, -1, -1_000),
        ("TIMESTAMP(4)", TIMESTAMP, -1, -100),
        ("TIMESTAMP(0)", TIMESTAMP, -1_500_000, -1_000_000),
        ("TIMESTAMP(2)", TIMESTAMP, -9_000, 0),
        ("TIMESTAMP(2)", TIMESTAMP, -9_001, -10_000),
        # Flink does not count leading zeros of the fraction: 119 µs = 119000 ns has 6 digits, 19 µs has 5
        ("TIMESTAMP(5)", TIMESTAMP, 119, 110),
        ("TIMESTAMP(5)", TIMESTAMP, 1_000_019, 1_000_019),
        ("TIMESTAMP(4)", TIMESTAMP, 1_000_019, 1_000_000),
        ("TIMESTAMP(4)", TIMESTAMP, 9, 9),
        ("TIMESTAMP_LTZ(2)", LTZ, 1_999_999, 1_990_000),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", LTZ, 1_999_999, 1_999_000),
        ("TIMESTAMP", TIMESTAMP, 1_999_999, 1_999_999),
        ("TIMESTAMP_LTZ", LTZ, 1_999_999, 1_999_999),
        ("INT", pa.int64(), 1_999_999, 1_999_999),
    ],
)
def test_precisions(declared: str, arrow_type: pa.DataType, value: int, expected: int) -> None:
    array = pa.array([5, value, None], pa.int64()).cast(arrow_type)
    assert truncate(declared, array)[1:] == [expected, None]
    assert truncate(declared, array[1:]) == [expected, None]
    assert truncate(declared, pa.array([], arrow_type)) == []


@pytest.mark.parametrize("start", [0, 1])
def test_nested_types(start: int) -> None:
    row = pa.struct([("x", TIMESTAMP), ("y", pa.list_(TIME)), ("z", pa.map_(pa.string(), LTZ))])
    values = [
        {"x": 1, "y": None, "z": None},
        {"x": 1_999, "y": [1_999_999_999, None], "z": [("k", 1_999_999), ("l", None)]},
        None,
        {"x": None, "y": [], "z": []},
    ]
    array = pa.array(values, row)[start:]
    declared = "ROW<x TIMESTAMP(3), y ARRAY<TIME(3)>, z MAP<STRING, TIMESTAMP_LTZ(0)>>"
    table = Table(("t",), (Column("a", "", declared),), {})
    batches = iter([pa.record_batch([array], ["a"])])
    (batch,) = truncate_fractions(table, batches)
    batch.validate(full=True)
    expected = [
        {"x": 0, "y": None, "z": None},
        {"x": 1_000, "y": [1_999_000_000, None], "z": [("k", 1_000_000), ("l", None)]},
        None,
        {"x": None, "y": [], "z": []},
    ]
    assert batch.column("a") == pa.array(expected, row)[start:]


def test_batches_without_a_lower_precision_are_not_copied() -> None:
    batches = iter([pa.record_batch([pa.array([1])], ["a"])])
    assert truncate_fractions(Table(("t",), (Column("a", "BIGINT", "BIGINT"),), {}), batches) is batches
