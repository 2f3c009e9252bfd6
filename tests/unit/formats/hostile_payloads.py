"""Decode hostile payloads in a process with little memory: ``python -m tests.unit.formats.hostile_payloads FORMAT``.

Prints a line per payload: its name, the number of rows that it became, and how its error begins.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pyarrow as pa

from kafka_sql.errors import DecodeError
from kafka_sql.formats.format import Decoder
from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Options
from tests.unit.formats.protobuf.oracle import FILE, ORDERS

SIZE: Final = 2_000_000  # bytes of a payload
MEMORY: Final = 800_000_000  # bytes of address space for decoding one
_SCHEMA: Final = pa.schema(
    [
        ("a", pa.int64()),
        ("s", pa.string()),
        ("d", pa.decimal128(10, 2)),
        ("l", pa.list_(pa.int32())),
        ("y", pa.binary()),
    ]
)

Target = tuple[Decoder, bytes, dict[str, bytes]]  # a decoder, a valid payload, and the hostile ones


def json_target() -> Target:
    valid = json.dumps({"a": 1, "s": "x"}).encode()
    return (
        FORMATS["json"].decoder(_SCHEMA, Options(FORMATS["json"].options, {})),
        valid,
        {
            "arrays": b"[" * SIZE,
            "objects in an unknown field": b'{"x":' * (SIZE // 5),
            "digits": b'{"a":' + b"9" * SIZE + b"}",
            "digits of a decimal": b'{"d":' + b"9" * SIZE + b"}",
            "exponent": b'{"d":1e999999999}',
            "negative exponent": b'{"d":1e-999999999}',
            "string without end": b'{"s":"' + b"x" * SIZE,
            "escapes": b'{"s":"' + rb"\u0000" * (SIZE // 6) + b'"}',
            "backslashes": b'{"s":"' + b"\\" * SIZE,
            "numbers": b'{"l":[' + b"1," * (SIZE // 2) + b"1]}",
            "commas": b'{"l":[' + b"," * SIZE,
            "names": b"{" + b'"a":1,' * (SIZE // 6) + b'"a":1}',
            "base64": b'{"y":"' + b"=" * SIZE + b'"}',
        },
    )


def csv_target() -> Target:
    return (
        FORMATS["csv"].decoder(_SCHEMA, Options(FORMATS["csv"].options, {"csv.escape-character": "\\"})),
        b"1,x,2,1;2,eA==",
        {
            "quoted field without end": b'1,"' + b"x" * SIZE,
            "quotes": b'"' * SIZE,
            "quotes and an odd one": b'1,"' + b'"' * (SIZE + 1),
            "quoted delimiters": b'1,"' + b"," * SIZE,
            "quoted lines": b'1,"' + b"\n" * SIZE,
            "escapes": b"1," + b"\\" * SIZE,
            "escapes in quotes": b'1,"' + b"\\" * (SIZE + 1),
            "columns": b"," * SIZE,
            "elements": b"1,x,2," + b"1;" * (SIZE // 2) + b"1,eA==",
            "empty elements": b"1,x,2," + b";" * SIZE + b",eA==",
            "digits": b"9" * SIZE + b",x,2,1,eA==",
            "digits of a decimal": b"1,x," + b"9" * SIZE + b",1,eA==",
            "exponent": b"1,x,1e999999999,1,eA==",
            "base64": b"1,x,2,1," + b"=" * SIZE,
        },
    )


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def _field(number: int, wire_type: int, content: bytes = b"") -> bytes:
    return _varint(number << 3 | wire_type) + content


def _message(number: int, content: bytes) -> bytes:
    return _field(number, 2, _varint(len(content)) + content)


def _nested(depth: int, close: Callable[[bytes], bytes]) -> bytes:
    content = b""
    for _ in range(depth):
        content = close(content)
    return content


def protobuf_target() -> Target:
    options = {"protobuf.message-class-name": "shop.Order", "protobuf.descriptor-file": str(FILE)}
    struct = _nested(2_000, lambda inner: _message(1, _message(1, b"k") + _message(2, _message(5, inner))))
    return (
        FORMATS["protobuf"].decoder(ORDERS, Options(FORMATS["protobuf"].options, options)),
        _field(1, 0, b"\x01"),
        {
            **{
                f"length {name}": _field(14, 2, length) + b"x"
                for name, length in {
                    "of 2 GB": _varint((1 << 31) - 1),
                    "of 4 GB": _varint((1 << 32) - 1),
                    "of 2**63 - 1": _varint((1 << 63) - 1),
                    "of 2**64 - 1": _varint((1 << 64) - 1),
                    "without end": b"\xff" * SIZE,
                }.items()
            },
            "packed length of 2 GB": _field(19, 2, _varint((1 << 31) - 1)) + b"\x01" * 100,
            "groups": _field(1000, 3) * (SIZE // 2),
            "ends of groups": _field(1000, 4) * (SIZE // 2),
            "nested unknown messages": _nested(2_000, lambda inner: _message(1000, inner)),
            "nested structs": _message(30, struct),
            "lists of structs": _message(30, b"\x0a\x00" * (SIZE // 10)),
            "packed numbers": _message(19, b"\x01" * SIZE),
            "empty messages": _message(21, b"") * (SIZE // 3),
            "empty map entries": _message(22, b"") * (SIZE // 3),
            "one message in parts": _message(24, b"") * (SIZE // 3),
            "one string many times": _message(14, b"x") * (SIZE // 3),
            "alternatives": (_message(25, b"") + _message(26, b"")) * (SIZE // 8),
            "field numbers": b"".join(_field(number, 0, b"\0") for number in range(100, SIZE // 4)),
        },
    )


def avro_target() -> Target:
    minimum = b"\xff" * 9 + b"\x01"  # the smallest long
    schema = pa.schema([("s", pa.string()), ("l", pa.list_(pa.int32())), ("m", pa.map_(pa.string(), pa.int32()))])
    decoder = FORMATS["avro"].decoder(schema, Options(FORMATS["avro"].options, {}))
    absent = b"\0"  # the union's branch null

    def count(value: int) -> bytes:
        return _varint((value << 1) ^ (value >> 63) if value >= 0 else (-value << 1) - 1)

    return (
        decoder,
        _avro_valid(),
        {
            "string of 2 GB": b"\x02" + count((1 << 31) - 1) + b"x",
            "string of 2**62": b"\x02" + count(1 << 62) + b"x",
            "negative length": b"\x02" + count(-1) + b"x",
            "smallest length": b"\x02" + minimum,
            "array of 2**62": _avro_valid()[:1] + b"\x02" + count(1 << 62) + absent * SIZE,
            "array in a block of -2**62": _avro_valid()[:1] + b"\x02" + count(-(1 << 62)) + count(5) + absent * SIZE,
            "array of nulls": _avro_valid()[:1] + b"\x02" + count(SIZE) + absent * SIZE,
            "blocks of nulls": _avro_valid()[:1] + b"\x02" + (count(1) + absent) * (SIZE // 2) + b"\0" + absent,
            "map of 2**62": _avro_valid()[:1] + absent + b"\x02" + count(1 << 62) + absent * SIZE,
            "map of nulls": _avro_valid()[:1] + absent + b"\x02" + count(SIZE // 2) + absent * SIZE,
            "number without end": b"\xff" * SIZE,
        },
    )


def _avro_valid() -> bytes:
    return b"\0\0\0"  # three columns, all null


TARGETS: Final[dict[str, Callable[[], Target]]] = {
    "json": json_target,
    "csv": csv_target,
    "protobuf": protobuf_target,
    "avro": avro_target,
}


def main(name: str) -> None:
    """Decode each payload between two valid ones, which must become rows."""
    decoder, valid, payloads = TARGETS[name]()
    decoder.decode(pa.array([valid, b"\xff"], pa.binary()), [])  # compiles loops, and imports what errors need
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    for what, payload in payloads.items():
        errors: list[DecodeError] = []
        decoded = decoder.decode(pa.array([valid, payload, valid], pa.binary()), errors)
        rows = [0, 1, 2] if decoded.payload_indices is None else decoded.payload_indices.to_pylist()
        assert rows in ([0, 2], [0, 1, 2]), what
        assert [error.row for error in errors] == [1] * (len(rows) == 2), what
        assert all(len(str(error)) < 500 for error in errors), what
        print(f"{what}: {'row' if len(rows) == 3 else str(errors[0])[:100]}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
