"""Extreme payloads: each is decoded or reported, and does not affect the payloads around it."""

from __future__ import annotations

import json
import tracemalloc
from typing import Final

import pyarrow as pa
import pytest

from kafka_sql.errors import DecodeError
from kafka_sql.formats.format import Decoder
from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Options

SCHEMA: Final = pa.schema([("a", pa.int64()), ("s", pa.string())])
ROW: Final = {"a": 1, "s": "x"}
VALID: Final = {
    "json": json.dumps(ROW).encode(),
    "csv": b"1,x",
    "avro": b'{"a":{"long":1},"s":{"string":"x"}}',  # in Avro's JSON encoding
    "debezium-json": json.dumps({"before": None, "after": ROW, "op": "c"}).encode(),
    "canal-json": json.dumps({"data": [ROW], "type": "INSERT"}).encode(),
    "maxwell-json": json.dumps({"data": ROW, "type": "insert"}).encode(),
    "ogg-json": json.dumps({"after": ROW, "op_type": "I"}).encode(),
}


def create_decoder(name: str) -> Decoder:
    format_ = FORMATS[name]
    return format_.decoder(SCHEMA, Options(format_.options, {"avro.encoding": "json"} if name == "avro" else {}))


@pytest.mark.parametrize("name", VALID)
def test_text_around_a_document(name: str) -> None:
    valid = VALID[name]
    rows = [b"\n" * (name != "csv") + valid, valid + b"\n", valid + b"\r\n", valid + b"\n" + valid]
    rows.append(b"\xef\xbb\xbf" + valid)
    errors = [b" ", b"\n", b"\xff", valid[:-1] + b"\xff", b'"' + valid]
    no_row = [None] if name in ("csv", "avro") else [None, b""]
    if name == "csv":
        errors += [b"", valid + valid]
    elif name == "avro":
        errors += [b"", valid[:-1]]
    else:
        rows += [valid + valid]
        errors += [valid[:-1]]
    payloads = [payload for extreme in (*rows, *errors, *no_row) for payload in (valid, extreme)] + [valid]
    reported: list[DecodeError] = []
    decoded = create_decoder(name).decode(pa.array(payloads, pa.binary()), reported)
    assert decoded.payload_indices is not None
    expected = {k for k, payload in enumerate(payloads) if payload == valid or payload in rows}
    assert decoded.payload_indices.to_pylist() == sorted(expected)
    assert [column.to_pylist() for column in decoded.columns] == [[1] * len(expected), ["x"] * len(expected)]
    assert sorted(error.row for error in reported) == [k for k, payload in enumerate(payloads) if payload in errors]


def extreme_payloads(size: int) -> dict[str, list[bytes]]:
    """Return undecodable payloads of about ``size`` bytes, by format."""
    half = size // 2
    nested = [b"[" * size, b'{"a":' * (size // 5), b'{"x":' + b"[" * half + b"]" * half + b',"a":2}', b" " * size]
    return {
        "json": nested,
        "avro": nested,
        "debezium-json": [*nested, b'{"after":{"a":2,"b":' + b"{" * size + b'},"op":"c"}'],
        "canal-json": nested,
        "csv": [b"," * size, b"1;" * half, b" " * size, b"\n" * size],
    }


@pytest.mark.parametrize("name", extreme_payloads(1))
def test_nesting(name: str) -> None:
    check_neighbors_are_decoded(name, 1_000_000)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", extreme_payloads(1))
def test_a_hundred_megabytes_of_nesting(name: str) -> None:
    check_neighbors_are_decoded(name, 100_000_000)


def check_neighbors_are_decoded(name: str, size: int) -> None:
    """Assert that each payload is reported, and that the payloads before and after it are decoded."""
    for payload in extreme_payloads(size)[name]:
        errors: list[DecodeError] = []
        decoded = create_decoder(name).decode(pa.array([VALID[name], payload, VALID[name]], pa.binary()), errors)
        assert decoded.payload_indices is not None
        assert decoded.payload_indices.to_pylist() == [0, 2]
        assert [error.row for error in errors] == [1]
        assert len(str(errors[0])) < 500


@pytest.mark.parametrize("name", ["json", "csv"])
def test_a_large_record_does_not_enlarge_later_batches(name: str) -> None:
    """The memory of a batch depends on its own bytes, not on the largest record before it times its records."""
    schema = pa.schema([("a", pa.list_(pa.int32())), ("s", pa.string())])
    large, small = b'{"a":[%s1],"s":"%s"}' % (b"1," * 50_000, b"x" * 100_000), b'{"a":[1],"s":"x"}'
    if name == "csv":
        large, small = b"1;" * 50_000 + b"1," + b"x" * 100_000, b"1,x"
    decoder = FORMATS[name].decoder(schema, Options(FORMATS[name].options, {}))
    assert len(decoder.decode(pa.array([large])).columns[0]) == 1
    tracemalloc.start()
    decoded = decoder.decode(pa.array([small] * 2_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert decoded.columns[1].to_pylist() == ["x"] * 2_000
    assert peak < 20_000_000
