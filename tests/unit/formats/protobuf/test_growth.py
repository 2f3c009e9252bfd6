"""Messages of every shape are decoded or reported in linear time and memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa
import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets
from kafka_sql.formats.format import Decoded, ErrorSink
from kafka_sql.formats.protobuf.decoder import ProtobufReader
from kafka_sql.formats.protobuf.descriptors import build_pool
from kafka_sql.formats.protobuf_confluent.decoder import _group_by_message
from tests.unit.formats.growth import assert_all_linear, assert_linear, assert_linear_decoding
from tests.unit.formats.protobuf.test_editions import message_type

Bytes = Callable[[int], bytes]

LARGEST: Final = 1 << 17  # bytes
_NUMBERS: Final = " ".join(f"N{k} = {k};" for k in range(2000))
_MEMBERS: Final = " ".join(f"int32 o{k} = {k};" for k in range(100, 2000))
TEXT: Final = f"""syntax = "proto2";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
enum E {{ {_NUMBERS} }}
message M {{
  optional int32 i = 1;
  optional string s = 2;
  optional bytes b = 3;
  repeated int32 packed = 4 [packed = true];
  repeated fixed64 unpacked = 5;
  repeated string strings = 6;
  repeated E enums = 7;
  map<string, int32> m = 8;
  map<int32, E> closed = 9;
  map<string, N> messages = 10;
  optional N n = 11;
  repeated N ns = 12;
  optional google.protobuf.Struct d = 13;
  repeated google.protobuf.Value v = 14;
  repeated google.protobuf.Timestamp t = 15;
  optional google.protobuf.StringValue w = 16;
  repeated R rs = 17;
  oneof o {{ {_MEMBERS} }}
}}
message N {{ optional string s = 1; repeated N n = 2; optional int32 i = 3 [default = 7]; optional string t = 4; }}
message R {{ required int32 i = 1; }}
"""
N_ROW: Final = pa.struct([("s", pa.string()), ("i", pa.int32()), ("n", pa.list_(pa.struct([("t", pa.string())])))])
COLUMNS: Final = pa.schema(
    [("i", pa.int32()), ("s", pa.string()), ("b", pa.binary()), ("packed", pa.list_(pa.int32())),
     ("unpacked", pa.list_(pa.int64())), ("strings", pa.list_(pa.string())), ("enums", pa.list_(pa.string())),
     ("m", pa.map_(pa.string(), pa.int32())), ("closed", pa.map_(pa.int32(), pa.string())),
     ("messages", pa.map_(pa.string(), N_ROW)), ("n", N_ROW), ("ns", pa.list_(N_ROW)), ("d", pa.string()),
     ("v", pa.list_(pa.string())), ("t", pa.list_(pa.timestamp("us"))), ("w", pa.string()),
     ("rs", pa.list_(pa.struct([("i", pa.int32())]))), ("o100", pa.int32())]
)  # fmt: skip


class Reader:
    """Decodes messages, or ignores malformed ones."""

    def __init__(self, read_defaults: bool, ignore_errors: bool) -> None:
        self._reader = ProtobufReader(
            COLUMNS, message_type(TEXT), read_defaults=read_defaults, ignore_errors=ignore_errors
        )

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        data, offsets = bytes_and_offsets(payloads)
        bounds = offsets.astype(np.int64)
        columns, rows = self._reader.read(data, bounds[:-1], bounds[1:], np.arange(len(payloads)), errors)
        return Decoded(columns, pa.array(rows))


def varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def tag(number: int, wire_type: int, content: bytes = b"") -> bytes:
    return varint(number << 3 | wire_type) + content


def message(number: int, content: bytes) -> bytes:
    return tag(number, 2, varint(len(content)) + content)


def many(part: bytes, end: bytes = b"") -> Bytes:
    return lambda size: part * max(size // len(part), 1) + end


def inside(number: int, content: Bytes) -> Bytes:
    return lambda size: message(number, content(size))


def numbered(part: Callable[[int], bytes]) -> Bytes:
    """Return parts that differ."""
    return lambda size: b"".join(part(k) for k in range(size // len(part(1000))))


def nested(number: int, levels: Callable[[int], int]) -> Bytes:
    def make(size: int) -> bytes:
        content = b""
        for _ in range(levels(size)):
            content = message(number, content)
        return content

    return make


def entry(number: int, key: bytes, value: bytes) -> bytes:
    return message(number, key + value)


def key(k: int) -> bytes:
    return message(1, b"%05d" % k)


VALUE: Final = {"list": 6, "struct": 5, "string": 3}  # fields of google.protobuf.Value
SHAPES: Final[dict[str, dict[str, Bytes]]] = {
    "numbers": {
        "without end": many(b"\xff"),
        "repeated": many(tag(1, 0, b"\1")),
        "long": many(tag(1, 0, b"\xff" * 9 + b"\1")),
        "truncated": many(tag(1, 0, b"\1"), b"\x08"),
        "packed": inside(4, many(b"\1")),
        "packed in parts": many(message(4, b"\1")),
        "empty packed": many(message(4, b"")),
        "not packed": many(tag(4, 0, b"\1")),
        "fixed": many(tag(5, 1, bytes(8))),
        "packed fixed": inside(5, many(bytes(8))),
        "packed, truncated": inside(5, many(bytes(8), b"\0")),
    },
    "strings": {
        "ASCII": inside(2, many(b"x")),
        "malformed": inside(2, many(b"\xff")),
        "repeated field": many(message(2, b"x")),
        "elements": many(message(6, b"x")),
        "empty elements": many(message(6, b"")),
        "malformed elements": many(message(6, b"\xff")),
        "bytes": inside(3, many(b"\0")),
        "longer than the message": lambda size: tag(2, 2, varint(1 << 40)) + b"x" * size,
        "wrapped": inside(16, inside(1, many(b"x"))),
        "wrapped in parts": many(message(16, message(1, b"x"))),
    },
    "enums": {
        "known": many(tag(7, 0, varint(1999))),
        "unknown": many(tag(7, 0, varint(2000))),
        "packed": inside(7, many(varint(1000))),
        "packed, unknown": inside(7, many(b"\xff" * 9 + b"\1")),
        "values of a map": many(entry(9, b"\x08\1", tag(2, 0, varint(1999)))),
        "unknown values of a map": many(entry(9, b"\x08\1", tag(2, 0, varint(2000)))),
        "unknown values of a map, distinct keys": numbered(
            lambda k: entry(9, tag(1, 0, varint(k)), tag(2, 0, varint(k)))
        ),
    },
    "maps": {
        "distinct keys": numbered(lambda k: entry(8, key(k), b"\x10\1")),
        "distinct keys, descending": numbered(lambda k: entry(8, key(99_999 - k), b"\x10\1")),
        "one key": many(entry(8, key(1), b"\x10\1")),
        "empty entries": many(message(8, b"")),
        "many values": inside(8, many(b"\x10\1")),
        "many keys": inside(8, many(message(1, b"k"))),
        "unknown fields": inside(8, many(tag(9, 0, b"\1"))),
        "messages": numbered(lambda k: entry(10, key(k), message(2, b""))),
        "messages in parts": inside(10, many(message(2, message(1, b"x")))),
    },
    "messages": {
        "empty": many(message(12, b"")),
        "with absent fields": many(message(12, message(1, b"x"))),
        "in parts": many(message(11, message(1, b"x"))),
        "in empty parts": many(message(11, b"")),
        "inside": inside(11, many(message(2, b""))),
        "inside, in parts": many(message(11, message(2, message(4, b"x")))),
        "nested": nested(2, lambda size: size // 4),
        "nested in a column": inside(11, nested(2, lambda size: size // 4)),
        "required fields": many(message(17, b"\x08\1")),
        "a missing required field": many(message(17, b"\x08\1"), message(17, b"")),
        "descending fields": many(tag(1, 0, b"\1") + message(12, tag(3, 0, b"\1") + message(1, b"x"))),
    },
    "unknown": {
        "numbers": many(tag(99, 0, b"\1")),
        "different numbers": numbered(lambda k: tag(3000 + k, 0, b"\1")),
        "lengths": many(message(99, b"x")),
        "fixed": many(tag(99, 5, bytes(4))),
        "groups": many(tag(99, 3) + tag(99, 4)),
        "nested groups": lambda size: tag(99, 3) * (size // 4) + tag(99, 4) * (size // 4),
        "groups without end": many(tag(99, 3)),
        "ends of groups": many(tag(99, 4)),
        "groups with fields": many(tag(99, 3) + b"\x08\1" + message(2, b"x") + tag(99, 4)),
        "another wire type": many(tag(2, 0, b"\1")),
        "field 0": many(b"\0"),
    },
    "oneofs": {
        "one field": many(tag(100, 0, b"\1")),
        "two fields": many(tag(100, 0, b"\1") + tag(101, 0, b"\1")),
        "other fields": numbered(lambda k: tag(101 + k % 1800, 0, b"\1")),
        "other fields after each": many(tag(1999, 0, b"\1")),
    },
    "JSON": {
        "fields": inside(13, numbered(lambda k: message(1, key(k) + message(2, b"\x20\1")))),
        "one key": inside(13, many(message(1, message(1, b"k") + message(2, b"\x20\1")))),
        "empty fields": inside(13, many(message(1, b""))),
        "in parts": many(message(13, message(1, message(1, b"k")))),
        "in empty parts": many(message(13, b"")),
        "values": many(message(14, b"\x20\1")),
        "numbers": many(message(14, b"\x11" + b"\x9c\x75\x00\x88\x3c\xe4\x37\x7e")),
        "strings": inside(14, inside(3, many(b"\1"))),
        "malformed strings": inside(14, inside(3, many(b"\xff"))),
        "elements": inside(14, inside(6, many(message(1, b"\x20\1")))),
        "nested lists": inside(14, nested(6, lambda size: size // 4)),
        "a value in parts": inside(14, many(message(5, message(1, message(1, b"k"))))),
        "malformed": many(message(14, b"\x0a")),
    },
    "timestamps": {
        "in range": many(message(15, b"\x08\1")),
        "out of range": many(message(15, tag(1, 0, varint(1 << 62)))),
        "in parts": inside(15, many(b"\x08\1\x10\1")),
    },
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("options", [(False, False), (True, True)], ids=["strict", "defaults, ignored errors"])
def test_messages(name: str, options: tuple[bool, bool]) -> None:
    reader = Reader(*options)
    assert_all_linear(SHAPES[name], lambda make: assert_linear_decoding(reader, make, LARGEST))


MANY: Final = {
    "truncated": b"\x08",
    "malformed JSON": message(13, b"\x0a"),
    "a Timestamp out of range": message(15, tag(1, 0, varint(1 << 62))),
    "a message in parts": message(11, b"") * 2,
    "a malformed message in parts": message(11, b"") * 2 + b"\x08",
    "a missing required field": message(17, b""),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("ignore_errors", [False, True])
@pytest.mark.parametrize("name", MANY)
def test_many_messages(name: str, ignore_errors: bool) -> None:
    """The time is linear in the number of messages that are decoded at once, too."""
    reader = Reader(read_defaults=False, ignore_errors=ignore_errors)
    assert_linear(
        lambda size: pa.array([MANY[name], b"\x08\1"] * (size // 16), pa.binary()),
        lambda payloads: reader.decode(payloads, []),
        1 << 15,
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("distinct", [1, 3, 1 << 20])
def test_many_messages_of_a_registry(distinct: int) -> None:
    def payloads(size: int) -> pa.BinaryArray:
        return pa.array([b"\2" + varint(2 * (1 + k % distinct)) for k in range(size // 4)], pa.binary())

    def group(array: pa.BinaryArray) -> None:
        data, offsets = bytes_and_offsets(array)
        bounds = offsets.astype(np.int64)
        ids = np.arange(len(array), dtype=np.uint32) % distinct
        assert sum(len(g.positions) for g in _group_by_message(data, bounds[:-1], bounds[1:], ids)) == len(array)

    assert_linear(payloads, group, 1 << 16)


def test_plans_of_a_message_with_many_fields() -> None:
    """The plans of the loop and of Java are linear in the fields of a oneof."""
    columns = pa.schema([("f1", pa.int32())])

    def descriptor(size: int) -> Descriptor:
        file = FileDescriptorProto(name="m.proto", syntax="proto2")
        declared = file.message_type.add(name="M")
        declared.oneof_decl.add(name="o")
        for k in range(1, size // 16):
            declared.field.add(name=f"f{k}", number=k, type=5, label=1, oneof_index=0)
        return build_pool([file]).FindMessageTypeByName("M")

    def plan(message: Descriptor) -> None:
        ProtobufReader(columns, message, read_defaults=False, ignore_errors=False)

    assert_linear(descriptor, plan, 1 << 14)
