"""Test that plans are no larger than their schemas, although a schema can use a named type many times."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from kafka_sql.errors import DecodeError
from kafka_sql.formats.avro.decode_plan import MAX_SYMBOL_SIZE, AvroDecodePlan, SchemaMismatch, SchemaTooLarge
from kafka_sql.formats.avro.decoder import AvroReader
from kafka_sql.formats.avro.resolution import resolve_schemas
from kafka_sql.formats.avro.schema import MAX_DEPTH, parse_schema
from kafka_sql.formats.columnar import capacity
from kafka_sql.formats.format import ColumnOverflow
from tests.unit.formats.avro.oracle import decode_row, encode_rows

KEY = pa.schema([("k", pa.int32())])
LEAF = {"type": "record", "name": "Leaf", "fields": [{"name": "i", "type": "int"}, {"name": "s", "type": "string"}]}


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields.items()]}


def doubling(levels: int, last: Any, use: Callable[[Any], Any] = lambda t: t) -> dict[str, Any]:
    """Return a record whose field ``x`` has the type ``last`` 2**levels times."""
    inner = last
    for level in range(levels):
        name = inner["name"]
        inner = record(f"R{level}", a=use(inner), b=use(name))
    return record("Top", x=inner, k="int")


def plan(writer: Any, columns: pa.Schema = KEY, reader: Any = None) -> AvroDecodePlan:
    reader = reader or record("Top", **dict.fromkeys(columns.names, "int"))
    return resolve_schemas(parse_schema(json.dumps(writer)), parse_schema(json.dumps(reader)), columns)


def decode(
    writer: Any, payloads: list[bytes], columns: pa.Schema = KEY, reader: Any = None
) -> tuple[list[Any], list[DecodeError]]:
    errors: list[DecodeError] = []
    decoded = AvroReader(plan(writer, columns, reader)).decode(pa.array(payloads, pa.binary()), errors)
    return pa.StructArray.from_arrays(decoded.columns, fields=list(columns)).to_pylist(), errors


USES: dict[str, Callable[[Any], Any]] = {
    "record": lambda t: t,
    "array": lambda t: {"type": "array", "items": t},
    "map": lambda t: {"type": "map", "values": t},
    "union": lambda t: ["null", t],
}


@pytest.mark.parametrize("use", USES)
def test_skipped_types_are_shared(use: str) -> None:
    sizes = [len(plan(doubling(levels, LEAF, USES[use])).operations) for levels in (6, 12, 24)]
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])


@pytest.mark.parametrize("use", USES)
def test_skipped_types_that_are_shared_match_fastavro(use: str) -> None:
    writer = doubling(4, LEAF, USES[use])
    schema = fastavro.parse_schema(writer)
    leaf = {"i": -3, "s": "é"}

    def value(level: int) -> Any:
        inner = value(level - 1) if level else leaf
        other = {"array": [inner, inner], "map": {"m": inner, "n": inner}, "union": None}.get(use, inner)
        return inner if level == 4 else {"a": {"array": [], "map": {}}.get(use, inner), "b": other}

    rows = [{"x": value(4), "k": 7}, {"x": value(4), "k": -8}]
    payloads = encode_rows(schema, rows)
    assert [decode_row(p, schema, None)["k"] for p in payloads] == [7, -8]
    assert decode(writer, payloads) == ([{"k": 7}, {"k": -8}], [])


def test_an_error_in_a_shared_type_names_the_field() -> None:
    writer = record("Top", x=record("Outer", a=LEAF, b="Leaf"), y="Outer", z="Leaf", k="int")
    payload = encode_rows(
        fastavro.parse_schema(writer),
        [{"x": {"a": {"i": 1, "s": "s"}, "b": {"i": 1, "s": "s"}},
          "y": {"a": {"i": 1, "s": "s"}, "b": {"i": 1, "s": "s"}}, "z": {"i": 1, "s": "s"}, "k": 5}],
    )[0]  # fmt: skip
    rows, errors = decode(writer, [payload, payload[:4], payload[:9], payload[:14], payload])
    assert rows == [{"k": 5}] * 2
    assert [(e.row, e.field) for e in errors] == [(1, "x"), (2, "y"), (3, "z")]


def test_a_record_without_fields_is_skipped_in_no_time() -> None:
    writer = doubling(24, record("Empty", n="null", f={"type": "fixed", "name": "F", "size": 0}))
    assert len(plan(writer).operations) == 2
    assert decode(writer, [b"\x0a"]) == ([{"k": 5}], [])


def test_a_chain_of_records_is_one_operation_per_value() -> None:
    """Otherwise, skipping a byte would take as many operations as the chain has records."""
    inner: Any = record("C0", i="int", n="null")
    for level in range(1, MAX_DEPTH - 2):
        inner = record(f"C{level}", c=inner)
    writer = record("Top", x={"type": "array", "items": inner}, k="int")
    assert len(plan(writer).operations) == 5
    assert decode(writer, [b"\x04\x02\x02\x00\x0a"]) == ([{"k": 5}], [])


def alternatives(levels: int, **others: Any) -> tuple[dict[str, Any], pa.Schema, dict[str, Any]]:
    """Return a schema with a choice of two records at each level, columns that are as deep, and the reader's schema.

    Args:
        others: other fields of each record, which are INT columns.
    """
    first, second, columns, reader = "int", "int", pa.int32(), "int"
    for level in range(levels):
        first = record(f"A{level}", x=[first, second] if level else "int", **others)
        second = record(f"B{level}", x=[f"A{level - 1}", f"B{level - 1}"] if level else "int", **others)
        columns = pa.struct([("x", columns), *((name, pa.int32()) for name in others)])
        reader = record(f"R{level}", x=reader, **dict.fromkeys(others, "int"))
    return record("Top", v=[first, second]), pa.schema([("v", columns)]), record("Top", v=reader)


def test_columns_with_a_choice_of_records_are_shared() -> None:
    sizes = [len(plan(*alternatives(levels)).operations) for levels in (5, 10, 20)]
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])


def test_columns_with_a_choice_of_records_match_fastavro() -> None:
    writer, columns, reader = alternatives(4)
    schema = fastavro.parse_schema(writer)
    values = []
    for choices in ("AAAA", "ABAB", "BBBB", "BAAB"):
        value: Any = 1 + len(values)
        for level, side in enumerate(choices):
            value = (f"{side}{level}", {"x": value})
        values.append({"v": value})
    payloads = encode_rows(schema, values)
    rows, errors = decode(writer, payloads, columns, reader)
    assert errors == []
    assert rows == [{"v": {"x": {"x": {"x": {"x": k}}}}} for k in (1, 2, 3, 4)]
    rows, errors = decode(writer, [payloads[0], payloads[1][:3]], columns, reader)
    assert [(e.row, e.field) for e in errors] == [(1, "v.x.x.x")]


def test_a_choice_of_records_that_do_not_match() -> None:
    writer, columns, reader = alternatives(20, y="string")
    rows, errors = decode(writer, [b"\0"], columns, reader)
    assert rows == []
    assert [e.field for e in errors] == ["v"]
    assert "field 'v.y': found string, expected a type that can be read as int32" in str(errors[0])


def test_a_shared_record_of_a_record_that_does_not_match() -> None:
    shared = record("Shared", i="int")
    writer = record("Top", v=[record("P", x=[shared, "null"], y="string"), record("Q", x=["Shared", "null"], y="int")])
    columns = pa.schema([("v", pa.struct([("x", pa.struct([("i", pa.int32())])), ("y", pa.int32())]))])
    reader = record("Top", v=record("Q", x=shared, y="int"))
    rows, errors = decode(writer, [b"\0\0\2\0", b"\2\0\2\4"], columns, reader)
    assert rows == [{"v": {"x": {"i": 1}, "y": 2}}]
    assert [(e.row, e.field) for e in errors] == [(0, "v")]


def test_limits_of_a_schema() -> None:
    wide = record("Top", k="int", **{f"f{n}": "int" for n in range(100_000)})
    with pytest.raises(SchemaTooLarge, match="has too many parts: reading a record takes more than 100,000 operations"):
        plan(wide)
    nested: Any = "int"
    for _ in range(MAX_DEPTH):
        nested = {"type": "array", "items": nested}
    assert parse_schema(json.dumps(nested)).depth == MAX_DEPTH
    with pytest.raises(ValueError, match="is nested more than 100 levels deep"):
        parse_schema(json.dumps(record("Top", k=nested)))
    chain = [record("R0", i="int"), *(record(f"R{n}", r=f"R{n - 1}") for n in range(1, 5000))]
    with pytest.raises(ValueError, match="is nested more than 100 levels deep"):  # without recursion
        parse_schema(json.dumps("R4999"), map(json.dumps, chain))


def enum(size: int) -> dict[str, Any]:
    symbols = ["a", "b" * size]
    return record("Top", v={"type": "array", "items": {"type": "enum", "name": "E", "symbols": symbols}})


def test_the_size_of_a_symbol_is_limited() -> None:
    columns = pa.schema([("v", pa.list_(pa.string()))])
    payload = b"\x04\x02\x00\x00"
    rows, _ = decode(enum(MAX_SYMBOL_SIZE), [payload], columns, enum(MAX_SYMBOL_SIZE))
    assert rows == [{"v": ["b" * MAX_SYMBOL_SIZE, "a"]}]
    reader = record("Top", v={"type": "array", "items": "string"})
    with pytest.raises(SchemaMismatch, match=r"'v': enum E has the symbol 'b{57}\.\.\.' of more than 255 bytes"):
        decode(enum(MAX_SYMBOL_SIZE + 1), [payload], columns, reader)
    assert decode(record("Top", k="int", e=enum(10**6)), [b"\x0a\0"]) == ([{"k": 5}], [])  # skipped


def test_a_payload_with_too_many_values_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several payloads of which none is too large must be decoded in parts."""
    monkeypatch.setattr(capacity, "_MAX_BYTES", 1 << 16)
    monkeypatch.setattr(capacity, "_MAX_BYTES_OF_SEVERAL", 1 << 14)
    columns, writer = pa.schema([("v", pa.list_(pa.string()))]), enum(200)

    def payload(count: int) -> bytes:
        return encode_rows(fastavro.parse_schema(writer), [{"v": ["b" * 200] * count}])[0]

    rows, errors = decode(writer, [payload(300)], columns, writer)
    assert [len(row["v"]) for row in rows] == [300]
    rows, errors = decode(writer, [payload(400)], columns, writer)
    assert rows == []
    assert [(e.row, e.field) for e in errors] == [(0, "v[]")]
    assert "has more than 2 GiB of values (from 403 bytes)" in str(errors[0])
    with pytest.raises(ColumnOverflow):
        decode(writer, [payload(50)] * 2, columns, writer)
    rows, errors = decode(writer, [payload(400), payload(1)], columns, writer)
    assert [len(row["v"]) for row in rows] == [1]
    assert [e.row for e in errors] == [0]


def test_memory_does_not_depend_on_earlier_payloads() -> None:
    """A payload with many values does not make the next batch allocate as much for each of its payloads."""
    columns = pa.schema([("v", pa.list_(pa.int64()))])
    writer = record("Top", v={"type": "array", "items": "long"})
    reader = AvroReader(plan(writer, columns, writer))
    large, small = encode_rows(fastavro.parse_schema(writer), [{"v": [1] * 100_000}, {"v": [1]}])
    small_payloads = pa.array([small] * 10_000, pa.binary())
    reader.decode(pa.array([large], pa.binary()))
    tracemalloc.start()
    try:
        reader.decode(small_payloads)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
