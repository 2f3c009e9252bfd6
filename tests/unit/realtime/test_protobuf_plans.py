"""Test the descriptions of messages that Java reads."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from kafka_sql.errors import SchemaError
from kafka_sql.formats.protobuf import opcodes
from kafka_sql.realtime.protobuf_plans import message_plan_json
from tests.unit.formats.protobuf.oracle import ITEM, ORDER


def plan(schema: pa.Schema, message: Any, **options: bool) -> Any:
    return json.loads(message_plan_json(schema, message, **options))["message"]


def test_fields_without_a_column_that_must_be_seen() -> None:
    fields = plan(pa.schema([("y", pa.string())]), ITEM)["fields"]
    seen = [(f["number"], f["kind"], f["column"], f["wire_type"], f["is_required"]) for f in fields]
    assert seen == [
        (1, "unmapped", -1, opcodes.VARINT, True),
        (12, "unmapped", -1, opcodes.VARINT, False),
        (13, "scalar", 0, opcodes.LEN, False),
    ]
    assert [f["oneof"] for f in fields] == [-1, 0, 0]


def test_not_null_columns_are_in_the_order_of_errors() -> None:
    inner = pa.struct([("x", pa.int64()), pa.field("flags", pa.map_(pa.string(), pa.bool_()), False)])
    line = pa.struct([pa.field("qty", pa.int32(), False), ("inner", inner)])
    schema = pa.schema([("lines", pa.list_(line)), ("ml", pa.map_(pa.int32(), line)), pa.field("i", pa.int32(), False)])
    root = plan(schema, ORDER)
    lines, entries = root["fields"][1]["message"], root["fields"][2]["message"]
    of_entries = entries["fields"][1]["message"]
    found = root["not_null"] + lines["not_null"] + lines["fields"][1]["message"]["not_null"] + of_entries["not_null"]
    assert sorted((n["position"], n["path"], n["column"]) for n in found) == [
        (1, "lines[].qty", 0),
        (4, "lines[].inner.flags", 1),
        (6, "ml[].qty", 0),
        (10, "i", 2),
    ]
    assert entries["not_null"] == []


def test_defaults() -> None:
    schema = pa.schema([("name", pa.string()), ("size", pa.string()), ("price", pa.float64()), ("raw", pa.binary())])
    assert [f["default"] for f in plan(schema, ITEM)["fields"][1:]] == [None] * 4
    defaults = [f["default"] for f in plan(schema, ITEM, read_defaults=True)["fields"][1:]]
    assert defaults == [b"none".hex(), 5, 0x3FF8000000000000, ""]


def test_columns_without_a_field() -> None:
    schema = pa.schema([("id", pa.int64()), ("other", pa.int32())])
    fields = plan(schema, ITEM, allow_evolution=True)["fields"]
    assert [(f["path"], f["column"]) for f in fields] == [("id", 0)]
    with pytest.raises(SchemaError, match="Column other does not exist"):
        plan(schema, ITEM)
