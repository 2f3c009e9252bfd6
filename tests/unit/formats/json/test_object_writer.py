"""Test JSON objects against json.dumps: integers, decimals, nulls and slices; and the texts of doubles."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.formats.java.scalar_text import scalar_text
from kafka_sql.formats.java.text import double_text
from kafka_sql.formats.java.times import TimestampStandard
from kafka_sql.formats.json.encoder import JsonEncoder
from kafka_sql.formats.json.options import JSON_OPTIONS
from kafka_sql.options import Options

BITS = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
SCHEMA = pa.schema(
    [*((f"i{bits}", arrow_type) for bits, arrow_type in BITS.items()), ("text", pa.string()), ("flag", pa.bool_())]
)
ROW = st.fixed_dictionaries(
    {
        **{f"i{bits}": st.none() | st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in BITS},
        "text": st.none() | st.text(st.characters(max_codepoint=0x7E), max_size=5),
        "flag": st.none() | st.booleans(),
    }
)


def encode(batch: pa.RecordBatch, options: Mapping[str, str] | None = None) -> list[Any]:
    payloads = JsonEncoder(batch.schema, Options(JSON_OPTIONS, options or {})).encode(batch)
    payloads.validate(full=True)
    return payloads.to_pylist()  # type: ignore[no-any-return]


def dump(rows: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() for row in rows]


@given(st.lists(ROW, max_size=6), st.integers(0, 3))
def test_rows_and_slices(rows: list[dict[str, Any]], start: int) -> None:
    batch = pa.RecordBatch.from_pylist(rows, SCHEMA)
    assert list(map(json.loads, encode(batch))) == rows
    assert encode(batch.slice(start)) == encode(pa.RecordBatch.from_pylist(rows[start:], SCHEMA))


@pytest.mark.parametrize("bits", BITS)
def test_integers_of_every_length(bits: int) -> None:
    limit = 2 ** (bits - 1)
    boundaries = [n + d for n in [0, limit, *(10**e for e in range(20))] for d in (-2, -1, 0, 1)]
    numbers = sorted({n for m in boundaries for n in (m, -m) if -limit <= n < limit})
    batch = pa.RecordBatch.from_pydict({"n": pa.array(numbers, BITS[bits])})
    assert encode(batch) == dump([{"n": n} for n in numbers])


@given(st.lists(st.integers(-(10**11), 10**11), min_size=1, max_size=6), st.integers(0, 6), st.integers(0, 2))
def test_doubles_of_few_decimals(numbers: list[int], places: int, start: int) -> None:
    values = [number / 10**places for number in numbers]
    rows = [v for v in values if v == 0 or 1e-3 <= abs(v) < 1e7][start:]
    batch = pa.RecordBatch.from_pydict({"n": pa.array([None, *rows, None], pa.float64())}).slice(1)
    assert encode(batch) == [b'{"n":%s}' % repr(v).encode() for v in rows] + [b'{"n":null}']


@pytest.mark.parametrize("double", [-0.0, 1e-3, 9.999e-4, 9999999.9999, 1e7, 0.00005, 1 / 3, 0.1 + 0.2, 123.45678])
def test_another_double_among_doubles_of_few_decimals(double: float) -> None:
    batch = pa.RecordBatch.from_pydict({"n": [0.0, 25.5, double, -19.99]})
    decoded = [json.loads(text)["n"] for text in encode(batch)]
    assert [repr(n) for n in decoded] == [repr(n) for n in (0.0, 25.5, double, -19.99)]
    assert encode(batch)[:2] == [b'{"n":0.0}', b'{"n":25.5}']


@given(st.lists(ROW, max_size=6), st.integers(0, 3))
def test_null_fields_are_skipped_in_rows_and_slices(rows: list[dict[str, Any]], start: int) -> None:
    batch = pa.RecordBatch.from_pylist(rows, SCHEMA).slice(start)
    payloads = encode(batch, {"json.encode.ignore-null-fields": "true"})
    without_null = [{name: value for name, value in row.items() if value is not None} for row in rows[start:]]
    assert list(map(json.loads, payloads)) == without_null


DOUBLES = st.floats() | st.integers(-(10**11), 10**11).map(lambda n: n / 10_000)


@given(st.sampled_from([pa.float32(), pa.float64()]), DOUBLES)
def test_the_compiled_loop_arrow_and_python_write_the_same_double(arrow_type: pa.DataType, number: float) -> None:
    array = pa.array([number], pa.float64()).cast(arrow_type)
    value = array[0].as_py()
    (arrow,) = scalar_text(array, TimestampStandard.SQL, plain_decimals=False).array.to_pylist()
    # alone, a double of few decimals is written from ten-thousandths; beside 1/3, from Arrow's text
    for column in (array, pa.concat_arrays([array, pa.array([1 / 3], pa.float64()).cast(arrow_type)])):
        assert encode(pa.RecordBatch.from_pydict({"n": column}))[0].decode() == f'{{"n":{arrow}}}'
    if not math.isfinite(value):
        assert double_text(value) == arrow
    elif arrow_type == pa.float64():
        assert repr(float(arrow)) == repr(float(double_text(value))) == repr(value)
        if value == 0 or 1e-3 <= abs(value) < 1e7:
            assert arrow == double_text(value) == repr(value)
