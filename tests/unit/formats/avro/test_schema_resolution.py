"""Test schema resolution, where writer's and reader's schema differ, against fastavro."""

from __future__ import annotations

import json
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import DecodeError
from kafka_sql.formats.avro.decode_plan import SchemaMismatch
from kafka_sql.formats.avro.decoder import AvroReader
from kafka_sql.formats.avro.resolution import resolve_schemas
from kafka_sql.formats.avro.schema import parse_schema
from tests.hypothesis_examples import examples
from tests.unit.formats.avro.oracle import decode_row, encode_rows, to_avro_values

COLUMNS = pa.schema(
    [
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("s", pa.string()),
        ("b", pa.binary()),
        ("a", pa.list_(pa.int64())),
        ("m", pa.map_(pa.string(), pa.string())),
        ("r", pa.struct([("x", pa.int64()), ("y", pa.list_(pa.struct([("z", pa.string())])))])),
    ]
)


def nullable(avro_type: Any) -> Any:
    return ["null", avro_type]


def field(name: str, avro_type: Any) -> dict[str, Any]:
    return {"name": name, "type": nullable(avro_type), "default": None}


READER = {
    "type": "record",
    "name": "reader",
    "fields": [
        field("i", "int"),
        field("l", "long"),
        field("f", "float"),
        field("d", "double"),
        field("s", "string"),
        field("b", "bytes"),
        field("a", {"type": "array", "items": nullable("long")}),
        field("m", {"type": "map", "values": nullable("string")}),
        field(
            "r",
            {
                "type": "record",
                "name": "inner",
                "fields": [
                    field("x", "long"),
                    field(
                        "y",
                        {
                            "type": "array",
                            "items": nullable({"type": "record", "name": "deep", "fields": [field("z", "string")]}),
                        },
                    ),
                ],
            },
        ),
    ],
}
PROMOTED = {"int": ["int"], "long": ["int", "long"], "float": ["int", "long", "float"],
            "double": ["int", "long", "float", "double"], "string": ["string"], "bytes": ["bytes"]}  # fmt: skip
EXTRA = ("int", "string", "boolean", "double", {"type": "array", "items": "string"}, {"type": "map", "values": "long"},
         {"type": "array", "items": "null"}, {"type": "fixed", "name": "F", "size": 3}, ["null", "int", "string"],
         {"type": "enum", "name": "E", "symbols": ["A", "B"]},
         {"type": "array", "items": {"type": "array", "items": "int"}},
         {"type": "record", "name": "X", "fields": [{"name": "p", "type": ["null", "bytes"]}]})  # fmt: skip


@st.composite
def writer_types(draw: st.DrawFn, avro_type: Any) -> Any:
    """Generate a writer's type that resolves to a reader's: promoted, with or without null, its fields in any order."""
    if isinstance(avro_type, list):
        branch = draw(writer_types(avro_type[1]))
        if isinstance(branch, list):
            return branch
        return draw(st.sampled_from([branch, ["null", branch], [branch, "null"], [branch]]))
    if isinstance(avro_type, str):
        return draw(st.sampled_from(PROMOTED[avro_type]))
    if avro_type["type"] == "array":
        return {"type": "array", "items": draw(writer_types(avro_type["items"]))}
    if avro_type["type"] == "map":
        return {"type": "map", "values": draw(writer_types(avro_type["values"]))}
    written_fields = [f for f in avro_type["fields"] if draw(st.integers(0, 4))]
    fields = [{"name": f["name"], "type": draw(writer_types(f["type"]))} for f in written_fields]
    if avro_type["name"] == "reader":
        fields += [{"name": f"extra{k}", "type": e} for k, e in enumerate(EXTRA) if not draw(st.integers(0, 9))]
    fields = draw(st.permutations(fields)) or [{"name": "other", "type": "int"}]
    return {"type": "record", "name": avro_type["name"], "fields": fields}


@st.composite
def values(draw: st.DrawFn, avro_type: Any) -> Any:
    """Generate a value of a writer's type."""
    if isinstance(avro_type, list):
        return draw(values(draw(st.sampled_from(avro_type))))
    type_name = avro_type if isinstance(avro_type, str) else avro_type["type"]
    if type_name == "record":
        return {f["name"]: draw(values(f["type"])) for f in avro_type["fields"]}
    if type_name == "array":
        return draw(st.lists(values(avro_type["items"]), max_size=3))
    if type_name == "map":
        return draw(st.dictionaries(st.text(max_size=3), values(avro_type["values"]), max_size=3))
    return draw(
        {
            "null": st.none(),
            "int": st.integers(-(2**31), 2**31 - 1),
            "long": st.integers(-(2**63), 2**63 - 1),
            "float": st.floats(width=32, allow_nan=False),
            "double": st.floats(allow_nan=False),
            "boolean": st.booleans(),
            "string": st.text(max_size=5),
            "bytes": st.binary(max_size=5),
            "fixed": st.binary(min_size=3, max_size=3),
            "enum": st.sampled_from(["A", "B"]),
        }[type_name]
    )


def decode(writer: Any, reader: Any, columns: pa.Schema, payloads: list[bytes]) -> list[Any]:
    """Return rows as Avro's primitive types."""
    resolution = resolve_schemas(parse_schema(json.dumps(writer)), parse_schema(json.dumps(reader)), columns)
    arrays = AvroReader(resolution).decode(pa.array(payloads, pa.binary())).columns
    for array in arrays:
        array.validate(full=True)
    return to_avro_values(pa.StructArray.from_arrays(arrays, fields=list(columns)))


def round_float(row: Any) -> Any:
    """Return a row with its column ``f`` rounded to a float, because fastavro returns a double."""
    number = row["f"]
    return {**row, "f": None if number is None else float(np.float32(number))}


@examples(80)
@given(data=st.data(), writer=writer_types(READER))
def test_resolution_matches_fastavro(data: st.DataObject, writer: Any) -> None:
    rows = data.draw(st.lists(values(writer), min_size=1, max_size=4))
    schema, reader = fastavro.parse_schema(writer), fastavro.parse_schema(READER)
    payloads = encode_rows(schema, rows)
    expected = [round_float(decode_row(p, schema, reader)) for p in payloads]
    assert decode(writer, READER, COLUMNS, payloads) == expected


def record(*fields: Any) -> Any:
    return {"type": "record", "name": "R", "fields": list(fields)}


def test_defaults_and_aliases() -> None:
    inner = {"type": "record", "name": "I", "fields": [{"name": "x", "type": "int", "default": 7},
                                                       {"name": "y", "type": "string"}]}  # fmt: skip
    reader = record(
        {"name": "now", "type": "int", "aliases": ["before"]},
        {"name": "n", "type": "long", "default": -5},
        {"name": "f", "type": "float", "default": 1.5},
        {"name": "d", "type": "double", "default": 2},
        {"name": "t", "type": "string", "default": "é"},
        {"name": "b", "type": "bytes", "default": "\u00ff\u0001"},
        {"name": "o", "type": "boolean", "default": True},
        {"name": "l", "type": {"type": "array", "items": "int"}, "default": []},
        {"name": "m", "type": {"type": "map", "values": "int"}, "default": {}},
        {"name": "r", "type": inner, "default": {"y": "z"}},
        {"name": "u", "type": ["string", "null"], "default": "first"},
    )
    columns = pa.schema(
        [("now", pa.int32()), ("n", pa.int64()), ("f", pa.float32()), ("d", pa.float64()), ("t", pa.string()),
         ("b", pa.binary()), ("o", pa.bool_()), ("l", pa.list_(pa.int32())), ("m", pa.map_(pa.string(), pa.int32())),
         ("r", pa.struct([("x", pa.int32()), ("y", pa.string())])), ("u", pa.string())]
    )  # fmt: skip
    writer = record({"name": "before", "type": "int"})
    expected = {"now": 3, "n": -5, "f": 1.5, "d": 2.0, "t": "é", "b": b"\xff\1", "o": True, "l": [], "m": {},
                "r": {"x": 7, "y": "z"}, "u": "first"}  # fmt: skip
    assert decode(writer, reader, columns, [b"\x06", b"\x06"]) == [expected] * 2


def decode_value(
    arrow_type: pa.DataType, writer: Any, payload: bytes, reader: Any = None, **field_attributes: Any
) -> Any:
    """Return the value of the only column, ``a``, in a payload."""
    columns = pa.schema([pa.field("a", arrow_type, **field_attributes)])
    [row] = decode(
        record({"name": "a", "type": writer}), record({"name": "a", "type": reader or writer}), columns, [payload]
    )
    return row["a"]


def test_conversions_beyond_the_specification() -> None:
    enum = {"type": "enum", "name": "E", "symbols": ["A", "é"]}
    assert decode_value(pa.string(), enum, b"\x02") == "é"
    assert decode_value(pa.string(), ["null", enum], b"\x02\x00") == "A"
    assert decode_value(pa.binary(), {"type": "fixed", "name": "F", "size": 2}, b"ab") == b"ab"
    decimal = {"type": "fixed", "name": "D", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2}
    assert decode_value(pa.decimal128(9, 2), decimal, b"\xff\xff\xff\x6a") == b"\xff\x6a"
    smaller = {"type": "enum", "name": "E", "symbols": ["A", "B"], "default": "B"}
    assert decode_value(pa.string(), {"type": "enum", "name": "E", "symbols": ["X", "A"]}, b"\x00", smaller) == "B"
    assert decode_value(pa.string(), {"type": "enum", "name": "E", "symbols": ["X", "A"]}, b"\x02", smaller) == "A"
    for payload, reader in ((b"\x04", None), (b"\x00", {"type": "enum", "name": "E", "symbols": ["A"]})):
        with pytest.raises(DecodeError, match="no such symbol"):
            decode_value(pa.string(), {"type": "enum", "name": "E", "symbols": ["X", "A"]}, payload, reader)


@pytest.mark.parametrize(
    ("logical", "arrow_type", "written", "expected"),
    [
        ("timestamp-millis", pa.timestamp("us"), -1, -1000),
        ("local-timestamp-micros", pa.timestamp("us"), -1, -1),
        ("timestamp-micros", pa.timestamp("us", "UTC"), 5, 5),
        ("timestamp-nanos", pa.timestamp("us", "UTC"), -1, -1),
        ("time-millis", pa.time64("ns"), 5, 5),
        ("time-micros", pa.time64("ns"), 5000, 5),
    ],
)
def test_times_are_converted_from_the_unit_of_the_writer(
    logical: str, arrow_type: pa.DataType, written: int, expected: int
) -> None:
    writer = {"type": "int" if logical == "time-millis" else "long", "logicalType": logical}
    reader = {"type": "long", "logicalType": "timestamp-millis"}
    payload = encode_rows(fastavro.parse_schema(record({"name": "a", "type": writer["type"]})), [{"a": written}])[0]
    assert decode_value(arrow_type, writer, payload, reader) == expected


@pytest.mark.parametrize(
    ("arrow_type", "writer", "fragment"),
    [
        (pa.int32(), "long", "field 'a': found long, expected a type that can be read as int32"),
        (pa.string(), "int", "field 'a': found int"),
        (pa.list_(pa.int32()), "int", "field 'a': found int"),
        (
            pa.decimal128(5, 1),
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
            "decimal of scale 2",
        ),
        (pa.struct([("x", pa.int32())]), "string", "field 'a': found string"),
    ],
)
def test_mismatches_fail_immediately(arrow_type: pa.DataType, writer: Any, fragment: str) -> None:
    with pytest.raises(SchemaMismatch) as e:
        decode_value(arrow_type, writer, b"")
    assert fragment in str(e.value)


def test_mismatch_in_a_union_branch_fails_when_a_payload_has_it() -> None:
    assert decode_value(pa.int32(), ["string", "int"], b"\x02\x08", ["null", "int"]) == 4
    with pytest.raises(DecodeError, match="found string, expected a type that can be read as int32") as e:
        decode_value(pa.int32(), ["string", "int"], b"\x00\x02x", ["null", "int"])
    assert e.value.field == "a"
    with pytest.raises(DecodeError, match="is null, but declared NOT NULL"):
        decode_value(pa.int32(), ["null", "int"], b"\x00", "int", nullable=False)


def test_missing_field_without_a_default() -> None:
    columns = pa.schema([("a", pa.int32())])
    with pytest.raises(SchemaMismatch, match="missing required field a, which has no default"):
        decode(record({"name": "b", "type": "int"}), record({"name": "a", "type": "int"}), columns, [b"\x02"])


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("{", "is not JSON"),
        ('{"name": "x"}', "has no type"),
        ('{"type": "record", "name": "R", "fields": [{"name": "next", "type": ["null", "R"]}]}', "recursive type 'R'"),
        ('{"type": "array", "items": "Unknown"}', "unknown type 'Unknown'"),
        ('{"type": "enum", "name": "1x", "symbols": []}', "illegal name '1x'"),
    ],
)
def test_invalid_schema(text: str, fragment: str) -> None:
    with pytest.raises(ValueError, match=fragment.split("'")[0]) as e:
        parse_schema(text)
    assert fragment in str(e.value)


def test_named_types_are_resolved_by_namespace() -> None:
    text = json.dumps(
        {
            "type": "record",
            "name": "a.b.R",
            "fields": [
                {"name": "x", "type": {"type": "fixed", "name": "F", "size": 2}},
                {"name": "y", "type": "F"},
                {"name": "z", "type": "a.b.F"},
            ],
        }
    )
    record = parse_schema(text)
    assert record.name == "a.b.R"
    assert {f.type for f in record.fields} == {record.fields[0].type}
