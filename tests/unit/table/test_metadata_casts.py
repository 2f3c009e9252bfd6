"""Test casts of metadata: Flink's values (from the cast rules of Flink 2.3's planner), and unsupported casts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kafka_sql.kafka.columns import headers_to_maps
from kafka_sql.kafka.record_metadata import HEADER_LIST, HEADER_MAP, METADATA, TIMESTAMP_LTZ
from kafka_sql.table.metadata_casts import invalid_type_error, needs_time_zone, read_cast, write_cast

TIMESTAMP = pa.array([1_700_000_000_123, None], pa.int64()).cast(TIMESTAMP_LTZ)
THREE_FIELDS = pa.list_(pa.struct([("k", pa.string()), ("v", pa.binary()), ("w", pa.string())]))
SPARK_LTZ, SPARK_NTZ = pa.timestamp("us", "UTC"), pa.timestamp("us")


def read(array: pa.Array, target: pa.DataType, declared: str, zone: str = "Asia/Tokyo") -> list[Any]:
    cast = read_cast(array.type, target, declared)
    assert cast is not None
    return cast(array, zone).cast(target).cast(pa.string() if pa.types.is_temporal(target) else target).to_pylist()


@pytest.mark.parametrize(
    ("target", "declared", "expected"),
    [
        (SPARK_LTZ, "TIMESTAMP_LTZ(3)", "2023-11-14 22:13:20.123000Z"),
        (SPARK_LTZ, "TIMESTAMP_LTZ(0)", "2023-11-14 22:13:20.000000Z"),
        (SPARK_LTZ, "timestamp_ltz", "2023-11-14 22:13:20.123000Z"),
        (SPARK_NTZ, "TIMESTAMP(3)", "2023-11-15 07:13:20.123000"),
        (SPARK_NTZ, "TIMESTAMP(1)", "2023-11-15 07:13:20.100000"),
        (pa.string(), "STRING", "2023-11-15 07:13:20.123"),
        (pa.date32(), "DATE", "2023-11-15"),
    ],
)
def test_a_timestamp(target: pa.DataType, declared: str, expected: str) -> None:
    assert read(TIMESTAMP, target, declared) == [expected, None]


def test_full_seconds_keep_their_fraction_digits() -> None:
    assert read(pa.array([1000], TIMESTAMP_LTZ), pa.string(), "STRING", "UTC") == ["1970-01-01 00:00:01.000"]


@pytest.mark.parametrize("zone", ["UTC", "+09:00", "America/New_York"])
def test_time_zones(zone: str) -> None:
    hour = {"UTC": "22", "+09:00": "07", "America/New_York": "17"}[zone]
    assert read(TIMESTAMP[:1], pa.string(), "STRING", zone)[0][11:13] == hour


@pytest.mark.parametrize(
    ("array", "target", "declared", "expected"),
    [
        (pa.array([7, None], pa.int32()), pa.int64(), "BIGINT", [7, None]),
        (pa.array([7, None], pa.int32()), pa.string(), "STRING", ["7", None]),
        (pa.array([7], pa.int32()), pa.float64(), "DOUBLE", [7.0]),
        (pa.array([16_777_217], pa.int32()), pa.float32(), "FLOAT", [16_777_216.0]),
        (pa.array([7], pa.int64()), pa.decimal128(21, 2), "DECIMAL(21, 2)", [Decimal("7.00")]),
        (pa.array(["ü"]), pa.binary(), "BYTES", ["ü".encode()]),
        (pa.array(["ü"]), pa.string(), "VARCHAR(2147483647)", ["ü"]),
    ],
)
def test_numbers_and_strings(array: pa.Array, target: pa.DataType, declared: str, expected: list[Any]) -> None:
    assert read(array, target, declared) == expected


@pytest.mark.parametrize(
    ("key", "target", "declared"),
    [
        ("partition", pa.int16(), "SMALLINT"),
        ("partition", pa.bool_(), "BOOLEAN"),
        ("partition", pa.decimal128(9, 0), "DECIMAL(9, 0)"),
        ("partition", SPARK_LTZ, "TIMESTAMP_LTZ(3)"),
        ("offset", pa.int32(), "INT"),
        ("offset", pa.string(), "VARCHAR(5)"),
        ("topic", pa.string(), "CHAR(3)"),
        ("topic", pa.int32(), "INT"),
        ("timestamp", pa.int64(), "BIGINT"),
        ("timestamp", pa.string(), "VARCHAR(5)"),
        ("timestamp", pa.time64("ns"), "TIME"),
        ("headers", pa.string(), "STRING"),
        ("headers", pa.map_(pa.string(), pa.int32()), "MAP<STRING, INT>"),
        ("header-list", pa.list_(pa.string()), "ARRAY<STRING>"),
    ],
)
def test_unsupported_casts(key: str, target: pa.DataType, declared: str) -> None:
    assert read_cast(METADATA[key].type, target, declared) is None


def headers(*records: list[tuple[str, bytes | None]]) -> pa.ListArray:
    return pa.array([[{"key": k, "value": v} for k, v in record] for record in records], HEADER_LIST)


def test_the_last_of_several_headers_with_one_name() -> None:
    header_list = headers(
        [("a", b"1"), ("b", b"2"), ("a", None)], [], [("a", b"3")], [("a", b"4"), ("a", b"5"), ("a", b"6")]
    )
    expected = [[("b", b"2"), ("a", None)], [], [("a", b"3")], [("a", b"6")]]
    assert headers_to_maps(header_list).to_pylist() == expected
    assert headers_to_maps(header_list[1:]).to_pylist() == expected[1:]
    assert headers_to_maps(headers()).to_pylist() == []


def test_headers_as_strings() -> None:
    header_list = headers([("a", "ü".encode()), ("b", b"\xff"), ("c", None)])
    strings = pa.map_(pa.string(), pa.string())
    assert read(headers_to_maps(header_list), strings, "MAP<STRING, STRING>") == [
        [("a", "ü"), ("b", "\ufffd"), ("c", None)]
    ]
    pairs = pa.list_(pa.struct([("n", pa.binary()), ("v", pa.string())]))
    assert read(header_list, pairs, "ARRAY<ROW<n BYTES, v STRING>>") == [
        [{"n": b"a", "v": "ü"}, {"n": b"b", "v": "\ufffd"}, {"n": b"c", "v": None}]
    ]
    assert headers_to_maps(header_list).type == HEADER_MAP


def test_ambiguous_local_time_is_written_as_in_java() -> None:
    cast = write_cast(SPARK_NTZ, TIMESTAMP_LTZ, "TIMESTAMP(3)")
    assert cast is not None
    # occurs twice in Berlin; the first is in summer time
    local = pa.array(["2023-10-29 02:30:00", None]).cast(SPARK_NTZ)
    assert cast(local, "Europe/Berlin").cast(pa.int64()).to_pylist() == [1_698_539_400_000_000, None]
    with pytest.raises(pa.ArrowInvalid, match="doesn't exist"):
        cast(pa.array(["2023-03-26 02:30:00"]).cast(SPARK_NTZ), "Europe/Berlin")


@pytest.mark.parametrize(
    ("source", "key", "declared", "is_supported"),
    [
        (SPARK_LTZ, "timestamp", "TIMESTAMP_LTZ(3)", True),
        (pa.string(), "timestamp", "STRING", False),
        (pa.int64(), "timestamp", "BIGINT", False),
        (pa.string(), "topic", "STRING", True),
        (pa.string(), "topic", "CHAR(3)", False),
        (pa.map_(pa.string(), pa.string()), "headers", "MAP<STRING, STRING>", True),
        (pa.map_(pa.string(), pa.int32()), "headers", "MAP<STRING, INT>", False),
        (HEADER_LIST, "header-list", "ARRAY<ROW<k STRING, v BYTES>>", True),
        (HEADER_LIST, "headers", "ARRAY<ROW<k STRING, v BYTES>>", False),
        (THREE_FIELDS, "header-list", "ARRAY<ROW<k STRING, v BYTES, w STRING>>", False),
    ],
)
def test_write_casts(source: pa.DataType, key: str, declared: str, is_supported: bool) -> None:
    assert (write_cast(source, METADATA[key].type, declared) is not None) == is_supported


def test_casts_that_need_a_time_zone() -> None:
    assert [needs_time_zone(TIMESTAMP_LTZ, t) for t in (SPARK_LTZ, SPARK_NTZ, pa.string())] == [False, True, True]
    assert needs_time_zone(SPARK_NTZ, TIMESTAMP_LTZ)
    assert not needs_time_zone(pa.int32(), pa.string())


@pytest.mark.parametrize(("is_read", "direction"), [(True, "from"), (False, "to")])
def test_the_error_names_the_direction_of_the_cast(is_read: bool, direction: str) -> None:
    error = invalid_type_error("t", "c", "offset", "STRING", "BIGINT NOT NULL", is_read)
    assert f"must be castable {direction} metadata type 'BIGINT NOT NULL'. " in str(error)
    assert "declare the column as 'BIGINT', and cast" in str(error)
