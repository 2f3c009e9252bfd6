"""Encode JSON: exact texts, an oracle in Python, and round trips."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.types as pt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kafka_sql.errors import EncodeError, SchemaError
from kafka_sql.formats.json.decoder import JsonDecoder
from kafka_sql.formats.json.encoder import JsonEncoder
from kafka_sql.formats.json.options import JSON_OPTIONS
from kafka_sql.options import Options
from tests.hypothesis_examples import examples
from tests.unit.formats.columns import comparable_values
from tests.unit.formats.random_schemas import samples, schemas

ISO = {"json.timestamp-format.standard": "ISO-8601"}
ISO_WITH_OFFSET = {"json.timestamp-format.standard": "ISO-8601-WITH-OFFSET"}
NO_NULLS = {"json.encode.ignore-null-fields": "true"}
PLAIN = {"json.encode.decimal-as-plain-number": "true"}
EXACT = Context(prec=50)
INT32, INT64 = pa.int32(), pa.int64()


def encode(columns: Mapping[str, pa.Array], option_values: Mapping[str, str] | None = None) -> list[str]:
    """Encode a batch; return the payloads as text."""
    batch = pa.RecordBatch.from_pydict(dict(columns))
    return [
        p.decode()
        for p in JsonEncoder(batch.schema, Options(JSON_OPTIONS, option_values or {})).encode(batch).to_pylist()
    ]


def values(array: pa.Array, option_values: Mapping[str, str] | None = None) -> list[str]:
    """Return the texts of a column's values."""
    return [text.removeprefix('{"a":').removesuffix("}") for text in encode({"a": array}, option_values)]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([True, None]), ["true", "null"]),
        (pa.array([-128, 127], pa.int8()), ["-128", "127"]),
        (pa.array([2**63 - 1, -(2**63)]), ["9223372036854775807", "-9223372036854775808"]),
        (pa.array([1.0, 0.1, -0.0, 123456789.0, None]), ["1.0", "0.1", "-0.0", "123456789.0", "null"]),
        (pa.array([math.nan, math.inf, -math.inf]), ['"NaN"', '"Infinity"', '"-Infinity"']),
        (pa.array([0.1, 16777216.0], pa.float32()), ["0.1", "16777216.0"]),
        (
            pa.array(["", 'a"b\\c/', "\0\x1f\n\r\t\b\f\x7f", "é😀\u2028", None]),
            ['""', '"a\\"b\\\\c/"', '"\\u0000\\u001F\\n\\r\\t\\b\\f\x7f"', '"é😀\u2028"', "null"],
        ),
        (
            pa.array([b"", b"\1", b"\1\2", b"\1\2\3", b"\xff\xef", None]),
            ['""', '"AQ=="', '"AQI="', '"AQID"', '"/+8="', "null"],
        ),
        (
            pa.array([18262, -719528, 2932897, -719893], INT32).cast(pa.date32()),
            ['"2020-01-01"', '"0000-01-01"', '"+10000-01-01"', '"-0001-01-01"'],
        ),
        (
            pa.array([0, 43_994_500_000_000, 999_999], INT64).cast(pa.time64("ns")),
            ['"00:00:00"', '"12:13:14.5"', '"00:00:00"'],
        ),
        (pa.array([[1, None], [], None], pa.list_(INT32)), ["[1,null]", "[]", "null"]),
        (pa.array([["a", None, "b"]], pa.list_(pa.string())), ['["a",null,"b"]']),
        (
            pa.array([[('k"', 1), ("l", None)], [], None], pa.map_(pa.string(), INT32)),
            ['{"k\\"":1,"l":null}', "{}", "null"],
        ),
        (
            pa.array([{"x": 1, 'y"': None}, None], pa.struct([("x", INT32), ('y"', INT32)])),
            ['{"x":1,"y\\"":null}', "null"],
        ),
        (pa.array([[{"x": [None, "s"]}, None]]), ['[{"x":[null,"s"]},null]']),
    ],
)
def test_a_value(array: pa.Array, expected: list[str]) -> None:
    assert values(array) == expected
    # A slice of a larger array is encoded alike.
    padded = pa.concat_arrays([array[:1], array, array[:1]])
    assert values(padded[1:-1]) == expected


def test_large_strings_and_binary() -> None:
    assert values(pa.array(["x", None], pa.large_string())) == ['"x"', "null"]
    assert values(pa.array([b"\1", None], pa.large_binary())) == ['"AQ=="', "null"]


TIMESTAMPS = pa.array([0, 1, -1, 123_000, 1_577_836_800_100_000, 253_402_300_800_000_000, None], INT64)


def test_a_timestamp_has_no_trailing_zeros() -> None:
    sql = ["1970-01-01 00:00:00", "1970-01-01 00:00:00.000001", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00.123",
           "2020-01-01 00:00:00.1", "+10000-01-01 00:00:00"]  # fmt: skip
    assert values(TIMESTAMPS.cast(pa.timestamp("us"))) == [*(f'"{text}"' for text in sql), "null"]
    iso = [f'"{text.replace(" ", "T")}"' for text in sql]
    assert values(TIMESTAMPS.cast(pa.timestamp("us")), ISO) == [*iso, "null"]
    utc = [f'{text.removesuffix(chr(34))}Z"' for text in iso]
    assert values(TIMESTAMPS.cast(pa.timestamp("us")), ISO_WITH_OFFSET) == [*utc, "null"]
    assert values(TIMESTAMPS.cast(pa.timestamp("us", "Europe/Berlin")), ISO_WITH_OFFSET) == [*utc, "null"]


def test_timestamp_ltz_is_in_utc() -> None:
    berlin = TIMESTAMPS.cast(pa.timestamp("us", "Europe/Berlin"))
    assert values(berlin)[:2] == ['"1970-01-01 00:00:00Z"', '"1970-01-01 00:00:00.000001Z"']
    assert values(berlin, ISO)[3] == '"1970-01-01T00:00:00.123Z"'


def test_a_date_out_of_range_is_an_error() -> None:
    with pytest.raises(EncodeError, match="beyond the years -32767 to 32767"):
        values(pa.array([100_000_000], INT32).cast(pa.date32()))


@pytest.mark.parametrize(
    ("number", "precision", "scale", "shortest", "plain"),
    [
        ("1.50", 5, 2, "1.5", "1.50"),
        ("100.00", 5, 2, "1E+2", "100.00"),
        ("-120", 5, 0, "-1.2E+2", "-120"),
        ("0.00", 5, 2, "0", "0.00"),
        ("0.05", 5, 2, "0.05", "0.05"),
        ("-0.05", 5, 2, "-0.05", "-0.05"),
        ("0.000000027", 10, 9, "2.7E-8", "0.000000027"),
        ("0.000001", 10, 9, "0.000001", "0.000001000"),
        ("0.0000001", 10, 9, "1E-7", "0.000000100"),
        ("10.000000001", 11, 9, "10.000000001", "10.000000001"),
        ("12345678901234567890", 38, 0, "1.234567890123456789E+19", "12345678901234567890"),
    ],
)
def test_a_decimal(number: str, precision: int, scale: int, shortest: str, plain: str) -> None:
    array = pa.array([Decimal(number), None], pa.decimal128(precision, scale))
    assert values(array) == [shortest, "null"]
    assert values(array, PLAIN) == [plain, "null"]


@given(st.data(), st.integers(1, 38))
def test_decimals_are_as_java_prints_them(data: st.DataObject, precision: int) -> None:
    scale = data.draw(st.integers(0, precision))
    limit = 10**precision - 1
    zeros = data.draw(st.integers(0, precision))
    unscaled = data.draw(st.lists(st.integers(-limit, limit).map(lambda n: n // 10**zeros * 10**zeros), min_size=1))
    numbers = [Decimal(f"{max(n, -limit)}E-{scale}") for n in unscaled]
    array = pa.array(numbers, pa.decimal128(precision, scale))
    # Python's str of a Decimal and Java's toString of a BigDecimal are the same form.
    assert values(array) == ["0" if n == 0 else str(n.normalize(EXACT)) for n in numbers]
    assert values(array, PLAIN) == [f"{n.copy_abs() if n == 0 else n:.{scale}f}" for n in numbers]


def test_null_fields_can_be_omitted() -> None:
    columns = {
        "a": pa.array([None, 1, None, 1]),
        "r": pa.array([{"x": None, "y": "s"}, {}, None, None], pa.struct([("x", INT32), ("y", pa.string())])),
        "m": pa.array([[("k", None)], [], None, None], pa.map_(pa.string(), INT32)),
        "l": pa.array([[None], None, None, []], pa.list_(INT32)),
    }
    assert encode(columns, NO_NULLS) == [
        '{"r":{"y":"s"},"m":{"k":null},"l":[null]}',
        '{"a":1,"r":{},"m":{}}',
        "{}",
        '{"a":1,"l":[]}',
    ]
    assert encode(columns)[2] == '{"a":null,"r":null,"m":null,"l":null}'


def test_names_are_escaped() -> None:
    assert encode({'q"\n': pa.array([1]), "é": pa.array(["x"])}) == ['{"q\\"\\n":1,"é":"x"}']


def test_no_columns_and_no_rows() -> None:
    empty = pa.RecordBatch.from_arrays([pa.array([], INT32)], ["a"])
    assert JsonEncoder(empty.schema, Options(JSON_OPTIONS, {})).encode(empty).to_pylist() == []
    assert values(pa.array([{}, {}], pa.struct([]))) == ["{}", "{}"]


def test_map_keys_must_be_strings() -> None:
    schema = pa.schema([("m", pa.map_(INT32, INT32))])
    with pytest.raises(SchemaError, match=r"non-string as key type of map\. The type of column 'm'"):
        JsonEncoder(schema, Options(JSON_OPTIONS, {}))


def oracle(value: Any, arrow_type: pa.DataType, separator: str) -> Any:
    """Return what json.loads should return for a value."""
    if value is None:
        return None
    if pt.is_struct(arrow_type):
        return {field.name: oracle(value[field.name], field.type, separator) for field in arrow_type}
    if pt.is_list(arrow_type):
        return [oracle(v, arrow_type.value_type, separator) for v in value]
    if pt.is_map(arrow_type):
        return {k: oracle(v, arrow_type.item_type, separator) for k, v in value}
    if pt.is_floating(arrow_type):
        if math.isfinite(value):
            return float(json.loads(str(pa.scalar(value, arrow_type).cast(pa.string()))))
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if pt.is_decimal(arrow_type):
        return Decimal(value)
    if pt.is_binary(arrow_type):
        return base64.b64encode(value).decode()
    if pt.is_timestamp(arrow_type):
        text = value.replace(tzinfo=None).isoformat(separator)
        return (text.rstrip("0") if "." in text else text) + ("" if arrow_type.tz is None else "Z")
    if pt.is_temporal(arrow_type):
        text = value.isoformat()
        return text.rstrip("0") if "." in text else text
    return value


def comparable(value: Any) -> Any:
    """Convert numbers to Decimal, as JSON does not distinguish their types."""
    if isinstance(value, dict):
        return {k: comparable(v) for k, v in value.items()}
    if isinstance(value, list):
        return [comparable(v) for v in value]
    return Decimal(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


@examples(200)
@given(data=st.data(), schema=schemas(not_null=False), iso=st.booleans(), plain=st.booleans())
def test_oracle_and_round_trip(data: st.DataObject, schema: pa.Schema, iso: bool, plain: bool) -> None:
    row = st.fixed_dictionaries({field.name: samples(field.type) for field in schema})
    rows = data.draw(st.lists(row, min_size=1, max_size=5))
    batch = pa.RecordBatch.from_pylist(rows, schema)
    options = Options(JSON_OPTIONS, (ISO if iso else {}) | (PLAIN if plain else {}))
    payloads = JsonEncoder(schema, options).encode(batch)
    payloads.validate(full=True)
    expected = [oracle(r, pa.struct(list(schema)), "T" if iso else " ") for r in rows]
    has_decimal = any("decimal" in str(arrow_type) for arrow_type in schema.types)
    decoded_json = [json.loads(p, parse_float=Decimal if has_decimal else float) for p in payloads.to_pylist()]
    if has_decimal:
        # The Decimal of a float's shortest text is not the float's exact value.
        assume("float" not in str(schema) and "double" not in str(schema))
    assert comparable(decoded_json) == comparable(expected)
    decoded = JsonDecoder(schema, options).decode(payloads)
    assert decoded.payload_indices is None
    assert [comparable_values(c) for c in decoded.columns] == [comparable_values(c) for c in batch.columns]
