"""Test what the edition or the syntax of a file decides, against protobuf's library: closed enums, and UTF-8."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError as MessageError

from kafka_sql.errors import DecodeError, SchemaError
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets
from kafka_sql.formats.protobuf.decoder import ProtobufReader
from kafka_sql.formats.protobuf_confluent.schema_descriptors import compile_schema

CLOSED = {
    "proto2": 'syntax = "proto2"; enum E {{ A = 0; B = 1; C = -5; }} {messages}',
    "2023": 'edition = "2023"; enum E {{ option features.enum_type = CLOSED; A = 0; B = 1; C = -5; }} {messages}',
}
ENUMS = """message M { map<string, E> m = 1; map<int32, E> n = 2; repeated E r = 3; LABEL E e = 4; repeated N s = 5;
oneof o { E a = 6; int32 b = 7; } } message N { map<string, E> m = 1; }"""
MAP = pa.map_(pa.string(), pa.string())
COLUMNS = pa.schema(
    [("m", MAP), ("n", pa.map_(pa.int32(), pa.int32())), ("r", pa.list_(pa.string())), ("e", pa.string()),
     ("s", pa.list_(pa.struct([("m", MAP)]))), ("a", pa.string()), ("b", pa.int32())]
)  # fmt: skip


@cache
def message_type(text: str, name: str = "M") -> Descriptor:
    return compile_schema(text).message_types_by_name[name]


def read(
    descriptor: Descriptor, columns: pa.Schema, payloads: list[bytes], as_numbers: bool = False, **options: bool
) -> tuple[list[Any], list[DecodeError]]:
    reader = ProtobufReader(columns, descriptor, **{"read_defaults": False, "ignore_errors": False, **options})
    data, offsets = bytes_and_offsets(pa.array(payloads, pa.binary()))
    bounds, errors = offsets.astype(np.int64), list[DecodeError]()
    arrays, _ = reader.read(data, bounds[:-1], bounds[1:], np.arange(len(payloads)), errors)
    for array in arrays:
        array.validate(full=True)
    table = pa.table(arrays, schema=columns)
    if as_numbers:  # timestamps that Python does not have
        table = table.cast(pa.schema([(f.name, pa.list_(pa.int64())) for f in columns]))
    return table.to_pylist(), errors


def entry(field: int, key: bytes, *values: int) -> bytes:
    """Return the entry of a map of enums, with several values or none."""
    content = b"\x0a" + bytes([len(key)]) + key if field != 2 else b"\x08" + key
    content += b"".join(b"\x10" + _varint(value) for value in values)
    return bytes([field << 3 | 2, len(content)]) + content


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def inside(field: int, content: bytes) -> bytes:
    return bytes([field << 3 | 2, len(content)]) + content


PAYLOADS = [
    entry(1, b"known", 1) + entry(1, b"new", 99),
    entry(1, b"new", 99) + entry(1, b"known", 1),
    entry(1, b"new", 99),
    entry(1, b"", -5) + entry(1, b"x", -6) + entry(1, b"y") + entry(1, b"z", 0),
    entry(1, b"twice", 99, 1) + entry(1, b"again", 1, 99) + entry(1, b"last", 1, 0),
    entry(1, b"k", 1) + entry(1, b"k", 99),
    entry(2, b"\x07", 1) + entry(2, b"\x08", 7) + entry(2, b"\x09", 0),
    b"\x18\x01\x18\x63\x18\x00" + b"\x1a\x03\x01\x63\x00",
    b"\x20\x63",
    b"\x20\x01\x20\x63",
    b"\x20\x63\x20\x01",
    inside(5, entry(1, b"a", 99)) + inside(5, entry(1, b"b", 1) + entry(1, b"c", 99)) + inside(5, b""),
    b"\x30\x63\x38\x05",
    b"\x38\x05\x30\x63",
    b"\x38\x05\x30\x01",
    entry(1, b"x", 99) + b"\x38\x05\x30\x01" + entry(1, b"y", 1),  # merged
    b"",
]


def expected(message: Any, read_defaults: bool) -> dict[str, Any]:
    """Return the row of a message of the library; names of enums are those of E."""
    names = {value.number: value.name for value in message.DESCRIPTOR.file.enum_types_by_name["E"].values}

    def pairs(field: Any) -> Any:
        found = sorted((key, names[field[key]]) for key in field)
        return found if found or read_defaults else None

    def single(name: str, convert: Any) -> Any:
        return convert(getattr(message, name)) if read_defaults or message.HasField(name) else None

    numbers = [(key, message.n[key]) for key in sorted(message.n)]
    return {
        "m": pairs(message.m),
        "n": numbers if numbers or read_defaults else None,
        "r": [names[number] for number in message.r] or ([] if read_defaults else None),
        "e": single("e", names.__getitem__),
        "s": [{"m": pairs(item.m)} for item in message.s] or ([] if read_defaults else None),
        "a": single("a", names.__getitem__),
        "b": single("b", int),
    }


def with_sorted_maps(row: dict[str, Any]) -> dict[str, Any]:
    rows = [{"m": item["m"] and sorted(item["m"])} for item in row["s"] or []]
    return {**row, "m": row["m"] and sorted(row["m"]), "n": row["n"] and sorted(row["n"]), "s": row["s"] and rows}


@pytest.mark.sample(1)
@pytest.mark.parametrize("read_defaults", [False, True])
@pytest.mark.parametrize("syntax", CLOSED)
def test_unknown_numbers_of_closed_enums(syntax: str, read_defaults: bool) -> None:
    label = "optional" if syntax == "proto2" else ""
    descriptor = message_type(CLOSED[syntax].format(messages=ENUMS.replace("LABEL", label)))
    rows, errors = read(descriptor, COLUMNS, PAYLOADS * 2, read_defaults=read_defaults)
    library = message_factory.GetMessageClass(descriptor)
    rows_of_library = [expected(library.FromString(payload), read_defaults) for payload in PAYLOADS]
    assert errors == []
    assert list(map(with_sorted_maps, rows)) == rows_of_library * 2
    assert rows[0]["m"] == [("known", "B")]
    assert rows[2]["m"] == ([] if read_defaults else None)


TEXTS = """edition = "2023";
message M {
  string s = 1 [features.utf8_validation = NONE];
  string v = 2;
  repeated string r = 3 [features.utf8_validation = NONE];
  map<string, string> m = 4 [features.utf8_validation = NONE];
  N n = 5;
  message N {
    string s = 1;
  }
}
"""


TEXT_PAYLOADS = [
    inside(1, b"x\xff"),
    inside(2, b"x\xff"),
    inside(3, b"\xffy") + inside(3, b"\xe2\x82"),
    inside(4, inside(1, b"k\xff") + inside(2, b"v\xff")),
    inside(5, inside(1, b"\xff")),
]


def test_strings_that_need_not_be_utf8() -> None:
    descriptor = message_type(TEXTS)
    columns = pa.schema([("s", pa.string()), ("v", pa.string()), ("r", pa.list_(pa.string())), ("m", MAP),
                         ("n", pa.struct([("s", pa.string())]))])  # fmt: skip
    library = message_factory.GetMessageClass(descriptor)
    accepted = []
    for payload in TEXT_PAYLOADS:
        try:
            library.FromString(payload)
        except MessageError:
            accepted.append(False)
        else:
            accepted.append(True)
    assert accepted == [True, False, True, True, False]
    rows, errors = read(descriptor, columns, TEXT_PAYLOADS)
    empty = dict.fromkeys(columns.names)
    assert rows == [
        {**empty, "s": "x\ufffd"},
        {**empty, "r": ["\ufffdy", "\ufffd"]},
        {**empty, "m": [("k\ufffd", "v\ufffd")]},
    ]
    assert [(e.row, e.field, "had invalid UTF-8" in str(e)) for e in errors] == [(1, "v", True), (4, "n.s", True)]


def test_a_file_whose_strings_need_not_be_utf8() -> None:
    descriptor = message_type(TEXTS.replace("message M", "option features.utf8_validation = NONE;\nmessage M"))
    columns = pa.schema([("v", pa.string()), ("n", pa.struct([("s", pa.string())]))])
    rows, errors = read(descriptor, columns, [inside(2, b"x\xff") + inside(5, inside(1, b"\xff"))])
    assert (rows, errors) == ([{"v": "x\ufffd", "n": {"s": "\ufffd"}}], [])


def test_the_size_of_a_name_is_limited() -> None:
    """A byte of a message becomes a name, so a message could become much larger."""
    text = 'syntax = "proto3"; enum E {{ A = 0; {name} = 1; }} message M {{ repeated E r = 1; }}'
    strings, numbers = (pa.schema([("r", pa.list_(t))]) for t in (pa.string(), pa.int32()))
    rows, _ = read(message_type(text.format(name="B" * 255)), strings, [b"\x0a\x02\x00\x01"])
    assert rows == [{"r": ["A", "B" * 255]}]
    descriptor = message_type(text.format(name="B" * 256))
    assert read(descriptor, numbers, [b"\x0a\x02\x00\x01"])[0] == [{"r": [0, 1]}]
    with pytest.raises(SchemaError, match=r"its value 'B{60}\.\.\.' has more than 255 characters. Declare an integer"):
        read(descriptor, strings, [])
