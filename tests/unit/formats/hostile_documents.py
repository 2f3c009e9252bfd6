"""JSON documents that are expensive to read: a value in every column, and whole documents.

A value is a function of its number of bytes, and so is a document.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Final

import pyarrow as pa

from tests.unit.formats.hostile_texts import COLUMNS, NUMBERS, STRINGS, TIMES

Bytes = Callable[[int], bytes]

_DOUBLE: Final = pa.float64()
NESTED_COLUMNS: Final = pa.schema(
    [
        *COLUMNS,
        ("ad", pa.list_(_DOUBLE)),
        ("as", pa.list_(pa.string())),
        ("aa", pa.list_(pa.list_(pa.timestamp("us")))),
        ("ar", pa.list_(pa.struct([("p", _DOUBLE), ("q", pa.list_(pa.string()))]))),
        ("md", pa.map_(pa.string(), _DOUBLE)),
        ("mm", pa.map_(pa.string(), pa.map_(pa.string(), pa.decimal128(10, 2)))),
    ]
)


def _list(element: bytes, opening: bytes = b"[", closing: bytes = b"]") -> Bytes:
    return lambda size: opening + b",".join([element] * (size // (len(element) + 1) + 1)) + closing


def _numbered(entry: bytes) -> Bytes:
    return lambda size: b"{" + b",".join(entry % i for i in range(size // (len(entry) + 3) + 1)) + b"}"


def _nested(opening: bytes, closing: bytes, depth: int = 900) -> Bytes:
    return _list(opening * depth + b"1" + closing * depth)


def _string(part: bytes) -> Bytes:
    return lambda size: b'"' + part * (size // len(part)) + b'"'


def _spaced(before: bytes, after: bytes) -> Bytes:
    return lambda size: before + b" \t\r\n" * (size // 4) + after


VALUES: Final[dict[str, Bytes]] = {
    "numbers": _list(b"1"),
    "exact doubles": _list(b"0.1234567890123456789"),
    "infinite doubles": _list(b"1e999"),
    "small exponents": _list(b"1e-320"),
    "long numbers": _list(b"9" * 400),
    "nulls": _list(b"null"),
    "literals": _list(b"true"),
    "strings": _list(b'"x"'),
    "escaped strings": _list(rb'"\u00e9\n"'),
    "timestamps": _list(b'"2020-01-01 00:00:00"'),
    "timestamps of another standard": _list(b'"2020-01-01T00:00:00Z"'),
    "empty arrays": _list(b"[]"),
    "empty objects": _list(b"{}"),
    "rows": _list(b'{"p":1,"q":["x"]}'),
    "rows with repeated names": _list(b'{"p":1,"p":2}'),
    "rows with an unknown name": _list(b'{"p":1,"x":[{"y":2}]}'),
    "spaces in an array": _spaced(b"[1,", b"]"),
    "commas": _list(b""),
    "arrays without end": lambda size: b"[" * size,
    "objects without end": lambda size: b'{"k":' * (size // 5),
    "nested arrays": _nested(b"[", b"]"),
    "nested objects": _nested(b'{"p":', b"}"),
    "arrays nested too deep": _nested(b"[", b"]", 1001),
    "entries": _numbered(b'"k%d":1'),
    "entries of maps": _numbered(b'"k%d":{"k":1}'),
    "entries with escaped names": _numbered(rb'"\u006b%d":1'),
    "an entry many times": _list(b'"k":1', b"{", b"}"),
    "a field many times": _list(b'"p":1', b"{", b"}"),
    "a long name": lambda size: b'{"' + b"k" * size + b'":1}',
    "a long escaped name": lambda size: b'{"' + rb"\u006b" * (size // 6) + b'":1}',
    "names without values": _list(b'"k"', b"{", b"}"),
    "escapes": _string(rb"\u0031"),
    "short escapes": _string(rb"\n"),
    "escaped pairs": _string(rb"\ud83d\ude00"),
    "escaped lone surrogates": _string(rb"\ud800"),
    "malformed escapes": _string(rb"\u00"),
    "string without end": lambda size: b'"' + b"x" * size,
    "bytes that are not UTF-8": _string(b"\xff"),
    "surrogates": _string(b"\xed\xa0\x80"),
    **{f"{name} as a number": lambda size, text=text: text(size).encode() for name, text in NUMBERS.items()},
    **{
        f"{name} in a string": lambda size, text=text: json.dumps(text(size), ensure_ascii=False).encode()
        for name, text in {**NUMBERS, **TIMES, **STRINGS}.items()
    },
}


def in_all_columns(names: Iterable[str], value: Bytes) -> Bytes:
    """Return an object with a value in each column."""
    names = list(names)
    return lambda size: (
        b"{" + b",".join(b'"%s":%s' % (name.encode(), value(size // len(names))) for name in names) + b"}"
    )


def documents(valid: bytes) -> dict[str, Bytes]:
    """Return documents around, beside and with a valid one, which is an object."""
    return {
        "spaces before": _spaced(b"", valid),
        "spaces after": _spaced(valid, b""),
        "spaces inside": _spaced(b"{", valid[1:]),
        "only spaces": _spaced(b"", b""),
        "documents": lambda size: valid * (size // len(valid) + 1),
        "array of documents": _list(valid),
        "array of nulls": _list(b"null"),
        "array of numbers": _list(b"1"),
        "unknown fields": lambda size: _numbered(b'"k%d":[{"x":1}]')(size)[:-1] + b"," + valid[1:],
        "long unknown field": lambda size: b'{"k":"' + b"x" * size + b'",' + valid[1:],
        "document many times": _list(valid[1:-1], b"{", b"}"),
        "UTF-16": lambda size: (b'{"k":"' + b"x" * (size // 2) + b'",' + valid[1:]).decode().encode("utf-16"),
        "UTF-32": lambda size: (b'{"k":"' + b"x" * (size // 4) + b'",' + valid[1:]).decode().encode("utf-32"),
        "zeros": lambda size: b"\0" * size,
        "arrays": lambda size: b"[" * size,
        "nested": lambda size: b'{"k":' + _nested(b"[", b"]")(size) + b"," + valid[1:],
        "nested too deep": lambda size: b'{"k":' + b"[" * size + b"]" * size + b"," + valid[1:],
    }
