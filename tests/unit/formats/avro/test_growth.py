"""Payloads of every shape, read and skipped, are decoded or reported in linear time and memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pytest

from kafka_sql.formats.avro.decoder import AvroReader
from kafka_sql.formats.avro.resolution import resolve_schemas
from kafka_sql.formats.avro.schema import AvroType, parse_schema
from kafka_sql.formats.format import Decoded, ErrorSink
from tests.unit.formats.growth import assert_all_linear, assert_linear, assert_linear_decoding

LARGEST: Final = 1 << 17  # bytes
Bytes = Callable[[int], bytes]

LEAF: Final = {
    "type": "record",
    "name": "Leaf",
    "fields": [{"name": "i", "type": "int"}, {"name": "s", "type": "string"}],
}
PAIR: Final = {"type": "record", "name": "Pair", "fields": [{"name": "a", "type": LEAF}, {"name": "b", "type": "Leaf"}]}
ENUM: Final = {"type": "enum", "name": "E", "symbols": ["a", "b" * 255]}
DECIMAL: Final = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 0}
ROW: Final = pa.struct([("i", pa.int32()), ("s", pa.string()), ("missing", pa.string())])
# Types, an element in bytes, and the column type that reads it
ELEMENTS: Final[dict[str, tuple[Any, bytes, pa.DataType]]] = {
    "int": ("int", b"\x02", pa.int32()),
    "long": ("long", b"\xff" * 9 + b"\x01", pa.int64()),
    "float": ("float", bytes(4), pa.float64()),
    "double": ("double", bytes(8), pa.float64()),
    "boolean": ("boolean", b"\1", pa.bool_()),
    "string": ("string", b"\x02x", pa.string()),
    "empty string": ("string", b"\0", pa.string()),
    "malformed string": ("string", b"\x02\xff", pa.string()),
    "bytes": ("bytes", b"\x02x", pa.binary()),
    "decimal": (DECIMAL, b"\x02\1", pa.decimal128(9, 0)),
    "large decimal": (DECIMAL, b"\x28" + b"\1" * 20, pa.decimal128(9, 0)),
    "fixed": ({"type": "fixed", "name": "F", "size": 1}, b"x", pa.binary()),
    "enum": (ENUM, b"\x02", pa.string()),
    "union": (["null", "string", "bytes"], b"\x02\x02x", pa.string()),
    "null": (["null", "string"], b"\0", pa.string()),
    "record": (LEAF, b"\x02\0", ROW),
    "array": ({"type": "array", "items": "int"}, b"\x02\x02\0", pa.list_(pa.int32())),
    "empty array": ({"type": "array", "items": "int"}, b"\0", pa.list_(pa.int32())),
    "map": ({"type": "map", "values": "int"}, b"\x02\x02k\x02\0", pa.map_(pa.string(), pa.int32())),
    "pair": (PAIR, b"\x02\0\x02\0", pa.struct([("b", ROW)])),
    "choice": ([LEAF, PAIR], b"\x02\x02\0\x02\0", pa.struct([("a", ROW)])),
}  # fmt: skip


def zigzag(number: int) -> bytes:
    bits = ((number << 1) ^ (number >> 63)) & ((1 << 64) - 1)
    encoded = bytearray()
    while bits > 0x7F:
        encoded.append(bits & 0x7F | 0x80)
        bits >>= 7
    return bytes([*encoded, bits])


def text(value: bytes) -> bytes:
    return zigzag(len(value)) + value


def arrays(element: bytes) -> dict[str, Bytes]:
    """Return arrays of an element."""
    small, sized = zigzag(1) + element, zigzag(-1) + zigzag(len(element)) + element
    return {
        "one block": lambda size: zigzag(size // len(element)) + element * (size // len(element)) + b"\0",
        "blocks": lambda size: small * (size // len(small)) + b"\0",
        "blocks with sizes": lambda size: sized * (size // len(sized)) + b"\0",
        "blocks without end": lambda size: small * (size // len(small)),
        "fewer elements than announced": lambda size: zigzag(size) + element * (size // len(element) // 2),
    }


def keys(distinct: int, size: int) -> bytes:
    """Return a map of ints with a number of distinct keys."""
    count = size // 8
    return zigzag(count) + b"".join(text(b"%06d" % (k % distinct)) + b"\x02" for k in range(count)) + b"\0"


def nullable(avro_type: Any) -> dict[str, Any]:
    return {"type": ["null", avro_type], "default": None}


class ReaderOf:
    """Decodes a field ``v`` of a writer's type, which is a column of a type or skipped, and a field ``k`` after it."""

    def __init__(self, writer: Any, column: pa.DataType | None) -> None:
        def field(name: str, avro_type: Any) -> dict[str, Any]:
            return {"name": name, "type": avro_type}

        written = {"type": "record", "name": "R", "fields": [field("v", writer), field("k", "int")]}
        columns = [pa.field("k", pa.int32())] + ([pa.field("v", column)] if column is not None else [])
        fields = [{"name": f.name, **nullable(_reader_type(f.type, f.name))} for f in columns]
        reader = parse_schema(json.dumps({"type": "record", "name": "R", "fields": fields}))
        writer_type: AvroType = parse_schema(json.dumps(written))
        self._reader = AvroReader(resolve_schemas(writer_type, reader, pa.schema(columns)))

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        return self._reader.decode(payloads, errors)


def _reader_type(column: pa.DataType, name: str) -> Any:
    if pa.types.is_struct(column):
        fields = [{"name": f.name, **nullable(_reader_type(f.type, f"{name}_{f.name}"))} for f in column]
        return {"type": "record", "name": name, "fields": fields}
    if pa.types.is_map(column):
        return {"type": "map", "values": _reader_type(column.item_type, name)}
    if pa.types.is_list(column):
        return {"type": "array", "items": _reader_type(column.value_type, name)}
    return {pa.int32(): "int", pa.int64(): "long", pa.float64(): "double", pa.bool_(): "boolean", pa.string(): "string",
            pa.binary(): "bytes"}.get(column, DECIMAL)  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize("is_skipped", [False, True])
@pytest.mark.parametrize("name", ELEMENTS)
def test_arrays(name: str, is_skipped: bool) -> None:
    element_type, element, column = ELEMENTS[name]
    reader = ReaderOf({"type": "array", "items": element_type}, None if is_skipped else pa.list_(column))
    shapes = {what: lambda size, make=make: make(size) + b"\x02" for what, make in arrays(element).items()}
    assert_all_linear(shapes, lambda make: assert_linear_decoding(reader, make, LARGEST))


VALUES: Final[list[tuple[Any, pa.DataType, dict[str, Bytes]]]] = [
    ("string", pa.string(), {
        "ASCII": lambda size: text(b"x" * size),
        "no UTF-8": lambda size: text(b"\xff" * size),
        "surrogates": lambda size: text(b"\xed\xa0\x80" * (size // 3)),
        "longer than the payload": lambda size: zigzag(1 << 62) + b"x" * size,
    }),
    ("bytes", pa.binary(), {"bytes": lambda size: text(bytes(size))}),
    (DECIMAL, pa.decimal128(9, 0), {
        "digits": lambda size: text(b"\x7f" * size),
        "zeros": lambda size: text(bytes(size)),
        "ones": lambda size: text(b"\xff" * size),
    }),
    ("long", pa.int64(), {"without end": lambda size: b"\xff" * size}),
    ({"type": "map", "values": "int"}, pa.map_(pa.string(), pa.int32()), {
        "distinct keys": lambda size: keys(size, size),
        "two keys": lambda size: keys(2, size),
        "one key": lambda size: keys(1, size),
        "a long key": lambda size: b"\x02" + text(b"k" * size) + b"\x02\0",
        "empty keys": lambda size: zigzag(size // 2) + b"\0\2" * (size // 2) + b"\0",
        "blocks": lambda size: b"\2\0\2" * (size // 3) + b"\0",
    }),
    ({"type": "map", "values": {"type": "array", "items": LEAF}}, pa.map_(pa.string(), pa.list_(ROW)), {
        "a long array": lambda size: b"\2\0" + arrays(b"\2\0")["blocks"](size) + b"\0",
        "short arrays": lambda size: zigzag(size // 2) + b"\0\0" * (size // 2) + b"\0",
    }),
]  # fmt: skip


@pytest.mark.sample(3)
@pytest.mark.parametrize("is_skipped", [False, True])
@pytest.mark.parametrize(("writer", "column", "shapes"), VALUES, ids=lambda value: str(value)[:20])
def test_values(writer: Any, column: pa.DataType, shapes: dict[str, Bytes], is_skipped: bool) -> None:
    reader = ReaderOf(writer, None if is_skipped else column)
    assert_all_linear(shapes, lambda make: assert_linear_decoding(reader, lambda size: make(size) + b"\2", LARGEST))


def test_skipped_elements_that_take_no_bytes() -> None:
    """An array of 2**62 of them takes ten bytes."""
    for element in ("null", {"type": "fixed", "name": "F", "size": 0}, {"type": "record", "name": "N", "fields": []}):
        reader = ReaderOf({"type": "array", "items": element}, None)
        block, sized = zigzag(1 << 62), zigzag(-(1 << 62)) + b"\0"
        shapes = {"blocks": lambda size, b=block: b * (size // len(b)) + b"\0\2",
                  "sized": lambda size, b=sized: b * (size // len(b)) + b"\0\2"}  # fmt: skip
        assert_all_linear(shapes, lambda make, reader=reader: assert_linear_decoding(reader, make, LARGEST))


@pytest.mark.sample(1)
@pytest.mark.parametrize("part", [b"", b"\x02", b"\xff" * 12, b"\x04x"])
def test_many_malformed_payloads(part: bytes) -> None:
    reader = ReaderOf("string", pa.string())
    assert_linear(
        lambda size: pa.array([part, b"\0\2"] * (size // 4), pa.binary()),
        lambda payloads: reader.decode(payloads, []),
        1 << 15,
    )


def test_a_large_payload_among_small_ones() -> None:
    reader = ReaderOf({"type": "array", "items": ENUM}, pa.list_(pa.string()))
    small, make = b"\0\2", arrays(b"\2")["one block"]
    assert_linear(
        lambda size: pa.array([make(size) + b"\2", *[small] * (size // 8)], pa.binary()),
        lambda payloads: reader.decode(payloads, []),
        1 << 15,
    )
