"""Which columns are inferred from JSON documents, and that the decoder reads the documents with them without loss."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.types as pt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import DecodeError
from kafka_sql.formats.format import ColumnTypes
from kafka_sql.formats.json.decoder import JsonDecoder
from kafka_sql.formats.json.options import JSON_OPTIONS
from kafka_sql.formats.json.schema_inference import MAX_DEPTH, MAX_FIELDS, infer_from_payloads
from kafka_sql.options import Options
from tests.unit.formats.inferred_tables import schema_of

STRICT, LENIENT = Options(JSON_OPTIONS, {}), Options(JSON_OPTIONS, {"json.ignore-parse-errors": "true"})


def infer(*texts: str) -> ColumnTypes:
    return infer_from_payloads([text.encode() for text in texts], STRICT, None)


@pytest.mark.parametrize(
    ("values", "sql_type"),
    [
        (["true", "false", "null"], "BOOLEAN"),
        (["1", "-9223372036854775808", "null"], "BIGINT"),
        (["1", "9223372036854775807"], "BIGINT"),
        (["9223372036854775808"], "STRING"),
        (["1" + "0" * 5000], "STRING"),
        (["1.5", "-2e3", "0.1"], "DOUBLE"),
        (["1.5", "7"], "DOUBLE"),
        (["1.5", "9007199254740993"], "STRING"),
        (["0.1234567890123456789"], "STRING"),
        (["1e999"], "STRING"),
        (["1e-999"], "STRING"),
        (["1e99999999999999999999"], "STRING"),
        (['"a"', "null"], "STRING"),
        (['"2020-12-30 12:13:14"'], "STRING"),
        (["null"], "STRING"),
        (["1", '"1"'], "STRING"),
        (["true", "1"], "STRING"),
        (["{}"], "STRING"),
        (["[]"], "ARRAY<STRING>"),
        (["[1, null]", "[]", "[2.5]"], "ARRAY<DOUBLE>"),
        (["[1]", "1"], "STRING"),
        (["[[1]]", "[[]]"], "ARRAY<ARRAY<BIGINT>>"),
        (['{"x": 1}', "null", '{"y`z": [{"x": true}]}'], "ROW<`x` BIGINT, `y``z` ARRAY<ROW<`x` BOOLEAN>>>"),
        (['{"x": 1}', "5"], "STRING"),
        (['{"x": 1}', "[1]"], "STRING"),
        (['{"x": 1, "X": 2}'], "STRING"),
        (['{"": 1}'], "STRING"),
        (['{"${env:HOME}": 1}'], "STRING"),
        (['{"\\ud800": 1}'], "STRING"),
    ],
)
def test_types(values: list[str], sql_type: str) -> None:
    assert infer(*(f'{{"a": {value}}}' for value in values)) == (("a", sql_type),)


def test_columns_are_those_of_all_documents_in_the_order_of_their_first_appearance() -> None:
    assert infer('{"b": 1}', '[{"a": true}, null, {"c": null}]', "", '{"a": false, "b": 2.5}') == (
        ("b", "DOUBLE"),
        ("a", "BOOLEAN"),
        ("c", "STRING"),
    )
    assert infer() == infer("{}") == infer("[]") == ()


def test_large_and_deep_objects_are_strings() -> None:
    fields = {f"f{i}": i for i in range(MAX_FIELDS)}
    assert infer(json.dumps({"a": fields}))[0][1].startswith("ROW<`f0` BIGINT, ")
    assert infer(json.dumps({"a": {**fields, "one more": 1}})) == (("a", "STRING"),)
    assert len(infer(json.dumps({**fields, "one more": 1}))) == MAX_FIELDS + 1
    assert (
        infer(f'{{"a": {"[" * MAX_DEPTH}{"]" * MAX_DEPTH}}}')[0][1] == "ARRAY<" * MAX_DEPTH + "STRING" + ">" * MAX_DEPTH
    )
    deepest = infer(f'{{"a": {"[" * 900}{"]" * 900}}}')
    assert deepest[0][1] == "ARRAY<" * MAX_DEPTH + "STRING" + ">" * MAX_DEPTH
    assert schema_of(deepest).field("a").type.num_fields == 1


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ("{", "the payload is not valid JSON: Expecting property name enclosed in double quotes at character 1: {"),
        ("5", "found 5, expected a JSON object"),
        ("null", "found null, expected a JSON object"),
        ('[{"a": 1}, "x"]', 'found "x", expected a JSON object'),
    ],
)
def test_other_payloads_are_errors_unless_they_are_ignored_or_collected(payload: str, reason: str) -> None:
    payloads = [b'{"b": 1}', payload.encode()]
    with pytest.raises(DecodeError) as e:
        infer_from_payloads(payloads, STRICT, None)
    assert (e.value.row, e.value.field, e.value.reason) == (1, None, reason)
    columns = (("b", "BIGINT"), ("a", "BIGINT")) if payload.startswith("[") else (("b", "BIGINT"),)
    errors: list[DecodeError] = []
    assert infer_from_payloads(payloads, STRICT, errors) == columns
    assert [(error.row, error.reason) for error in errors] == [(1, reason)]
    assert infer_from_payloads(payloads, LENIENT, None) == columns


NAMES = st.sampled_from(["a", "b", "c", "é", "`", 'q"', "x.y"])
NUMBERS = ["9007199254740992", "9007199254740993", "1e3", "1E+2", "0.1", "1.50", "-0", "-0.0", "1e400", "9" * 30]
SCALARS = st.one_of(
    st.sampled_from(["null", "true", "false", *NUMBERS]),
    st.integers(-(2**64), 2**64).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-1, 1, places=20).map("{:f}".format),
    st.text(max_size=3).map(json.dumps),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.dictionaries(NAMES | st.just("A"), inner, max_size=3), st.lists(inner, max_size=3)),
)
DOCUMENTS = st.lists(st.dictionaries(NAMES, VALUES, max_size=3), min_size=1, max_size=5)


def to_text(value: Any) -> str:
    """Return a generated value, whose scalars are texts, as JSON."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{to_text(inner)}" for name, inner in value.items()) + "}"
    return "[" + ",".join(map(to_text, value)) + "]" if isinstance(value, list) else str(value)


@given(DOCUMENTS)
def test_the_decoder_reads_all_documents_without_loss(generated: list[dict[str, Any]]) -> None:
    documents = [to_text(document) for document in generated]
    columns = infer(*documents)
    if not columns:
        return
    schema = schema_of(columns)
    decoded = JsonDecoder(schema, STRICT).decode(pa.array([text.encode() for text in documents]))
    rows = zip(*(column.to_pylist() for column in decoded.columns), strict=True)
    for text, row in zip(documents, rows, strict=True):
        document = json.loads(text, parse_int=Decimal, parse_float=Decimal)
        assert document.keys() <= set(schema.names)
        for field, value in zip(schema, row, strict=True):
            assert_same(document.get(field.name), value, field.type)


def assert_same(expected: Any, value: Any, arrow_type: pa.DataType) -> None:
    """Assert that a decoded value is that of the document, whose numbers are decimals."""
    if expected is None:
        assert value is None
    elif pt.is_struct(arrow_type):
        assert expected.keys() <= value.keys()
        for field in arrow_type:
            assert_same(expected.get(field.name), value[field.name], field.type)
    elif pt.is_list(arrow_type):
        assert len(expected) == len(value)
        for expected_element, element in zip(expected, value, strict=True):
            assert_same(expected_element, element, arrow_type.value_type)
    elif pt.is_floating(arrow_type):
        assert Decimal(repr(value)) == expected
    elif pt.is_string(arrow_type) and isinstance(expected, bool):
        assert value == json.dumps(expected)
    elif pt.is_string(arrow_type) and isinstance(expected, Decimal):
        assert Decimal(value) == expected
    elif pt.is_string(arrow_type) and not isinstance(expected, str):
        assert isinstance(json.loads(value), type(expected))
    else:
        assert value == expected
