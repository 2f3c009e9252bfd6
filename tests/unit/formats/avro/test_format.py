"""Test the avro format against fastavro, and against schemas and payloads from Flink."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Mapping
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.types as pt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import DecodeError, EncodeError, SchemaError
from kafka_sql.formats.avro import AVRO
from kafka_sql.formats.avro.schema_from_table import derive_schema
from kafka_sql.formats.declared_types import DECLARED_TYPE, DeclaredType, declared_type
from kafka_sql.formats.json import JSON
from kafka_sql.options import Options
from tests.fuzz.decoders import fuzz_decoder
from tests.fuzz.mutation import mutate
from tests.hypothesis_examples import examples
from tests.unit.formats.avro.oracle import encode_rows, parse_without_logical_types, to_avro_values
from tests.unit.formats.columns import comparable_values
from tests.unit.formats.flink_values import load_cases
from tests.unit.formats.random_schemas import samples, types

NON_LEGACY = {"avro.timestamp_mapping.legacy": "false"}
JSON_ENCODING = {"avro.encoding": "json"}


def create_decoder(schema: pa.Schema, option_values: Mapping[str, str] | None = None) -> Any:
    return AVRO.decoder(schema, Options(AVRO.options, option_values or {}))


def encode(batch: pa.RecordBatch, option_values: Mapping[str, str] | None = None) -> Any:
    return AVRO.encoder(batch.schema, Options(AVRO.options, option_values or {})).encode(batch)


def avro_names(field: pa.Field) -> pa.Field:
    """Return a field whose nested fields have names that Avro allows."""
    arrow_type = field.type
    if pt.is_struct(arrow_type):
        arrow_type = pa.struct([avro_names(f.with_name(f"f{k}")) for k, f in enumerate(arrow_type)])
    elif pt.is_list(arrow_type):
        arrow_type = pa.list_(avro_names(arrow_type.value_field))
    elif pt.is_map(arrow_type):
        arrow_type = pa.map_(arrow_type.key_type, avro_names(arrow_type.item_field))
    return field.with_type(arrow_type)


SCHEMAS = st.lists(types(), min_size=1, max_size=3).map(
    lambda ts: pa.schema([avro_names(pa.field(f"c{k}", arrow_type)) for k, arrow_type in enumerate(ts)])
)


@examples(80)
@given(data=st.data(), schema=SCHEMAS, start=st.integers(0, 2))
def test_payloads_match_fastavro_and_are_read_back(data: st.DataObject, schema: pa.Schema, start: int) -> None:
    row = st.fixed_dictionaries({field.name: samples(field.type) for field in schema})
    rows = data.draw(st.lists(row, min_size=start, max_size=start + 4))
    batch = pa.RecordBatch.from_pylist(rows, schema)[start:]
    written = encode(batch, NON_LEGACY)
    written.validate(full=True)
    oracle = parse_without_logical_types(derive_schema(schema, legacy=False))
    values = to_avro_values(pa.StructArray.from_arrays(batch.columns, fields=list(schema)))
    assert written.to_pylist() == encode_rows(oracle, values)
    decoded = create_decoder(schema, NON_LEGACY).decode(written)
    assert decoded.payload_indices is None
    for column in decoded.columns:
        column.validate(full=True)
    assert [c.type for c in decoded.columns] == schema.types
    assert [comparable_values(c) for c in decoded.columns] == [comparable_values(c) for c in batch.columns]
    text = encode(batch, NON_LEGACY | JSON_ENCODING)
    assert [comparable_values(c) for c in create_decoder(schema, NON_LEGACY | JSON_ENCODING).decode(text).columns] == [
        comparable_values(c) for c in batch.columns
    ]


ARROW: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(), "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64(),
    "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "STRING": pa.string(), "BYTES": pa.binary(),
    "DECIMAL(10,2)": pa.decimal128(10, 2), "DECIMAL(38,18)": pa.decimal128(38, 18), "DATE": pa.date32(),
    "TIME(3)": pa.time64("ns"), "TIMESTAMP": pa.timestamp("us"), "TIMESTAMP(3)": pa.timestamp("us"),
    "TIMESTAMP(6)": pa.timestamp("us"), "TIMESTAMP_LTZ(3)": pa.timestamp("us", "UTC"),
    "TIMESTAMP_LTZ(6)": pa.timestamp("us", "UTC"), "ARRAY<INT>": pa.list_(pa.int32()),
    "MAP<STRING, INT>": pa.map_(pa.string(), pa.int32()), "MULTISET<STRING>": pa.map_(pa.string(), pa.int32()),
    "ROW<x INT, y ARRAY<STRING>>": pa.struct([("x", pa.int32()), ("y", pa.list_(pa.string()))]),
    "ARRAY<ROW<x TIMESTAMP(3), y STRING>>": pa.list_(pa.struct([("x", pa.timestamp("us")), ("y", pa.string())])),
    "ARRAY<ARRAY<INT>>": pa.list_(pa.list_(pa.int32())),
    "ROW<x ROW<y ROW<z INT>>>": pa.struct([("x", pa.struct([("y", pa.struct([("z", pa.int32())]))]))]),
    "ROW<x TIMESTAMP(6), y TIMESTAMP_LTZ(3)>": pa.struct([("x", pa.timestamp("us")), ("y", pa.timestamp("us", "UTC"))]),
}  # fmt: skip


def test_schemas_and_payloads_match_flink() -> None:
    compared = 0
    for sql_type, not_null, legacy, encoding, document, schema_text, payload in load_cases("avro/flink_avro.jsonl"):
        field = pa.field("a", ARROW[sql_type], not not_null).with_metadata(
            {DECLARED_TYPE: sql_type + " NOT NULL" * not_null}
        )
        schema = pa.schema([field])
        assert derive_schema(schema, legacy) == schema_text, sql_type
        if "-micros" in schema_text:
            continue  # Flink 2.3 writes milliseconds there; later versions match the schema
        columns = JSON.decoder(schema, Options(JSON.options, {})).decode(pa.array([document.encode() + b"\n"])).columns
        batch = pa.RecordBatch.from_arrays(columns, schema=schema)
        option_values = {"avro.timestamp_mapping.legacy": str(legacy).lower(), "avro.encoding": encoding}
        binary = payload.encode("latin-1")
        [written] = encode(batch, option_values).to_pylist()
        if encoding == "json":  # the same JSON in other characters: emoji are not escaped, exponents may differ
            assert json.loads(written) == json.loads(binary), (sql_type, document)
        else:
            assert written == binary, (sql_type, document)
        decoded_columns = create_decoder(schema, option_values).decode(pa.array([binary])).columns
        assert [comparable_values(c) for c in decoded_columns] == [comparable_values(c) for c in columns], (
            sql_type,
            document,
        )
        compared += 1
    assert compared > 160


@pytest.mark.parametrize(
    ("field", "fragment"),
    [
        (
            pa.field("ts", pa.timestamp("us"), metadata={DECLARED_TYPE: "TIMESTAMP(6)"}),
            "Column 'ts' is TIMESTAMP(6), ",
        ),
        (pa.field("ts", pa.timestamp("us")), "declare the column as TIMESTAMP(3)"),
        (pa.field("ts", pa.timestamp("us", "UTC")), "Column 'ts' is TIMESTAMP_LTZ, "),
        (pa.field("t", pa.time64("ns"), metadata={DECLARED_TYPE: "TIME(6)"}), "Column 't' is TIME(6), "),
        (pa.field("m", pa.map_(pa.int32(), pa.int32())), "but the keys of an Avro map are strings"),
        (pa.field("my-col", pa.int32()), "Illegal character in: my-col"),
        (pa.field("r", pa.struct([("a b", pa.int32())])), "Column 'r.a b' is not a valid name in Avro"),
    ],
)
def test_unsupported_columns(field: pa.Field, fragment: str) -> None:
    with pytest.raises(SchemaError) as e:
        create_decoder(pa.schema([field]))
    assert fragment in str(e.value)


@pytest.mark.parametrize(
    ("arrow_type", "payload", "expected"),
    [
        (pa.int32(), b"\x02\x03", 1),  # trailing bytes are ignored
        (pa.int32(), b"\xff\xff\xff\xff\x0f", -(2**31)),
        (pa.int32(), b"\xff\xff\xff\xff\x1f", -(2**31)),
        (pa.int32(), b"\xff\xff\xff\xff\xff\x01", "too many bytes"),
        (pa.int32(), b"\x80", "ends before"),
        (pa.int32(), b"", "ends before"),
        (pa.int64(), b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x03", -(2**63)),
        (pa.int64(), b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "too many bytes"),
        (pa.int8(), b"\x80\x02", -128),
        (pa.bool_(), b"\2", False),
        (pa.string(), b"\x02\xff", "\ufffd"),
        (pa.string(), b"\x06\xed\xa0\x80", "\ufffd"),
        (pa.string(), b"\x01", "length is negative"),
        (pa.string(), b"\x04a", "ends before"),
        (pa.decimal128(3, 1), b"\x00", "has no bytes"),
        (pa.decimal128(3, 1), b"\x04\x7f\xff", "decimal beyond"),
        (pa.list_(pa.field("item", pa.int32(), False)), b"\x04\x02\x04\x00", [1, 2]),
        (pa.list_(pa.field("item", pa.int32(), False)), b"\x03\x04\x02\x04\x00", [1, 2]),
        (pa.list_(pa.field("item", pa.int32(), False)), b"\x02\x02\x02\x04\x00", [1, 2]),
        (pa.list_(pa.field("item", pa.int32(), False)), b"\x02\x02", "ends before"),
        (pa.list_(pa.field("item", pa.int32(), False)), b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f", "ends before"),
        (pa.map_(pa.string(), pa.field("value", pa.int32(), False)), b"\x04\x02k\x02\x02k\x04\x00", [("k", 2)]),
        (pa.time64("ns"), b"\x01", "not a time of day"),
    ],
)
def test_payload_of_a_not_null_column(arrow_type: pa.DataType, payload: bytes, expected: Any) -> None:
    schema = pa.schema([pa.field("a", arrow_type, nullable=False)])
    if isinstance(expected, str) and expected != "\ufffd":
        with pytest.raises(DecodeError, match=expected) as e:
            create_decoder(schema).decode(pa.array([payload]))
        assert (e.value.row, e.value.field) == (0, "a")
    else:
        assert create_decoder(schema).decode(pa.array([payload])).columns[0].to_pylist() == [expected]


def test_payload_of_a_nullable_column() -> None:
    schema = pa.schema([("d", pa.decimal128(3, 1)), ("r", pa.struct([("x", pa.int32())]))])
    payloads = pa.array([b"\x02\x02\x05\x02\x02\x04", b"\x00\x00", b"\x02\x04\x7f\xff\x02\x00"])
    rows = pa.RecordBatch.from_arrays(create_decoder(schema).decode(payloads).columns, schema=schema).to_pylist()
    assert [str(row["d"]) for row in rows] == ["0.5", "None", "None"]  # beyond the precision is null, as in Flink
    assert [row["r"] for row in rows] == [{"x": 2}, None, {"x": None}]
    with pytest.raises(DecodeError, match="union has no such branch") as e:
        create_decoder(schema).decode(pa.array([b"\x00\x00", b"\x00\x04"]))
    assert (e.value.row, e.value.field) == (1, "r")


def test_null_payloads_and_slices() -> None:
    schema = pa.schema([("a", pa.int32())])
    decoded = create_decoder(schema).decode(pa.array([b"x", None, b"\x02\x02", None, b"\x00"])[1:])
    assert decoded.columns[0].to_pylist() == [1, None]
    assert decoded.payload_indices.to_pylist() == [1, 3]
    assert create_decoder(schema).decode(pa.array([], pa.binary())).columns[0].to_pylist() == []


def test_null_in_a_not_null_field_is_not_written() -> None:
    schema = pa.schema([pa.field("r", pa.struct([pa.field("x", pa.int32(), False)]))])
    column = pa.StructArray.from_arrays([pa.array([1, None], pa.int32())], fields=list(schema.field(0).type))
    with pytest.raises(EncodeError, match=r"Field 'r\.x': "):
        encode(pa.RecordBatch.from_arrays([column], schema=schema))


def test_columns_grow() -> None:
    schema = pa.schema([("s", pa.string()), ("l", pa.list_(pa.string()))])
    batch = pa.RecordBatch.from_pydict(
        {"s": ["x" * 5000] * 50 + ["y"] * 50, "l": [["a"]] * 99 + [["b" * 9] * 20_000]}, schema
    )
    decoder = create_decoder(schema)
    for _ in range(2):  # the second call uses the capacity that the first one needed
        assert pa.RecordBatch.from_arrays(decoder.decode(encode(batch)).columns, schema=schema).equals(batch)


@pytest.mark.parametrize("size", [1, 79, 80, 81, 10_000])
def test_last_value_may_be_the_longest(size: int) -> None:
    schema = pa.schema([("s", pa.string())])
    batch = pa.RecordBatch.from_pydict({"s": ["", "x" * size]}, schema)
    assert pa.RecordBatch.from_arrays(create_decoder(schema).decode(encode(batch)).columns, schema=schema).equals(batch)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TIMESTAMP(3)", DeclaredType("TIMESTAMP", 3)),
        ("timestamp (6) WITH LOCAL TIME ZONE NOT NULL", DeclaredType("TIMESTAMP", 6, nullable=False)),
        ("ARRAY<TIMESTAMP(3) NOT NULL>", DeclaredType("ARRAY", None, (DeclaredType("TIMESTAMP", 3, nullable=False),))),
        ("INT ARRAY", DeclaredType("ARRAY", None, (DeclaredType("INT"),))),
        ("ROW<`a>b` TIME(1) 'it''s, a', c DECIMAL(5, 2)>",
         DeclaredType("ROW", None, (DeclaredType("TIME", 1), DeclaredType("DECIMAL", 5)))),
        ("ROW(a INT, b MAP<STRING, TIME(2)>)",
         DeclaredType("ROW", None, (DeclaredType("INT"),
                                    DeclaredType("MAP", None, (DeclaredType("STRING"), DeclaredType("TIME", 2)))))),
        ("", DeclaredType()),
        ("struct<a:int>", DeclaredType()),
    ],
)  # fmt: skip
def test_declared_precisions(text: str, expected: DeclaredType) -> None:
    assert declared_type(pa.field("a", pa.int32(), metadata={DECLARED_TYPE: text})) == expected


def test_declared_nullability_takes_precedence() -> None:
    sql_types = {"a": "INT", "b": "STRING NOT NULL", "c": "ARRAY<INT NOT NULL>", "d": "ROW<x INT NOT NULL, y INT>"}
    struct = pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.int32(), False)])
    types_ = [pa.int32(), pa.string(), pa.list_(pa.int32()), struct]
    for nullable in (True, False):
        fields = [
            pa.field(n, arrow_type, nullable, {DECLARED_TYPE: sql_types[n]})
            for n, arrow_type in zip(sql_types, types_, strict=True)
        ]
        types = {f["name"]: f["type"] for f in json.loads(derive_schema(pa.schema(fields), legacy=True))["fields"]}
        assert (types["a"], types["b"]) == (["null", "int"], "string")
        assert types["c"] == ["null", {"type": "array", "items": "int"}]
        assert [f["type"] for f in types["d"][1]["fields"]] == ["int", ["null", "int"]]


def test_derived_schema_is_compact_json() -> None:
    text = derive_schema(pa.schema([pa.field("é", pa.int32(), False)]), legacy=True)
    assert json.loads(text)["fields"] == [{"name": "é", "type": "int"}]
    assert "é" in text
    assert " " not in text


FUZZED = pa.schema(
    [
        ("a", pa.int64()),
        ("s", pa.string()),
        ("d", pa.decimal128(10, 2)),
        ("l", pa.list_(pa.struct([("x", pa.string())]))),
        ("m", pa.map_(pa.string(), pa.list_(pa.int32()))),
        ("t", pa.time64("ns")),
        ("f", pa.float32()),
    ]
)


ROWS = [
    {"a": k, "s": "é" * k, "d": k, "l": [{"x": "a"}, None], "m": [("k", [k]), ("l", None)], "t": k * 10**6, "f": 0.5}
    for k in range(20)
]


def fuzz(records: int, seed: int, encoding: str = "binary") -> tuple[int, int]:
    """Decode mutated payloads; return how many became rows, and how many raised errors."""
    batch, options = pa.RecordBatch.from_pylist(ROWS, FUZZED), {"avro.encoding": encoding}
    return fuzz_decoder(create_decoder(FUZZED, options), encode(batch, options).to_pylist(), range(20), records, seed)


def test_decodable_mutated_payloads_match_fastavro() -> None:
    rng, valid = random.Random(3), encode(pa.RecordBatch.from_pylist(ROWS, FUZZED)).to_pylist()
    payloads = [mutate(rng, rng.choice(valid)) for _ in range(2_000)]
    errors: list[DecodeError] = []
    decoded = create_decoder(FUZZED).decode(pa.array(payloads, pa.binary()), errors)
    schema = parse_without_logical_types(derive_schema(FUZZED, legacy=True))
    assert len(decoded.payload_indices) + len(errors) == 2_000
    for k, row in enumerate(decoded.payload_indices.to_pylist()):
        expected = fastavro.schemaless_reader(io.BytesIO(payloads[row]), schema, None, handle_unicode_errors="replace")
        assert decoded.columns[0][k].as_py() == expected["a"]
        assert decoded.columns[6][k].as_py() == pytest.approx(expected["f"], nan_ok=True)


@pytest.mark.parametrize("encoding", ["binary", "json"])
def test_mutated_payloads(encoding: str) -> None:
    rows, errors = fuzz(2_000, 1, encoding)
    assert rows > 10
    assert errors > 500
