"""Test every logical type with every column type: the right value, or an error that names both types."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any, Final

import fastavro
import numpy as np
import pyarrow as pa
import pytest

from kafka_sql.errors import DecodeError
from kafka_sql.formats.avro.decode_plan import SchemaMismatch
from kafka_sql.formats.avro.decoder import AvroReader
from kafka_sql.formats.avro.resolution import resolve_schemas
from kafka_sql.formats.avro.schema import parse_schema
from kafka_sql.formats.avro.schema_from_table import derive_schema
from tests.unit.formats.avro.oracle import encode_rows

COLUMN_TYPES: Final = {
    "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64(), "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_(), "STRING": pa.string(), "BYTES": pa.binary(),
    "DECIMAL": pa.decimal128(6, 2), "DATE": pa.date32(), "TIME": pa.time64("ns"), "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMP_LTZ": pa.timestamp("us", "UTC"),
}  # fmt: skip
NUMBERS: Final = ("BIGINT", "FLOAT", "DOUBLE")
SMALL_NUMBERS: Final = ("TINYINT", "SMALLINT", "INT", *NUMBERS)
HUNDRED: Final = dt.datetime(1970, 1, 1, 0, 0, 0, 100)  # of the unit of TIMESTAMP(6)
TIMESTAMPS: Final = ("TIMESTAMP", "TIMESTAMP_LTZ")


def logical(avro_type: str, logical_type: str, **attributes: Any) -> dict[str, Any]:
    return {"type": avro_type, "logicalType": logical_type, **attributes}


# A type, its value without logical types, and the value in the column types that can read it
WRITERS: Final[list[tuple[Any, Any, dict[str, Any]]]] = [
    (logical("int", "date"), 100, {**dict.fromkeys(SMALL_NUMBERS, 100), "DATE": dt.date(1970, 4, 11)}),
    (logical("int", "time-millis"), 100, {**dict.fromkeys(SMALL_NUMBERS, 100), "TIME": dt.time(0, 0, 0, 100_000)}),
    (logical("long", "time-micros"), 7000, {**dict.fromkeys(NUMBERS, 7000), "TIME": dt.time(0, 0, 0, 7000)}),
    *(
        (logical("long", f"{prefix}timestamp-{unit}"), 2_000_000_000_000 // factor,
         {**dict.fromkeys(("BIGINT", "DOUBLE"), 2_000_000_000_000 // factor),
          "FLOAT": float(np.float32(2_000_000_000_000 // factor)),
          **dict.fromkeys(TIMESTAMPS, dt.datetime(1970, 1, 1, 0, 33, 20))})
        for prefix in ("", "local-") for unit, factor in (("millis", 1_000_000), ("micros", 1000), ("nanos", 1))
    ),
    (logical("bytes", "decimal", precision=6, scale=2), b"\x04\xd2",
     {"BYTES": b"\x04\xd2", "DECIMAL": Decimal("12.34")}),
    (logical("fixed", "decimal", name="F", size=3, precision=6, scale=2), b"\x00\x04\xd2",
     {"BYTES": b"\x00\x04\xd2", "DECIMAL": Decimal("12.34")}),
    (logical("bytes", "decimal", precision=6, scale=1), b"\x04\xd2", {"BYTES": b"\x04\xd2"}),
    (logical("bytes", "big-decimal"), b"\x04\xd2", {"BYTES": b"\x04\xd2"}),
    (logical("fixed", "duration", name="D", size=12), bytes(12), {"BYTES": bytes(12)}),
    (logical("string", "uuid"), "a-b", {"STRING": "a-b", "BYTES": b"a-b"}),
    (logical("fixed", "uuid", name="U", size=16), bytes(16), {"BYTES": bytes(16)}),
    # without a logical type, a value has the unit of the column
    ("int", 100, {**dict.fromkeys(SMALL_NUMBERS, 100), "DATE": dt.date(1970, 4, 11),
                  "TIME": dt.time(0, 0, 0, 100_000), **dict.fromkeys(TIMESTAMPS, HUNDRED)}),
    ("long", 100, {**dict.fromkeys(NUMBERS, 100), "TIME": dt.time(0, 0, 0, 100_000),
                   **dict.fromkeys(TIMESTAMPS, HUNDRED)}),
    ("float", 1.5, {"FLOAT": 1.5, "DOUBLE": 1.5}),
    ("double", 1.5, {"DOUBLE": 1.5}),
    ("boolean", True, {"BOOLEAN": True}),
    ("string", "x", {"STRING": "x", "BYTES": b"x"}),
    ("bytes", b"\x04\x41", {"STRING": "\x04A", "BYTES": b"\x04A", "DECIMAL": Decimal("10.89")}),
    ({"type": "fixed", "name": "X", "size": 2}, b"\x04\x41", {"BYTES": b"\x04A", "DECIMAL": Decimal("10.89")}),
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", {"STRING": "B"}),
    # logical types that the specification ignores
    (logical("int", "timestamp-millis"), 100, {**dict.fromkeys(SMALL_NUMBERS, 100), "DATE": dt.date(1970, 4, 11),
     "TIME": dt.time(0, 0, 0, 100_000), **dict.fromkeys(TIMESTAMPS, HUNDRED)}),
    (logical("bytes", "decimal"), b"\x04\x41", {"STRING": "\x04A", "BYTES": b"\x04A", "DECIMAL": Decimal("10.89")}),
    (logical("string", "decimal", precision=6, scale=2), "x", {"STRING": "x", "BYTES": b"x"}),
    (logical("string", "unknown"), "x", {"STRING": "x", "BYTES": b"x"}),
]  # fmt: skip


def record(avro_type: Any, **attributes: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [{"name": "a", "type": avro_type, **attributes}]}


def without_logical_type(avro_type: Any) -> Any:
    if not isinstance(avro_type, dict) or "logicalType" not in avro_type:
        return avro_type
    return avro_type["type"] if avro_type["type"] != "fixed" else {k: avro_type[k] for k in ("type", "name", "size")}


def read(writer: Any, reader: str, columns: pa.Schema, payload: bytes) -> Any:
    plan = resolve_schemas(parse_schema(json.dumps(writer)), parse_schema(reader), columns)
    value = AvroReader(plan).decode(pa.array([payload], pa.binary())).columns[0].to_pylist()[0]
    return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value


@pytest.mark.sample(10)
@pytest.mark.parametrize("is_union", [False, True])
@pytest.mark.parametrize("column_type", COLUMN_TYPES)
def test_logical_types(column_type: str, is_union: bool) -> None:
    columns = pa.schema([("a", COLUMN_TYPES[column_type])])
    reader = derive_schema(columns, legacy=True, lenient=True)
    for avro_type, value, values in WRITERS:
        plain = fastavro.parse_schema(record([without_logical_type(avro_type)] if is_union else
                                             without_logical_type(avro_type)))  # fmt: skip
        [payload] = encode_rows(plain, [{"a": value}])
        writer = record([avro_type] if is_union else avro_type)
        if column_type in values:
            assert read(writer, reader, columns, payload) == values[column_type], (avro_type, column_type)
        else:
            shown = str(parse_schema(json.dumps(avro_type)))
            with pytest.raises(
                (SchemaMismatch, DecodeError)
            ) as e:  # of a union, only the payloads that have the branch fail
                read(writer, reader, columns, payload)
            assert "'a'" in str(e.value)
            assert "found a decimal of scale 1, expected DECIMAL(6, 2)" in str(e.value) or (
                f"found {shown}, expected a type that can be read as {columns.field('a').type}" in str(e.value)
            ), (avro_type, column_type)


# A column type, the reader's type, and its default in JSON
DEFAULTS: Final = [
    ("TINYINT", "int", -3), ("SMALLINT", "int", -3), ("INT", "int", -3), ("BIGINT", "long", -(2**40)),
    ("FLOAT", "float", 1.5), ("FLOAT", "float", 2), ("DOUBLE", "double", -1.5), ("BOOLEAN", "boolean", True),
    ("STRING", "string", "é"), ("STRING", {"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B"),
    ("BYTES", "bytes", "\u00ff\u0001"), ("BYTES", {"type": "fixed", "name": "F", "size": 2}, "\u00ff\u0001"),
    ("DECIMAL", logical("bytes", "decimal", precision=5, scale=2), "\u0004\u00d2"),
    ("DECIMAL", logical("bytes", "decimal", precision=5, scale=2), "\u00fb\u002e"),
    ("DECIMAL", logical("fixed", "decimal", name="D", size=4, precision=5, scale=2), "\u0000\u0000\u0004\u00d2"),
    ("DATE", logical("int", "date"), 19000), ("TIME", logical("int", "time-millis"), 100),
    ("TIME", logical("long", "time-micros"), 100_000),
    ("TIMESTAMP", logical("long", "timestamp-millis"), 100),
    ("TIMESTAMP", logical("long", "local-timestamp-micros"), 7),
    ("TIMESTAMP_LTZ", logical("long", "timestamp-micros"), -7),
]  # fmt: skip
NESTED: Final[list[tuple[pa.DataType, Any, Any]]] = [
    (pa.list_(pa.int32()), {"type": "array", "items": "int"}, [1, 2, 3]),
    (pa.list_(pa.int32()), {"type": "array", "items": "int"}, []),
    (pa.list_(pa.list_(pa.string())), {"type": "array", "items": {"type": "array", "items": "string"}},
     [["a", "b"], [], ["c"]]),
    (pa.map_(pa.string(), pa.int64()), {"type": "map", "values": "long"}, {"a": 1, "é": 2}),
    (pa.map_(pa.string(), pa.list_(pa.bool_())), {"type": "map", "values": {"type": "array", "items": "boolean"}},
     {"a": [True], "b": []}),
    (pa.struct([("x", pa.int32()), ("y", pa.list_(pa.string()))]),
     {"type": "record", "name": "I", "fields": [{"name": "x", "type": "int", "default": 7},
                                                {"name": "y", "type": {"type": "array", "items": "string"}}]},
     {"y": ["z"]}),
    (pa.list_(pa.struct([("x", pa.int32())])),
     {"type": "array", "items": {"type": "record", "name": "I", "fields": [{"name": "x", "type": "int"}]}},
     [{"x": 1}, {"x": 2}]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arrow_type", "avro_type", "default"),
    [(COLUMN_TYPES[name], avro_type, default) for name, avro_type, default in DEFAULTS] + NESTED,
    ids=str,
)
@pytest.mark.parametrize("is_union", [False, True])
def test_defaults_match_fastavro(arrow_type: pa.DataType, avro_type: Any, default: Any, is_union: bool) -> None:
    reader = record([avro_type, "null"] if is_union else avro_type, default=default)
    reader["fields"].insert(0, {"name": "k", "type": "int"})
    writer = {"type": "record", "name": "R", "fields": [{"name": "k", "type": "int"}]}
    columns = pa.schema([("k", pa.int32()), ("a", arrow_type)])
    plan = resolve_schemas(parse_schema(json.dumps(writer)), parse_schema(json.dumps(reader)), columns)
    payloads = [b"\x02", b"\x04"]
    arrays = AvroReader(plan).decode(pa.array(payloads, pa.binary())).columns
    for array in arrays:
        array.validate(full=True)
    assert arrays[0].to_pylist() == [1, 2]
    # fastavro returns defaults as they are in JSON: encode them as it encodes a value, and decode the value
    value = _from_json(default, avro_type)
    schema = fastavro.parse_schema(record(avro_type))
    [payload] = encode_rows(schema, [{"a": value}])
    same_reader = json.dumps(record(avro_type))
    only = resolve_schemas(parse_schema(same_reader), parse_schema(same_reader), pa.schema([("a", arrow_type)]))
    [expected] = AvroReader(only).decode(pa.array([payload], pa.binary())).columns
    assert arrays[1].to_pylist() == expected.to_pylist() * 2


def _from_json(default: Any, avro_type: Any) -> Any:
    """Return a default as a value for fastavro."""
    logical_type = avro_type.get("logicalType") if isinstance(avro_type, dict) else None
    name = avro_type["type"] if isinstance(avro_type, dict) else avro_type
    if logical_type == "decimal":
        return Decimal(int.from_bytes(default.encode("latin-1"), "big", signed=True)).scaleb(-2)
    if logical_type == "date":
        return dt.date(1970, 1, 1) + dt.timedelta(days=default)
    if logical_type in ("time-millis", "time-micros"):
        unit = 1000 if logical_type == "time-millis" else 1
        return (dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=default * unit)).time()
    if logical_type is not None:
        delta = dt.timedelta(microseconds=default * (1000 if logical_type.endswith("millis") else 1))
        epoch = (
            dt.datetime(1970, 1, 1)
            if logical_type.startswith("local")
            else dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
        )
        return epoch + delta
    if name in ("bytes", "fixed"):
        return default.encode("latin-1")
    return {"x": 7, **default} if name == "record" else default


@pytest.mark.parametrize(
    ("name", "avro_type", "default"),
    [
        ("INT", "int", 2**31), ("INT", "int", 1.5), ("INT", "int", True), ("INT", "int", "1"),
        ("BOOLEAN", "boolean", 1),
        ("BIGINT", "long", 2**63), ("TIMESTAMP", logical("long", "timestamp-millis"), 2**63 - 1),
        ("DOUBLE", "double", "x"), ("STRING", "string", 1), ("BYTES", "bytes", "\u0100"),
        ("BYTES", {"type": "fixed", "name": "F", "size": 2}, "a"), ("DECIMAL", "bytes", ""),
        ("DECIMAL", logical("bytes", "decimal", precision=9, scale=2), "\u000f\u0042\u0040"),
        ("DECIMAL", logical("bytes", "decimal", precision=5, scale=1), "\u0001"),
        ("STRING", logical("bytes", "decimal", precision=5, scale=1), "\u0001"),
        ("TIMESTAMP", logical("int", "date"), 1),
    ],
)  # fmt: skip
def test_invalid_defaults(name: str, avro_type: Any, default: Any) -> None:
    reader, columns = record(avro_type, default=default), pa.schema([("a", COLUMN_TYPES[name])])
    writer = {"type": "record", "name": "R", "fields": [{"name": "k", "type": "int"}]}
    with pytest.raises(SchemaMismatch, match=r"field 'a': the default .* is not .* that can be read as"):
        resolve_schemas(parse_schema(json.dumps(writer)), parse_schema(json.dumps(reader)), columns)


def test_the_default_null_of_a_column_that_is_not_null() -> None:
    reader, columns = record(["null", "int"], default=None), pa.schema([pa.field("a", pa.int32(), nullable=False)])
    with pytest.raises(SchemaMismatch, match="field 'a': the default is null, but declared NOT NULL"):
        resolve_schemas(parse_schema(json.dumps(record("int", name="b"))), parse_schema(json.dumps(reader)), columns)


def test_a_payload_that_is_null_in_a_union() -> None:
    """Avro's null is no record. A Kafka record without a value is, and has no row."""
    columns = pa.schema([("a", pa.int32())])
    writer = ["null", record("int")]
    plan = resolve_schemas(parse_schema(json.dumps(writer)), parse_schema(json.dumps(record("int"))), columns)
    errors: list[DecodeError] = []
    payloads = pa.array([b"\x02\x02", b"\x00", b"\x02\x04"], pa.binary())
    decoded = AvroReader(plan).decode(payloads, errors)
    assert (decoded.columns[0].to_pylist(), decoded.payload_indices.to_pylist()) == ([1, 2], [0, 2])
    assert [str(e).partition(";")[0].partition(": ")[2] for e in errors] == [
        "the payload is null, expected a record with the table's columns as its fields"
    ]
