"""Test the protobuf format: its options, types that Flink's format lacks, and malformed records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import message_factory

from kafka_sql.errors import DecodeError, EncodeError, InvalidOptionError, MissingOptionError, SchemaError
from kafka_sql.formats.protobuf import PROTOBUF
from kafka_sql.options import Options
from tests.unit.formats.protobuf.oracle import FILE, ITEM, ORDER

ORDERS: Any = message_factory.GetMessageClass(ORDER)
ITEMS: Any = message_factory.GetMessageClass(ITEM)
PAIR = pa.schema([("i", pa.int32()), ("s", pa.string())])


def options(name: str = "shop.Order", **format_options: str) -> Options:
    named = {f"protobuf.{key.replace('_', '-')}": value for key, value in format_options.items()}
    values = {"protobuf.message-class-name": name, "protobuf.descriptor-file": str(FILE)} | named
    return Options(PROTOBUF.options, values)


def decode(schema: pa.Schema, payloads: list[bytes | None], format_options: Options | None = None) -> Any:
    return PROTOBUF.decoder(schema, format_options or options()).decode(pa.array(payloads, pa.binary()))


def rows(schema: pa.Schema, payloads: list[bytes | None], format_options: Options | None = None) -> list[Any]:
    decoded = decode(schema, payloads, format_options)
    return list(pa.RecordBatch.from_arrays(decoded.columns, schema=schema).to_pylist())


def encode(schema: pa.Schema, data: list[Any], format_options: Options | None = None) -> list[bytes]:
    batch = pa.RecordBatch.from_pylist(data, schema)
    return list(PROTOBUF.encoder(schema, format_options or options()).encode(batch).to_pylist())


def test_null_and_empty_payloads() -> None:
    decoded = decode(PAIR, [None, ORDERS(i=1).SerializeToString(), b"", None])
    assert decoded.payload_indices.to_pylist() == [1, 2]
    assert [c.to_pylist() for c in decoded.columns] == [[1, 0], ["", ""]]
    assert decode(PAIR, [b""]).payload_indices is None
    assert decode(PAIR, []).columns == [pa.array([], f.type) for f in PAIR]


def test_malformed_messages() -> None:
    valid = ORDERS(i=1, s="x").SerializeToString()
    for malformed, field, fragment in (
        (valid[:-1], "s", "the message ends in the middle of a value (of 4 bytes)"),
        (b"\x08" + b"\xff" * 10 + b"\x01", "i", "a number has too many bytes"),
        (b"\x00\x01", None, "Protocol message contained an invalid tag (byte 1 of 2); the message is: 00 01"),
        (b"\x72\x01\xff", "s", "Protocol message had invalid UTF-8"),
        (b"{}", None, "the message ends in the middle of a value"),
    ):
        with pytest.raises(DecodeError) as e:
            decode(PAIR, [valid, None, malformed, b"\x00"])
        assert (e.value.row, e.value.field) == (2, field), malformed
        assert fragment in str(e.value)
    lenient = decode(PAIR, [valid, None, b"\x72\x01\xff", valid, b"\x00", valid], options(ignore_parse_errors="true"))
    assert lenient.payload_indices.to_pylist() == [0, 3, 5]
    assert lenient.columns[1].to_pylist() == ["x"] * 3


def test_maps_of_a_merged_message_are_sorted_by_key() -> None:
    schema = pa.schema([("m", pa.map_(pa.string(), pa.int64())), ("line", pa.struct([("sku", pa.string())]))])
    counts = {f"key {i:02}": i for i in range(20)}
    entries = b"".join(ORDERS(m={key: counts[key]}).SerializeToString() for key in sorted(counts, reverse=True))
    lines = [ORDERS(line=type(ORDERS().line)(**values)).SerializeToString() for values in ({"sku": "a"}, {"price": 2})]
    assert rows(schema, [entries + b"".join(lines)]) == [{"m": list(counts.items()), "line": {"sku": "a"}}]


def test_keys_of_a_struct_are_sorted() -> None:
    document = {f"key {i:02}": {"y": [1.5], "x": None} for i in range(20)}
    message = ORDERS()
    message.doc.update(document)
    (row,) = rows(pa.schema([("doc", pa.string())]), [message.SerializeToString()])
    assert row["doc"] == json.dumps(document, sort_keys=True)


def test_numbers_of_a_struct_that_json_does_not_have() -> None:
    message = ORDERS()
    message.doc["x"] = float("nan")
    with pytest.raises(DecodeError, match="a nested message is malformed: Fail to serialize NaN") as e:
        decode(pa.schema([("doc", pa.string())]), [b"", message.SerializeToString()])
    assert e.value.row == 1


def test_unknown_values_of_fields_in_a_oneof() -> None:
    """A field of a oneof that has another wire type does not replace the field that is set."""
    schema = pa.schema([("n", pa.int64())])
    payload = ORDERS(n=1).SerializeToString()
    assert rows(schema, [payload + b"\xc8\x01\x05", payload + b"\xca\x01\x01x"]) == [{"n": 1}, {"n": None}]


def test_errors_of_merged_messages() -> None:
    """They show the message as it was received."""
    line = b"\xc2\x01\x02\x20\x01"
    with pytest.raises(
        DecodeError, match=r"Error parsing message .*\(of 13 bytes\); the message is: c2 01 02 20 01"
    ) as e:
        decode(pa.schema([("i", pa.int32()), ("line", pa.struct([("qty", pa.int32())]))]), [line * 2 + b"\x72\x01\xff"])
    assert e.value.field is None
    part = b"\x32\x03\x0a\x01x"
    with pytest.raises(DecodeError, match=r"required field \(of 10 bytes\); the message is: 32 03 0a 01 78") as e:
        decode(pa.schema([("part", pa.struct([("code", pa.string())]))]), [part * 2], options("shop2.Item"))
    assert e.value.field == "id"


def test_missing_required_field() -> None:
    schema = pa.schema([("price", pa.float64()), ("part", pa.struct([("n", pa.int32())]))])
    items = options("shop2.Item")
    with pytest.raises(DecodeError, match=r"Message missing required field"):
        decode(schema, [ITEMS(price=2.5).SerializePartialToString()], items)
    with pytest.raises(SchemaError, match=r"requires the field 'id', but the table has no such column"):
        PROTOBUF.encoder(schema, items)
    schema = pa.schema([("id", pa.int64())])
    with pytest.raises(EncodeError, match=r"Field 'id': the value is NULL, and the field is required"):
        encode(schema, [{"id": 1}, {"id": None}], items)


def test_not_null() -> None:
    line = pa.struct([pa.field("qty", pa.int32(), False)])
    schema = pa.schema([("lines", pa.list_(line)), pa.field("i", pa.int32(), False)])
    line_class = type(ORDERS().lines.add())
    valid = ORDERS(lines=[line_class(qty=0)]).SerializeToString()
    malformed = ORDERS(lines=[line_class(qty=1), line_class()]).SerializeToString()
    assert rows(schema, [valid]) == [{"lines": [{"qty": 0}], "i": 0}]
    with pytest.raises(DecodeError, match=r"is null, but declared NOT NULL") as e:
        decode(schema, [valid, None, malformed])
    assert (e.value.row, e.value.field) == (2, "lines[].qty")
    decoded = decode(schema, [malformed, valid, None, malformed, valid], options(ignore_parse_errors="true"))
    assert decoded.payload_indices.to_pylist() == [1, 4]


def test_unsigned_numbers_as_wider_types_and_enums_as_numbers() -> None:
    schema = pa.schema([("ui", pa.int64()), ("fi", pa.int64()), ("ul", pa.decimal128(20, 0)),
                        ("fl", pa.decimal128(20, 0)), ("c", pa.int8()), ("cs", pa.list_(pa.int64()))])  # fmt: skip
    message = ORDERS(ui=2**32 - 1, fi=2**31, ul=2**64 - 1, fl=2**63, c=2, cs=[0, -1, 2])
    row = rows(schema, [message.SerializeToString()])[0]
    assert {k: v if isinstance(v, list) else int(v) for k, v in row.items()} == {
        "ui": 2**32 - 1, "fi": 2**31, "ul": 2**64 - 1, "fl": 2**63, "c": 2, "cs": [0, -1, 2]
    }  # fmt: skip
    assert encode(schema, [row]) == [message.SerializeToString()]
    for name, value in (("ui", -1), ("fi", 2**32), ("ul", 2**64)):
        with pytest.raises(EncodeError, match=rf"Field '{name}': {value} is not a number from 0 to"):
            encode(schema.select([name]) if hasattr(schema, "select") else pa.schema([schema.field(name)]),
                   [{name: value}])  # fmt: skip


def test_nulls_in_arrays_and_maps_and_unknown_enum_names() -> None:
    schema = pa.schema([("ri", pa.list_(pa.int32())), ("rs", pa.list_(pa.string())), ("cs", pa.list_(pa.string())),
                        ("m", pa.map_(pa.string(), pa.int64())), ("c", pa.string()),
                        ("lines", pa.list_(pa.struct([("sku", pa.string())])))])  # fmt: skip
    data = {"ri": [1, None], "rs": [None, "x"], "cs": ["GREEN", None, "?"], "m": [("k", None)], "c": "?",
            "lines": [None, {"sku": "y"}]}  # fmt: skip
    message = ORDERS.FromString(encode(schema, [data], options(write_null_string_literal="nil"))[0])
    assert (list(message.ri), list(message.rs), list(message.cs)) == ([1, 0], ["nil", "x"], [2, 0, 0])
    assert (dict(message.m), message.c, [line.sku for line in message.lines]) == ({"k": 0}, 0, ["", "y"])
    assert list(ORDERS.FromString(encode(schema, [data])[0]).rs) == ["", "x"]


def test_last_column_of_a_oneof_is_written() -> None:
    schema = pa.schema([("n", pa.int64()), ("a", pa.string())])
    data = [{"n": 1, "a": "x"}, {"n": 1, "a": None}, {"n": None, "a": "x"}, {"n": None, "a": None}]
    choices = [ORDERS.FromString(p).WhichOneof("choice") for p in encode(schema, data)]
    assert choices == ["a", "n", "a", None]


def test_default_values() -> None:
    schema = pa.schema([("name", pa.string()), ("size", pa.string()), ("price", pa.float64()), ("flag", pa.bool_()),
                        ("part", pa.struct([("n", pa.int32())])), ("numbers", pa.list_(pa.int32()))])  # fmt: skip
    payload: list[bytes | None] = [ITEMS(id=1).SerializeToString()]
    assert rows(schema, payload, options("shop2.Item")) == [dict.fromkeys(schema.names)]
    assert rows(schema, payload, options("shop2.Item", read_default_values="true")) == [
        {"name": "none", "size": "LARGE", "price": 1.5, "flag": True, "part": {"n": 0}, "numbers": []}
    ]


@pytest.mark.parametrize(
    ("schema", "fragment"),
    [
        (pa.schema([("none", pa.int32())]), "Column none does not exist in definition of proto class"),
        (pa.schema([("i", pa.int64())]), "INT32 (protobuf, field shop.Order.i) is not compatible with int64"),
        (pa.schema([("lines", pa.string())]), "repeated shop.Line (protobuf, field shop.Order.lines)"),
        (pa.schema([("m", pa.list_(pa.string()))]), "It should be MAP"),
        (pa.schema([("line", pa.struct([("price", pa.string())]))]), "(column 'line.price')"),
        (pa.schema([("at", pa.string())]), "It should be ROW"),
    ],
)
def test_mismatched_columns(schema: pa.Schema, fragment: str) -> None:
    for create in (PROTOBUF.decoder, PROTOBUF.encoder):
        with pytest.raises(SchemaError) as e:
            create(schema, options())
        assert fragment in str(e.value)


def test_invalid_options(tmp_path: Path) -> None:
    with pytest.raises(MissingOptionError, match=r"protobuf.descriptor-file"):
        PROTOBUF.decoder(PAIR, Options(PROTOBUF.options, {"protobuf.message-class-name": "x"}))
    with pytest.raises(InvalidOptionError, match=r"has no message 'shop.None'; it has: .*shop.Order"):
        PROTOBUF.decoder(PAIR, options("shop.None"))
    with pytest.raises(InvalidOptionError, match=r"cannot be read: .*No such file"):
        PROTOBUF.decoder(PAIR, options(descriptor_file=str(tmp_path / "none")))
    for text in (b"", b"syntax = 'proto3';", b"\xff"):
        (tmp_path / "junk").write_bytes(text)
        with pytest.raises(InvalidOptionError, match=r"is not a compiled descriptor file"):
            PROTOBUF.decoder(PAIR, options(descriptor_file=str(tmp_path / "junk")))


def test_inferred_columns() -> None:
    assert PROTOBUF.infer_schema is not None
    types = dict(PROTOBUF.infer_schema(options("shop.Order")).columns)
    line = "ROW<`sku` STRING, `price` DOUBLE, `tags` ARRAY<STRING>, `qty` INT, `inner` ROW<`x` BIGINT, `flags` "
    line += "MAP<STRING NOT NULL, BOOLEAN>>>"
    assert (types["line"], types["lines"], types["ml"]) == (line, f"ARRAY<{line}>", f"MAP<INT NOT NULL, {line}>")
    assert (types["ui"], types["ul"], types["c"], types["y"]) == ("BIGINT", "DECIMAL(20, 0)", "STRING", "BYTES")
    assert (types["at"], types["w"], types["doc"]) == ("TIMESTAMP_LTZ(6)", "BIGINT", "STRING")
    assert types["took"] == "ROW<`seconds` BIGINT, `nanos` INT>"
    with pytest.raises(SchemaError, match=r"is a group"):
        PROTOBUF.infer_schema(options("shop2.Item"))
    with pytest.raises(SchemaError, match=r"recursive type 'shop.Tree' .field 'branches'"):
        PROTOBUF.infer_schema(options("shop.Tree"))
