"""Test values that cannot be converted: malformed Struct, Value and ListValue messages, and Timestamps out of range."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from kafka_sql.formats.format import ColumnOverflow
from kafka_sql.formats.protobuf import decoder, wire_columns
from tests.unit.formats.protobuf.test_editions import inside, message_type, read

TEXT = """syntax = "proto3";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
message M {
  google.protobuf.Struct d = 1;
  repeated google.protobuf.Value v = 2;
  map<string, google.protobuf.ListValue> m = 3;
  repeated google.protobuf.Timestamp t = 4;
  repeated N n = 5;
  int32 k = 6;
}
message N { google.protobuf.Struct d = 1; google.protobuf.Timestamp t = 2; }
enum E { A = 0; LONG_NAME = 1; }
message Names { repeated E e = 1; }
"""
TIME = pa.timestamp("us", "UTC")
COLUMNS = pa.schema(
    [
        ("d", pa.string()),
        ("v", pa.list_(pa.string())),
        ("m", pa.map_(pa.string(), pa.string())),
        ("t", pa.list_(TIME)),
        ("n", pa.list_(pa.struct([("d", pa.string()), ("t", TIME)]))),
        ("k", pa.int32()),
    ]
)
MALFORMED = b"\x0a\x05"
OUT_OF_RANGE = b"\x08" + b"\xff" * 8 + b"\x7f"


def number(k: int) -> bytes:
    return b"\x30" + bytes([k])


ENTRY = inside(1, b"k") + inside(2, b"")
BAD_ENTRY = inside(1, b"k") + inside(2, MALFORMED)
PAYLOADS = [
    number(1),
    inside(1, MALFORMED) + number(2),
    inside(2, b"\x1a\x01x") + inside(2, MALFORMED) + number(3),
    inside(3, ENTRY) + inside(3, ENTRY) + number(4),  # a repeated key: its first entry is dropped
    inside(3, ENTRY) + inside(3, BAD_ENTRY) + number(5),
    inside(4, b"\x08\x01") + inside(4, OUT_OF_RANGE) + number(6),
    inside(5, b"") + inside(5, inside(1, MALFORMED)) + number(7),
    inside(5, inside(2, OUT_OF_RANGE)) + inside(1, MALFORMED) + number(8),
    inside(1, b"") + inside(2, b"\x20\x01") + inside(4, b"\x08\x01") + number(9),
]


def test_values_that_cannot_be_converted_are_errors_of_their_records() -> None:
    rows, errors = read(message_type(TEXT), COLUMNS, PAYLOADS * 3)
    assert [row["k"] for row in rows] == [1, 4, 9] * 3
    absent = dict.fromkeys(COLUMNS.names)
    second = dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.timezone.utc)
    assert rows[1] == {**absent, "m": [("k", "[]")], "k": 4}
    assert rows[2] == {**absent, "d": "{}", "v": ["true"], "t": [second], "k": 9}
    paths = [(1, "d"), (2, "v[]"), (4, "m[]"), (5, "t[]"), (6, "n[].d"), (7, "d")]
    assert [(e.row, e.field) for e in errors] == [(9 * k + row, path) for k in range(3) for row, path in paths]
    assert "a nested message is malformed: Error parsing message" in str(errors[0])
    assert "is a Timestamp out of range: 9223372036854775807 seconds" in str(errors[3])
    ignored = read(message_type(TEXT), COLUMNS, PAYLOADS, ignore_errors=True)
    assert ([row["k"] for row in ignored[0]], ignored[1]) == ([1, 4, 9], [])


def test_malformed_values_are_found_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    decode_rows = decoder.decode_kernels.decode_rows
    monkeypatch.setattr(
        decoder.decode_kernels, "decode_rows", lambda batch: calls.append(batch.end) or decode_rows(batch)
    )
    payloads = [inside(1, MALFORMED), number(1)] * 500
    rows, errors = read(message_type(TEXT), COLUMNS, payloads)
    assert (len(rows), [e.row for e in errors]) == (500, list(range(0, 1000, 2)))
    assert len(calls) <= 2  # again if a column's memory was too small
    payloads = [b"\x0a", number(1)] * 500  # truncated
    rows, errors = read(message_type(TEXT), COLUMNS, payloads)
    assert (len(rows), [e.row for e in errors]) == (500, list(range(0, 1000, 2)))
    assert len(calls) <= 4


def test_timestamps_at_the_limits() -> None:
    def seconds(value: int) -> bytes:
        bits, content = value & (1 << 64) - 1, bytearray(b"\x08")
        while bits > 0x7F:
            content.append(bits & 0x7F | 0x80)
            bits >>= 7
        return inside(4, bytes([*content, bits]))

    columns = pa.schema([("t", pa.list_(TIME))])
    limit = 2**63 // 1_000_000 - 1
    values = [limit, -limit, limit + 2, -limit - 2, 2**63 - 1, -(2**63)]
    rows, errors = read(message_type(TEXT), columns, [seconds(value) for value in values], as_numbers=True)
    assert rows == [{"t": [limit * 1_000_000]}, {"t": [-limit * 1_000_000]}]
    assert [e.row for e in errors] == [2, 3, 4, 5]


def test_names_that_do_not_fit_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire_columns, "_MAX_BYTES", 50)
    columns = pa.schema([("e", pa.list_(pa.string()))])
    descriptor = message_type(TEXT, "Names")
    rows, errors = read(descriptor, columns, [b"\x0a\x05" + b"\x01" * 5])
    assert (rows, errors) == ([{"e": ["LONG_NAME"] * 5}], [])
    rows, errors = read(descriptor, columns, [b"\x0a\x06" + b"\x01" * 6])
    assert rows == []
    assert "has more than 2 GiB of values" in str(errors[0])
    with pytest.raises(ColumnOverflow):
        read(descriptor, columns, [b"\x0a\x03" + b"\x01" * 3] * 2)


def test_json_that_does_not_fit_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    large = inside(2, b"\x11" + b"\x00\x00\x00\x00\x00\x00\xe0\x7e")
    rows, errors = read(message_type(TEXT), COLUMNS, [large])
    monkeypatch.setattr(wire_columns, "_MAX_BYTES", len(rows[0]["v"][0]))
    rows, errors = read(message_type(TEXT), COLUMNS, [large])
    assert (len(rows), errors) == (1, [])
    rows, errors = read(message_type(TEXT), COLUMNS, [large * 2])
    assert (rows, len(errors)) == ([], 1)
    with pytest.raises(ColumnOverflow):
        read(message_type(TEXT), COLUMNS, [large] * 2)
