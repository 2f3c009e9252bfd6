"""Test Java's rules for times, base64 and JSON text against Python's libraries."""

from __future__ import annotations

import base64
import datetime as dt
import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import DecodeError
from kafka_sql.formats.java import times
from kafka_sql.formats.java.decimals import parse_decimal
from kafka_sql.formats.java.jackson import parse_document
from kafka_sql.formats.java.scalar_text import encode_base64
from kafka_sql.formats.java.text import compact_json
from kafka_sql.formats.java.text_kernels import nesting_depth
from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Options

EPOCH = dt.date(1970, 1, 1).toordinal()


@given(st.dates())
def test_dates(day: dt.date) -> None:
    assert times.parse_date(day.isoformat()) == day.toordinal() - EPOCH


@given(st.integers(-700_000, 700_000).filter(lambda y: abs(y) > 9999), st.integers(1, 12), st.integers(1, 28))
def test_dates_of_distant_years_repeat_after_400_years(year: int, month: int, day: int) -> None:
    equivalent_year = year % 400 + 400
    expected = dt.date(equivalent_year, month, day).toordinal() - EPOCH + (year - equivalent_year) // 400 * 146_097
    assert times.parse_date(f"{'+' if year > 0 else '-'}{abs(year)}-{month:02}-{day:02}") == expected


@given(st.datetimes(), st.booleans(), st.booleans())
def test_timestamps(timestamp: dt.datetime, iso: bool, utc: bool) -> None:
    standard = times.TimestampStandard.ISO if iso else times.TimestampStandard.SQL
    text = timestamp.isoformat("T" if iso else " ") + ("Z" if utc else "")
    expected = (timestamp - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
    assert times.timestamp_parser(standard, utc)(text) == expected


@given(st.lists(st.none() | st.binary(max_size=9)), st.integers(0, 3))
def test_base64(values: list[bytes | None], start: int) -> None:
    array = pa.array(values, pa.binary())[start:]
    texts = encode_base64(array)
    texts.validate(full=True)
    assert texts.to_pylist() == [v if v is None else base64.b64encode(v).decode() for v in values[start:]]


JSON = st.recursive(st.none() | st.booleans() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v))


@given(JSON.filter(lambda v: isinstance(v, dict | list)))
def test_compact_json_parses_to_the_document(value: object) -> None:
    text = compact_json(value)
    assert parse_document(text.encode()) == value
    # Java writes control characters with uppercase hex digits.
    assert text.lower() == json.dumps(value, ensure_ascii=False, separators=(",", ":")).lower()


def nesting(value: object) -> int:
    """Return how deep a value is nested."""
    if isinstance(value, dict | list):
        children = value.values() if isinstance(value, dict) else value
        return 1 + max(map(nesting, children), default=0)
    return 0


@given(JSON)
def test_nesting_depth(value: object) -> None:
    data = np.frombuffer(compact_json(value).encode(), np.uint8)
    assert nesting_depth(data, 1000) == nesting(value)
    assert nesting_depth(data, 1) == min(2, nesting(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.", "1"),
        ("-.50", "-0.50"),
        ("1e2147483647", "1E+2147483647"),
        ("1e2147483648", None),
        ("1.5e-2147483646", "1.5E-2147483646"),
        ("1.5e-2147483647", None),
        ("1e-99999999999999999999", None),
        ("0e9999999999999999999", None),
        ("1e+00000000000000000005", "1E+5"),
        ("1e", None),
        (".", None),
        ("", None),
        ("1.2.3", None),
    ],
)
def test_numbers_are_parsed_as_by_big_decimal(text: str, value: str | None) -> None:
    """The expected values are those of Java 17."""
    if value is None:
        with pytest.raises(ValueError, match="expected"):
            parse_decimal(text)
    else:
        assert str(parse_decimal(text)) == value


@pytest.mark.parametrize("name", ["json", "csv"])
def test_a_number_that_big_decimal_does_not_accept_is_a_bad_record(name: str) -> None:
    """Its neighbors are read, and 'ignore-parse-errors' makes it null, whether or not the compiled loop reads it."""
    schema = pa.schema([("n", pa.decimal128(10, 2)), ("s", pa.string())])
    numbers = ["1e9999999999999999999", "0e-99999999999", "1e2147483648", "1", "0e9"]
    payloads = [f'{{"n":{number},"s":"x"}}' if name == "json" else f"{number},x" for number in numbers]
    array = pa.array([payload.encode() for payload in payloads], pa.binary())
    errors: list[DecodeError] = []
    decoded = FORMATS[name].decoder(schema, Options(FORMATS[name].options, {})).decode(array, errors)
    assert [(error.row, error.field) for error in errors] == [(0, "n"), (1, "n"), (2, "n")]
    assert decoded.columns[0].to_pylist() == [1, 0]
    ignoring = Options(FORMATS[name].options, {f"{name}.ignore-parse-errors": "true"})
    decoded = FORMATS[name].decoder(schema, ignoring).decode(array)
    assert decoded.columns[0].to_pylist() == [None, None, None, 1, 0]


def test_a_number_in_an_object_that_big_decimal_does_not_accept_is_a_bad_record() -> None:
    schema = pa.schema([("s", pa.string()), ("n", pa.decimal128(10, 2))])
    payloads = [b'{"s":{"x":1e9999999999}}', b'{"s":{"x":1.50}}', b'{"s":[1e-99999999999999999999]}']
    errors: list[DecodeError] = []
    decoded = FORMATS["json"].decoder(schema, Options(FORMATS["json"].options, {})).decode(pa.array(payloads), errors)
    assert [(error.row, error.field) for error in errors] == [(0, "s"), (2, "s")]
    assert decoded.columns[0].to_pylist() == ['{"x":1.5}']
