"""Payloads that nobody expects: each is rows or an error of its own, and those beside it keep their places."""

from __future__ import annotations

import json
from typing import Final

import pyarrow as pa
import pytest

from kafka_sql.errors import DecodeError
from kafka_sql.formats.format import Decoder
from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Options

SCHEMA: Final = pa.schema([("a", pa.int64()), ("s", pa.string())])
ROW: Final = {"a": 1, "s": "x"}
GOOD: Final = {
    "json": json.dumps(ROW).encode(),
    "csv": b"1,x",
    "avro": b'{"a":{"long":1},"s":{"string":"x"}}',  # its encoding as JSON
    "debezium-json": json.dumps({"before": None, "after": ROW, "op": "c"}).encode(),
    "canal-json": json.dumps({"data": [ROW], "type": "INSERT"}).encode(),
    "maxwell-json": json.dumps({"data": ROW, "type": "insert"}).encode(),
    "ogg-json": json.dumps({"after": ROW, "op_type": "I"}).encode(),
}


def decoder(name: str) -> Decoder:
    found = FORMATS[name]
    return found.decoder(SCHEMA, Options(found.options, {"avro.encoding": "json"} if name == "avro" else {}))


@pytest.mark.parametrize("name", GOOD)
def test_what_stands_around_a_document(name: str) -> None:
    good = GOOD[name]
    rows = [b"\n" * (name != "csv") + good, good + b"\n", good + b"\r\n", good + b"\n" + good, b"\xef\xbb\xbf" + good]
    errors = [b" ", b"\n", b"\xff", good[:-1] + b"\xff", b'"' + good]
    none = [None] if name in ("csv", "avro") else [None, b""]
    if name == "csv":
        errors += [b"", good + good]
    elif name == "avro":
        errors += [b"", good[:-1]]
    else:
        rows += [good + good]
        errors += [good[:-1]]
    payloads = [payload for odd in (*rows, *errors, *none) for payload in (good, odd)] + [good]
    bad: list[DecodeError] = []
    decoded = decoder(name).decode(pa.array(payloads, pa.binary()), bad)
    assert decoded.payload_indices is not None
    expected = {k for k, payload in enumerate(payloads) if payload == good or payload in rows}
    assert decoded.payload_indices.to_pylist() == sorted(expected)
    assert [column.to_pylist() for column in decoded.columns] == [[1] * len(expected), ["x"] * len(expected)]
    assert sorted(error.row for error in bad) == [k for k, payload in enumerate(payloads) if payload in errors]


def monsters(size: int) -> dict[str, list[bytes]]:
    """Payloads of so many bytes that are no rows."""
    half = size // 2
    nested = [b"[" * size, b'{"a":' * (size // 5), b'{"x":' + b"[" * half + b"]" * half + b',"a":2}', b" " * size]
    return {
        "json": nested,
        "avro": nested,
        "debezium-json": [*nested, b'{"after":{"a":2,"b":' + b"{" * size + b'},"op":"c"}'],
        "canal-json": nested,
        "csv": [b"," * size, b"1;" * half, b" " * size, b"\n" * size],
    }


@pytest.mark.parametrize("name", monsters(1))
def test_nesting(name: str) -> None:
    besides(name, 1_000_000)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", monsters(1))
def test_a_hundred_megabytes_of_nesting(name: str) -> None:
    besides(name, 100_000_000)


def besides(name: str, size: int) -> None:
    """A monster is in error, and the records beside it are rows."""
    made = decoder(name)
    for monster in monsters(size)[name]:
        bad: list[DecodeError] = []
        decoded = made.decode(pa.array([GOOD[name], monster, GOOD[name]], pa.binary()), bad)
        assert decoded.payload_indices is not None
        assert decoded.payload_indices.to_pylist() == [0, 2]
        assert [error.row for error in bad] == [1]
        assert len(str(bad[0])) < 500
