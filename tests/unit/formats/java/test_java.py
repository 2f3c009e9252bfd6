"""Test Java's rules for times, base64 and JSON text against Python's libraries."""

from __future__ import annotations

import base64 as python_base64
import datetime as dt
import json

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.formats.java import base64, times
from kafka_sql.formats.java.jackson import parse_document
from kafka_sql.formats.java.text import compact_json
from kafka_sql.formats.java.text_kernels import nesting_depth

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
    texts = base64.encode(array)
    texts.validate(full=True)
    assert texts.to_pylist() == [v if v is None else python_base64.b64encode(v).decode() for v in values[start:]]


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
