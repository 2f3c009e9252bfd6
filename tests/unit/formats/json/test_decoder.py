"""Which JSON payloads are decoded to rows, and the error messages."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from kafka_sql.errors import ConflictingOptionsError, DecodeError, SchemaError
from kafka_sql.formats.json.decoder import JsonDecoder
from kafka_sql.formats.json.options import JSON_OPTIONS, rename_options, to_json_options
from kafka_sql.options import Options

ERROR = object()
IGNORE = {"json.ignore-parse-errors": "true"}
MAP = pa.map_(pa.string(), pa.int32())


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (b'{"a":1} and more', [1]),
        (b'{"a":1}{"a":2}', [1]),
        (b' \n{"a":1}\n ', [1]),
        (b'\xef\xbb\xbf{"a":1}', [1]),
        ('{"a":1}'.encode("utf-16-le"), [1]),
        ('{"a":1}'.encode("utf-32"), [1]),
        (b'[{"a":1},null,{"a":2}]', [1, 2]),
        (b"[]", []),
        (b'{"\\u0061":1,"A":2}', [1]),
        (b"null", ERROR),
        (b" ", ERROR),
        (b"5", ERROR),
        (b'{"a":1', ERROR),
        (b'{"a":1,}', ERROR),
        (b"{'a':1}", ERROR),
        (b'{"a":1/**/}', ERROR),
        (b'{"z":"\xff"}', ERROR),
        (b'[{"a":1},5]', ERROR),
        (b'{"z":NaN}', ERROR),
        (b'{"z":"\\x"}', ERROR),
    ],
)
def test_a_payload(payload: bytes, expected: Any) -> None:
    schema = pa.schema([("a", pa.int64())])
    strict, lenient = (
        JsonDecoder(schema, Options(JSON_OPTIONS, {"json.ignore-parse-errors": text})) for text in ("false", "true")
    )
    array = pa.array([payload])
    if expected is ERROR:
        with pytest.raises(DecodeError):
            strict.decode(array)
        expected = [1] if payload.startswith(b"[{") else []
    else:
        assert strict.decode(array).columns[0].to_pylist() == expected
    decoded = lenient.decode(array)
    assert decoded.columns[0].to_pylist() == expected
    assert (decoded.payload_indices.to_pylist() if decoded.payload_indices is not None else [0]) == [0] * len(expected)


DEEP = pa.schema(
    [("o", pa.struct([("l", pa.list_(pa.struct([("n", pa.int32())])))])), ("m", pa.map_(pa.string(), pa.int32()))]
)


@pytest.mark.parametrize(
    ("payload", "field", "reason"),
    [
        ('{"o":{"l":[{},{"n":"x"}]}}', "o.l[1].n", 'found "x", expected INT (-2147483648 to 2147483647)'),
        ('{"o":{"l":[{},5]}}', "o.l[1]", "found 5, expected a JSON object"),
        ('{"o":{"l":{"k":1.50}}}', "o.l", 'found {"k":1.5}, expected a JSON array'),
        ('{"m":{"k":true}}', "m[k]", "found true, expected INT (-2147483648 to 2147483647)"),
        ('{"o":"' + "x" * 99 + '"}', "o", 'found "' + "x" * 56 + "..., expected a JSON object"),
        ("[1]", None, "found 1, expected a JSON object"),
        (
            "{",
            None,
            "the payload is not valid JSON: Expecting property name enclosed in double quotes at character 1: {",
        ),
        ("  ", None, "the payload is blank, expected a JSON object:   "),
    ],
)
def test_an_error_has_the_field_the_value_and_the_expected_type(payload: str, field: str, reason: str) -> None:
    decoder = JsonDecoder(DEEP, Options(JSON_OPTIONS, {}))
    with pytest.raises(DecodeError) as e:
        decoder.decode(pa.array([b"{}", payload.encode()]))
    assert (e.value.row, e.value.field, e.value.reason) == (1, field, reason)


def test_an_error_names_the_encoding() -> None:
    with pytest.raises(DecodeError, match="the payload is not utf-8: byte 0xff at 6"):
        JsonDecoder(DEEP, Options(JSON_OPTIONS, {})).decode(pa.array([b'{"z":"\xff"}']))


def test_an_undecodable_field_is_null_and_the_other_fields_are_decoded() -> None:
    decoder = JsonDecoder(DEEP, Options(JSON_OPTIONS, IGNORE))
    payload = b'{"o":{"l":[{"n":"x"},5,{"n":1}]},"m":{"k":true,"l":2}}'
    decoded = decoder.decode(pa.array([b"nonsense", payload]))
    assert decoded.columns[0].to_pylist() == [{"l": [{"n": None}, None, {"n": 1}]}]
    assert decoded.columns[1].to_pylist() == [[("k", None), ("l", 2)]]
    assert decoded.payload_indices is not None
    assert decoded.payload_indices.to_pylist() == [1]


@pytest.mark.parametrize("arrow_type", [pa.int64(), MAP])  # the loop and the fallback
def test_not_null(arrow_type: pa.DataType) -> None:
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", arrow_type)])
    array = pa.array([b'{"k":1}', b'{"v":null}', b'{"k":null}', b'{"k":"x"}', b'{"k":5}'])
    with pytest.raises(DecodeError) as e:
        JsonDecoder(schema, Options(JSON_OPTIONS, {})).decode(array)
    reason = 'is null or missing, but declared NOT NULL; the payload is: {"v":null}'
    assert (e.value.row, e.value.field, e.value.reason) == (1, "k", reason)
    decoded = JsonDecoder(schema, Options(JSON_OPTIONS, IGNORE)).decode(array)
    assert decoded.columns[0].to_pylist() == [1, 5]
    assert decoded.payload_indices is not None
    assert decoded.payload_indices.to_pylist() == [0, 4]


@pytest.mark.parametrize("payload", [b'{"o":null}', b'{"o":{"x":1}}', b'{"o":{"x":1,"l":[{}]}}'])
def test_a_missing_field_can_be_an_error(payload: bytes) -> None:
    schema = pa.schema(
        [("o", pa.struct([("x", pa.int8()), ("l", pa.list_(pa.struct([("n", pa.int8())])))])), ("p", pa.int8())]
    )
    options = Options(JSON_OPTIONS, {"json.fail-on-missing-field": "true"})
    complete = b'{"o":{"x":1,"l":[{"n":null}]},"p":null}'
    assert JsonDecoder(schema, options).decode(pa.array([complete] * 2)).columns[1].to_pylist() == [None, None]
    with pytest.raises(DecodeError) as e:
        JsonDecoder(schema, options).decode(pa.array([complete, payload]))
    reason = "the field is missing, and 'json.fail-on-missing-field' is 'true'; the payload is: " + payload.decode()
    assert (e.value.row, e.value.reason) == (1, reason)


def test_long_payloads_are_shortened_in_errors() -> None:
    options = Options(JSON_OPTIONS, {"json.fail-on-missing-field": "true"})
    with pytest.raises(DecodeError) as e:
        JsonDecoder(pa.schema([("a", pa.int8())]), options).decode(pa.array([b'{"b":"' + b"x" * 1000 + b'"}']))
    assert e.value.reason.endswith('the payload is: {"b":"' + "x" * 51 + "...")


@pytest.mark.parametrize(
    ("zone", "standard", "value", "advice"),
    [
        ("UTC", "SQL", "2026-11-20T14:11:24.791Z", ". Set 'value.json.timestamp-format.standard' = 'ISO-8601'"),
        (None, "SQL", "2026-11-20T14:11:24", ". Set 'value.json.timestamp-format.standard' = 'ISO-8601'"),
        (None, "ISO-8601", "2026-11-20 14:11:24", ". Set 'value.json.timestamp-format.standard' = 'SQL'"),
        (None, "ISO-8601", "2026-11-20T14:11:24Z", ". It has a time zone: declare the column as TIMESTAMP_LTZ"),
        (
            None,
            "SQL",
            "2026-11-20T14:11:24Z",
            ". It has a time zone: declare the column as TIMESTAMP_LTZ. "
            "Set 'value.json.timestamp-format.standard' = 'ISO-8601'",
        ),
        (
            None,
            "ISO-8601",
            "2026-11-20T14:11:24+02:00",
            ". Set 'value.json.timestamp-format.standard' = 'ISO-8601-WITH-OFFSET'",
        ),
        (
            "UTC",
            "SQL",
            "2026-11-20T14:11:24-05:30",
            ". Set 'value.json.timestamp-format.standard' = 'ISO-8601-WITH-OFFSET'",
        ),
        (
            None,
            "ISO-8601-WITH-OFFSET",
            "2026-11-20T14:11:24",
            ". Set 'value.json.timestamp-format.standard' = 'ISO-8601'",
        ),
        (None, "SQL", "yesterday", ""),
        (None, "SQL", 5, ""),
    ],
)
def test_a_timestamp_in_the_other_format_names_the_option(
    zone: str | None, standard: str, value: str | int, advice: str
) -> None:
    options = Options(JSON_OPTIONS, {"json.timestamp-format.standard": standard}, "value.")
    decoder = JsonDecoder(pa.schema([("t", pa.timestamp("us", zone))]), options)
    with pytest.raises(DecodeError) as e:
        decoder.decode(pa.array([json.dumps({"t": value}).encode()]))
    offset, such_as = "Z" if zone else "", "such as"
    if standard == "ISO-8601-WITH-OFFSET":
        offset, such_as = "+02:00", "with an offset, such as"
    expected = f"2020-12-30{' ' if standard == 'SQL' else 'T'}12:13:14.123{offset}"
    assert e.value.reason == f"found {json.dumps(value)}, expected a timestamp {such_as} '{expected}'{advice}"


def test_errors_name_the_option_of_the_format_that_is_based_on_json() -> None:
    renamed = rename_options("json-confluent")
    raw = {"json-confluent.fail-on-missing-field": "true"}
    options = to_json_options(renamed, Options(renamed.values(), raw, "key."))
    with pytest.raises(DecodeError, match=r"'key\.json-confluent\.fail-on-missing-field' is 'true'"):
        JsonDecoder(pa.schema([("a", pa.int8())]), options).decode(pa.array([b"{}"]))


def test_contradicting_options() -> None:
    options = Options(JSON_OPTIONS, {"json.fail-on-missing-field": "true", "json.ignore-parse-errors": "true"})
    with pytest.raises(ConflictingOptionsError, match=r"fail-on-missing-field and .*errors shouldn't both be true"):
        JsonDecoder(DEEP, options)


@pytest.mark.parametrize(
    ("arrow_type", "fragment"),
    [
        (pa.map_(pa.int32(), pa.string()), "JSON format doesn't support non-string as key type of map"),
        (pa.list_(pa.duration("us")), r"column 'a\[\]'"),
        (pa.struct([("x", pa.month_day_nano_interval())]), r"column 'a\.x'"),
    ],
)
def test_a_type_that_json_does_not_have(arrow_type: pa.DataType, fragment: str) -> None:
    with pytest.raises(SchemaError, match=fragment):
        JsonDecoder(pa.schema([("a", arrow_type)]), Options(JSON_OPTIONS, {}))
