"""Test JSON Schemas of tables: written documents conform to them, and the same columns are inferred from them."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import DecodeError, SchemaError
from kafka_sql.formats.confluent.schemas import RegisteredSchema
from kafka_sql.formats.confluent.wire_format import encode_header
from kafka_sql.formats.declared_types import DECLARED_TYPE
from kafka_sql.formats.json_confluent import JSON_CONFLUENT
from kafka_sql.formats.json_confluent.encoder import create_writer
from kafka_sql.formats.json_confluent.schema_from_table import derive_schema
from kafka_sql.formats.json_confluent.schema_inference import infer_columns
from kafka_sql.options import Options
from tests.unit.formats.columns import comparable_values
from tests.unit.formats.json.random_documents import objects
from tests.unit.formats.random_schemas import schemas

URL = {"json-confluent.url": "http://localhost:1"}
PAIR = pa.schema([("id", pa.int64()), ("name", pa.string())])


def options(**format_options: str) -> Options:
    named = {f"json-confluent.{key.replace('_', '-')}": value for key, value in format_options.items()}
    return Options(JSON_CONFLUENT.options, URL | named)


def with_header(*texts: str | None) -> pa.BinaryArray:
    """Return documents with a header."""
    return pa.array([None if text is None else encode_header(7) + text.encode() for text in texts], pa.binary())


@given(st.data())
def test_written_documents_conform_to_the_schema_and_are_read_back(data: st.DataObject) -> None:
    schema = data.draw(schemas(not_null=False))
    texts = data.draw(st.lists(objects(list(schema), False, odd_one_in=10**6), min_size=1, max_size=3))
    decoder = JSON_CONFLUENT.decoder(schema, options())
    try:
        decoded = decoder.decode(with_header(*texts))
    except DecodeError:
        return  # a repeated name, or a number out of range
    batch = pa.RecordBatch.from_arrays(decoded.columns, schema=schema)
    written = create_writer(schema, options())(batch, encode_header(7))
    validator = jsonschema.Draft7Validator(json.loads(derive_schema(schema)))
    for payload in written.to_pylist():
        assert payload[:5] == b"\0\0\0\0\x07"
        document = json.loads(payload[5:])
        if "NaN" not in payload.decode() and "Infinity" not in payload.decode():
            validator.validate(document)
    redecoded = decoder.decode(written)
    assert [comparable_values(c) for c in redecoded.columns] == [comparable_values(c) for c in decoded.columns]


TYPES = {
    "b": (pa.bool_(), "BOOLEAN"),
    "i1": (pa.int8(), "TINYINT"),
    "i2": (pa.int16(), "SMALLINT NOT NULL"),
    "i4": (pa.int32(), "INT"),
    "i8": (pa.int64(), "BIGINT NOT NULL"),
    "f4": (pa.float32(), "FLOAT"),
    "f8": (pa.float64(), "DOUBLE"),
    "d": (pa.decimal128(10, 2), "DECIMAL(10, 2)"),
    "s": (pa.string(), "STRING"),
    "y": (pa.binary(), "BYTES"),
    "day": (pa.date32(), "DATE"),
    "t": (pa.time64("ns"), "TIME(3)"),
    "ts": (pa.timestamp("us"), "TIMESTAMP(3)"),
    "ltz": (pa.timestamp("us", "UTC"), "TIMESTAMP_LTZ(6)"),
    "a": (pa.list_(pa.int32()), "ARRAY<INT NOT NULL>"),
    "m": (pa.map_(pa.string(), pa.float64()), "MAP<STRING NOT NULL, DOUBLE>"),
    "r": (
        pa.struct([("z", pa.string()), ("a`b", pa.list_(pa.int64()))]),
        "ROW<`z` STRING NOT NULL, `a``b` ARRAY<BIGINT>> NOT NULL",
    ),
}


def test_columns_inferred_from_a_derived_schema() -> None:
    schema = pa.schema(
        [pa.field(name, arrow_type, metadata={DECLARED_TYPE: text}) for name, (arrow_type, text) in TYPES.items()]
    )
    text = derive_schema(schema)
    jsonschema.Draft7Validator.check_schema(json.loads(text))
    expected = tuple((name, text) for name, (_, text) in TYPES.items())
    assert infer_columns(RegisteredSchema(1, text)) == expected
    shuffled = json.loads(text)
    shuffled["properties"] = dict(sorted(shuffled["properties"].items()))  # as a registry may reorder them
    assert infer_columns(RegisteredSchema(1, json.dumps(shuffled))) == expected


# fmt: off
@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({"type": "integer"}, "BIGINT"),
        ({"type": "number"}, "DOUBLE"),
        ({"type": ["null", "string"]}, "STRING"),
        ({"enum": ["a", "b"]}, "STRING"),
        ({"const": "a"}, "STRING"),
        ({"type": "string", "format": "date-time"}, "STRING"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "BIGINT"),
        ({"$ref": "#/definitions/P"}, "ROW<`x` DOUBLE NOT NULL, `y` DOUBLE>"),
        ({"type": "array", "items": {"$ref": "other.json"}}, "ARRAY<ROW<`k` STRING> NOT NULL>"),
        ({"allOf": [{"$ref": "#/definitions/P"}]}, "ROW<`x` DOUBLE NOT NULL, `y` DOUBLE>"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "MAP<STRING NOT NULL, BIGINT NOT NULL>"),
    ],
)
def test_columns_inferred_from_other_schemas(node: Any, expected: str) -> None:
    point = {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x"]}
    root = {"type": "object", "properties": {"f": node}, "definitions": {"P": point}}
    other = json.dumps({"type": "object", "properties": {"k": {"type": "string"}}})
    assert infer_columns(RegisteredSchema(1, json.dumps(root), (("other.json", other),))) == (("f", expected),)


@pytest.mark.parametrize(
    ("node", "fragment"),
    [
        ({"type": ["integer", "string"]}, "has for the field 'f'"),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, "which no column type can hold"),
        ({}, "has for the field 'f' {}, which no column type can hold"),
        ({"type": "object"}, "which no column type can hold"),
        ({"$ref": "#"}, "contains itself: the recursive type '#'"),
        ({"$ref": "none.json"}, "refers to 'none.json', which is not among its references"),
        ({"$ref": "#/definitions/Q"}, "which does not exist"),
        (True, "has true, expected a type"),
    ],
)
def test_unsupported_schemas(node: Any, fragment: str) -> None:
    root = {"type": "object", "properties": {"f": {"type": "array", "items": node} if node == {"$ref": "#"} else node}}
    with pytest.raises(ValueError, match=r"field|refers|itself|expected") as e:
        infer_columns(RegisteredSchema(1, json.dumps(root)))
    assert fragment in str(e.value)
    for text in ("[]", '{"type": "string"}', "{", "[" * 100_000):
        with pytest.raises(ValueError, match=r"is not JSON|expected an object"):
            infer_columns(RegisteredSchema(1, text))
# fmt: on


def test_undecodable_payloads() -> None:
    valid = with_header('{"id": 1, "name": "x"}')[0].as_py()
    decoder = JSON_CONFLUENT.decoder(PAIR, options())
    for malformed, field, fragment in (
        (b"", None, "Magic number does not match"),
        (b"\0\0\0\0", None, "the payload is: 00 00 00 00"),
        (b'{"id": 1}', None, "the payload is: 7b 22"),
        (encode_header(1) + b"{", None, "JSON"),
        (encode_header(1) + b'{"id": "x"}', "id", 'found "x", expected BIGINT'),
    ):
        for last in (valid, b""):
            with pytest.raises(DecodeError) as e:
                decoder.decode(pa.array([valid, None, malformed, last]))
            assert (e.value.row, e.value.field) == (2, field)
            assert fragment in str(e.value)


def test_ignored_errors_and_metadata() -> None:
    texts = ('{"id": 1}', None, "{", '{"id": "x", "name": "y"}', '[{"id": 2}, {"id": 3}]', "")
    payloads = pa.array([*with_header(*texts).to_pylist(), b"", b"{}", encode_header(9) + b'{"id": 4}'], pa.binary())
    lenient = options(ignore_parse_errors="true", subject="s")
    decoded = JSON_CONFLUENT.decoder(PAIR, lenient, ("subject", "schema-id")).decode(payloads)
    assert decoded.payload_indices is not None
    assert decoded.payload_indices.to_pylist() == [0, 3, 4, 4, 8]
    assert decoded.columns[0].to_pylist() == [1, None, 2, 3, 4]
    assert decoded.columns[1].to_pylist() == [None, "y", None, None, None]
    assert [m.to_pylist() for m in decoded.metadata] == [["s"] * 5, [7, 7, 7, 7, 9]]


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "is not an object"),
        ('{"properties": 5}', "'properties' is not an object"),
        ('{"properties": {"id": {}, "name": {}}, "required": null}', "'required' is not an array of strings"),
        ('{"properties": {"id": {}, "name": {}}, "required": [["id"]]}', "'required' is not an array of strings"),
        ('{"properties": {"id": {}}}', "does not match the table schema"),
        ('{"properties": {"id": {}, "name": {}, "x": {}}, "required": ["x"]}', "expected [id, name]"),
    ],
)
def test_invalid_schema_option(text: str, fragment: str) -> None:
    with pytest.raises(SchemaError) as e:
        JSON_CONFLUENT.encoder(PAIR, options(schema=text, subject="s"))
    assert fragment in str(e.value)
