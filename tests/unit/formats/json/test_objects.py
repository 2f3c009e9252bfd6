"""Objects of columns: against json.dumps, over all integers, nulls and slices."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.formats.json.encoder import JsonEncoder
from kafka_sql.formats.registry import find_format
from kafka_sql.options import Options

BITS = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
SCHEMA = pa.schema([*((f"i{bits}", kind) for bits, kind in BITS.items()), ("text", pa.string()), ("flag", pa.bool_())])
ROW = st.fixed_dictionaries(
    {
        **{f"i{bits}": st.none() | st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in BITS},
        "text": st.none() | st.text(st.characters(max_codepoint=0x7E), max_size=5),
        "flag": st.none() | st.booleans(),
    }
)


def encoded(batch: pa.RecordBatch) -> list[Any]:
    found = JsonEncoder(batch.schema, Options(find_format("json", "format").options, {})).encode(batch)
    found.validate(full=True)
    return found.to_pylist()  # type: ignore[no-any-return]


def expected(rows: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() for row in rows]


@given(st.lists(ROW, max_size=6), st.integers(0, 3))
def test_rows_and_slices_of_them(rows: list[dict[str, Any]], start: int) -> None:
    batch = pa.RecordBatch.from_pylist(rows, SCHEMA)
    assert list(map(json.loads, encoded(batch))) == rows
    assert encoded(batch.slice(start)) == encoded(pa.RecordBatch.from_pylist(rows[start:], SCHEMA))


@pytest.mark.parametrize("bits", BITS)
def test_every_length_of_a_number(bits: int) -> None:
    limit = 2 ** (bits - 1)
    near = [n + d for n in [0, limit, *(10**e for e in range(20))] for d in (-2, -1, 0, 1)]
    numbers = sorted({n for m in near for n in (m, -m) if -limit <= n < limit})
    batch = pa.RecordBatch.from_pydict({"n": pa.array(numbers, BITS[bits])})
    assert encoded(batch) == expected([{"n": n} for n in numbers])


@given(st.lists(st.integers(-(10**11), 10**11), min_size=1, max_size=6), st.integers(0, 6), st.integers(0, 2))
def test_decimals_of_few_digits(numbers: list[int], places: int, start: int) -> None:
    values = [number / 10**places for number in numbers]
    rows = [v for v in values if v == 0 or 1e-3 <= abs(v) < 1e7][start:]
    batch = pa.RecordBatch.from_pydict({"n": pa.array([None, *rows, None], pa.float64())}).slice(1)
    assert encoded(batch) == [b'{"n":%s}' % repr(v).encode() for v in rows] + [b'{"n":null}']


@pytest.mark.parametrize("one", [-0.0, 1e-3, 9.999e-4, 9999999.9999, 1e7, 0.00005, 1 / 3, 0.1 + 0.2, 123.45678])
def test_one_that_is_otherwise_among_decimals_of_few_digits(one: float) -> None:
    batch = pa.RecordBatch.from_pydict({"n": [0.0, 25.5, one, -19.99]})
    found = [json.loads(text)["n"] for text in encoded(batch)]
    assert [repr(n) for n in found] == [repr(n) for n in (0.0, 25.5, one, -19.99)]
    assert encoded(batch)[:2] == [b'{"n":0.0}', b'{"n":25.5}']
