"""How JSON values are decoded. The expected values are those of Flink 2.3 for the same text and type."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kafka_sql.errors import DecodeError
from kafka_sql.formats.json.decoder import JsonDecoder
from kafka_sql.formats.json.options import JSON_OPTIONS
from kafka_sql.options import Options
from tests.unit.formats.columns import comparable_values

ERROR = object()
TS, LTZ, TIME = pa.timestamp("us"), pa.timestamp("us", tz="UTC"), pa.time64("ns")
ROW = pa.struct([("b", pa.int32()), ("c", pa.int32())])
MAP = pa.map_(pa.string(), pa.int32())
NEW_YEAR = 1_577_836_800_000_000  # 2020-01-01 in microseconds
DAY = 86_400_000_000


IGNORE = {"json.ignore-parse-errors": "true"}
ISO = {"json.timestamp-format.standard": "ISO-8601"}


def decode(arrow_type: pa.DataType, value: str, option_values: Mapping[str, str] | None = None) -> Any:
    """Decode one record, and return the value of its column ``a``."""
    decoder = JsonDecoder(pa.schema([("a", arrow_type)]), Options(JSON_OPTIONS, option_values or {}))
    return comparable_values(decoder.decode(pa.array([f'{{"a":{value}}}'.encode()])).columns[0])[0]


CASES: list[tuple[pa.DataType, dict[str, Any]]] = [
    (
        pa.bool_(),
        {"true": True, "false": False, '" TRUE "': True, '"yes"': False, "1": False, "{}": False, "null": None},
    ),
    (pa.int8(), {"127": 127, "-128": -128, "128": ERROR, "1.0": ERROR, "1e1": ERROR, '" 5 "': 5, '"128"': ERROR}),
    (pa.int16(), {"32767": 32767, "32768": ERROR, "1.0": ERROR, '"+7"': 7}),
    (
        pa.int32(),
        {
            "1.9": 1,
            "-1.9": -1,
            "1e3": 1000,
            "2147483648": ERROR,
            "2147483647.9": ERROR,
            '"5"': 5,
            '"1.5"': ERROR,
            '""': ERROR,
            '"1_0"': ERROR,
            "true": ERROR,
            "[1]": ERROR,
        },
    ),
    (
        pa.int64(),
        {
            "-0": 0,
            "9223372036854775807": 2**63 - 1,
            "9223372036854775808": ERROR,
            "9.223372036854775808e18": 2**63 - 1,
            "9.3e18": ERROR,
            "9007199254740993.0": 9007199254740992,
            "1e400": ERROR,
            "1e-400": 0,
            '"0x10"': ERROR,
        },
    ),
    (
        pa.float64(),
        {
            "1": "1.0",
            "-0": "-0.0",
            "1e400": "inf",
            "1e-400": "0.0",
            '"NaN"': "nan",
            '"-Infinity"': "-inf",
            '"nan"': ERROR,
            '"1.5d"': "1.5",
            '" .5 "': "0.5",
            '"0x1.8p1"': "3.0",
            '"0x1p9999"': "inf",
            '"1_0"': ERROR,
            "true": ERROR,
        },
    ),
    (
        pa.float32(),
        {
            "0.1": repr(0.10000000149011612),
            # The nearest FLOAT to the text. Rounding to a double first would change the first and the last.
            "1.00000017881393432617187499": repr(1.0 + 2**-23),
            "1.00000017881393432617187500001": repr(1.0 + 2**-22),
            '"1.00000017881393432617187499"': repr(1.0 + 2**-23),
            "8388608.5000000000000000000001": "8388609.0",
            "3.4028235677973366e38": repr(math.ldexp(2 - 2**-23, 127)),
            "3.4e39": "inf",
            "7.1e-46": repr(2.0**-149),
        },
    ),
    (
        pa.decimal128(5, 2),
        {
            "1.005": "1.01",
            "-1.005": "-1.01",
            "1.004": "1.00",
            "999.99": "999.99",
            "999.995": None,
            "1000": None,
            "1e2": "100.00",
            '" 1.5 "': "1.50",
            '"5."': "5.00",
            "1e400": None,
            "1e-400": "0.00",
            "1e1000000": None,
            "true": ERROR,
            '"x"': ERROR,
            '"1_0"': ERROR,
        },
    ),
    (pa.decimal128(38, 0), {"9" * 38: "9" * 38, "9" * 38 + ".4": "9" * 38, "9" * 38 + ".5": None}),
    (
        pa.string(),
        {
            '"x"': "x",
            "1.50": "1.50",
            "1e10": "1e10",
            "-0": "-0",
            "true": "true",
            "[ ]": "[]",
            '{"x" : 1.50, "y":[1e10, -0, -0.0, 1e400, null], "x": 3}': '{"x":3,"y":[1.0E10,0,-0.0,"Infinity",null]}',
            "[0.001, 1e-4, 1234567.0, 12345678.9]": "[0.001,1.0E-4,1234567.0,1.23456789E7]",
            '["/\\u001f\\n\\"😀"]': '["/\\u001F\\n\\"😀"]',
            '"\\ud800x"': "?x",
            '"a\nb\t"': "a\nb\t",
        },
    ),
    (
        pa.binary(),
        {
            '"AQID"': b"\1\2\3",
            '"AQ=="': b"\1",
            '"AR=="': b"\1",
            '"AQ"': ERROR,
            '" AQID AQID\\n"': b"\1\2\3\1\2\3",
            '"A Q=="': ERROR,
            '"AQ==AQID"': b"\1\1\2\3",
            '"_-8="': ERROR,
            '"===="': ERROR,
            "16777217": ERROR,
            '""': b"",
        },
    ),
    (
        pa.date32(),
        {
            '"2020-01-01"': 18262,
            '"2020-02-30"': ERROR,
            '"2020-1-1"': ERROR,
            '"0000-01-01"': -719528,
            '"-0001-01-01"': -719893,
            '"+12345-01-01"': 3789391,
            '"12345-01-01"': ERROR,
            '"+2020-01-01"': ERROR,
            '"-0000-01-01"': ERROR,
            '"2020-01-01T00:00:00"': ERROR,
            "18262": ERROR,
        },
    ),
    (
        TIME,
        {
            '"12:13:14"': 43_994_000_000_000,
            '"12:13:14.5"': 43_994_500_000_000,
            '"12:13:14."': 43_994_000_000_000,
            '"00:00:00.999999999"': 999_000_000,
            '"24:00:00"': 0,
            '"24:00:01"': ERROR,
            '"12:13"': ERROR,
            '"12:13:60"': ERROR,
        },
    ),
    (
        TS,
        {
            '"2020-01-01 00:00:00"': NEW_YEAR,
            '"2020-01-01 00:00:00."': NEW_YEAR,
            '"2020-01-01 00:00:00.1"': NEW_YEAR + 100_000,
            '"2020-01-01 00:00:00.123456789"': NEW_YEAR + 123_456,
            '"1969-12-31 23:59:59.999999999"': -1,
            '"2020-01-01 00:00:00.1234567891"': ERROR,
            '"2020-01-01 24:00:00"': NEW_YEAR + DAY,
            '"2020-02-30 00:00:00"': NEW_YEAR + 59 * DAY,
            '"2020-02-32 00:00:00"': ERROR,
            '"2020-01-01T00:00:00"': ERROR,
            '"2020-01-01 00:00"': ERROR,
            '"2020-01-01 00:00:00Z"': ERROR,
            "5": ERROR,
        },
    ),
    (
        LTZ,
        {
            '"2020-01-01 00:00:00Z"': NEW_YEAR,
            '"2020-01-01 00:00:00.123Z"': NEW_YEAR + 123_000,
            '"2020-01-01 00:00:00"': ERROR,
            '"2020-01-01 00:00:00+01:00"': ERROR,
            '"2020-01-01 00:00:00z"': ERROR,
        },
    ),
    (pa.list_(pa.int32()), {"[1,null,2.9]": [1, None, 2], "[]": [], "{}": ERROR, "1": ERROR, '[1,"x"]': ERROR}),
    (MAP, {'{"x":1,"y":null,"x":3}': [("x", 3), ("y", None)], "{}": [], "[]": ERROR, '{"x":"q"}': ERROR}),
    (ROW, {'{"c":2,"z":0}': (None, 2), "{}": (None, None), "[]": ERROR, '{"b":1,"b":2}': (2, None)}),
]


@pytest.mark.parametrize(
    ("arrow_type", "text", "expected"),
    [(arrow_type, text, expected) for arrow_type, cases in CASES for text, expected in cases.items()],
)
def test_a_value(arrow_type: pa.DataType, text: str, expected: Any) -> None:
    if expected is ERROR:
        with pytest.raises(DecodeError) as e:
            decode(arrow_type, text)
        assert e.value.row == 0
        assert decode(arrow_type, text, IGNORE) == (
            [1, None] if text == '[1,"x"]' else [("x", None)] if "q" in text else None
        )
    else:
        value = decode(arrow_type, text)
        assert (str(value) if isinstance(value, Decimal) else value) == expected


@pytest.mark.parametrize(
    ("arrow_type", "text", "expected"),
    [
        (TS, '"2020-01-01T00:00:00.1"', NEW_YEAR + 100_000),
        (TS, '"2020-01-01t00:00"', NEW_YEAR),
        (TS, '"2020-01-01T24:00:00"', ERROR),
        (TS, '"2020-02-30T00:00:00"', ERROR),
        (TS, '"2020-01-01 00:00:00"', ERROR),
        (LTZ, '"2020-01-01T00:00Z"', NEW_YEAR),
        (LTZ, '"2020-01-01T24:00Z"', NEW_YEAR + DAY),
        (LTZ, '"2020-01-01t00:00:00Z"', ERROR),
    ],
)
def test_a_timestamp_in_iso_8601(arrow_type: pa.DataType, text: str, expected: Any) -> None:
    if expected is ERROR:
        with pytest.raises(DecodeError):
            decode(arrow_type, text, ISO)
    else:
        assert decode(arrow_type, text, ISO) == expected


HOUR, MINUTE, SECOND = 3_600_000_000, 60_000_000, 1_000_000


@pytest.mark.parametrize("arrow_type", [TS, LTZ])
@pytest.mark.parametrize(
    ("text", "expected"),  # of java.time's formatter ISO_LOCAL_DATE 'T' ISO_OFFSET_TIME
    [
        ("2020-01-01T00:00:00.1Z", NEW_YEAR + 100_000),
        ("2020-01-01T00:00:00z", NEW_YEAR),
        ("2020-01-01T02:00:00+02:00", NEW_YEAR),
        ("2020-01-01T00:00+02:00", NEW_YEAR - 2 * HOUR),
        ("2020-01-01T00:00:00.123456789-05:30", NEW_YEAR + 5 * HOUR + 30 * MINUTE + 123_456),
        ("2020-01-01T00:00:00-00:00", NEW_YEAR),
        ("2020-01-01T00:00:00+18:00", NEW_YEAR - 18 * HOUR),
        ("2020-01-01T00:00:00+17:59", NEW_YEAR - 17 * HOUR - 59 * MINUTE),
        ("2020-01-01T00:00:00+01:02:03", NEW_YEAR - HOUR - 2 * MINUTE - 3 * SECOND),
        ("2020-01-01T24:00:00+00:00", NEW_YEAR + DAY),
        ("2020-02-31T00:00:00Z", NEW_YEAR + 59 * DAY),
        ("+10000-01-01T00:00:00+01:00", 253_402_300_800_000_000 - HOUR),
        ("2020-01-01T00:00:00", ERROR),
        ("2020-01-01 00:00:00+02:00", ERROR),
        ("2020-01-01t00:00:00Z", ERROR),
        ("2020-01-01T00:00:00 +02:00", ERROR),
        ("2020-01-01T00:00:00+0200", ERROR),
        ("2020-01-01T00:00:00+02", ERROR),
        ("2020-01-01T00:00:00+2:00", ERROR),
        ("2020-01-01T00:00:00+18:01", ERROR),
        ("2020-01-01T00:00:00-18:00:01", ERROR),
        ("2020-01-01T00:00:00+01:60", ERROR),
        ("2020-01-01T00:00:00+01:00Z", ERROR),
        ("2020-01-01T00:00:00+01:00[Europe/Berlin]", ERROR),
    ],
)
def test_a_timestamp_in_iso_8601_with_offset(arrow_type: pa.DataType, text: str, expected: Any) -> None:
    options = {"json.timestamp-format.standard": "ISO-8601-WITH-OFFSET"}
    if expected is ERROR:
        with pytest.raises(DecodeError):
            decode(arrow_type, f'"{text}"', options)
    else:
        assert decode(arrow_type, f'"{text}"', options) == expected


def test_with_a_decimal_column_numbers_inside_a_string_column_are_decimals() -> None:
    schema = pa.schema([("a", pa.string()), ("d", pa.decimal128(10, 2))])
    payload = b'{"a":{"x":1.50,"y":[1e10,-0,-0.0,1E-10,100.00,0.000]}}'
    decoded = JsonDecoder(schema, Options(JSON_OPTIONS, {})).decode(pa.array([payload]))
    assert decoded.columns[0].to_pylist() == ['{"x":1.5,"y":[1E+10,0,0,1E-10,1E+2,0]}']
