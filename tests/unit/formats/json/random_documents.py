"""Random JSON documents that match a schema, nearly match it, or are barely JSON."""

from __future__ import annotations

import json
from typing import Final

import pyarrow as pa
import pyarrow.types as pt
from hypothesis import strategies as st

from kafka_sql.formats.java.times import TimestampStandard
from tests.unit.formats.random_schemas import NAMES

# fmt: off
_VALUES: Final = (
    '""', '"a"', '"true"', '" TRUE "', '"5"', '" -7 "', '"1.5"', '"1e3"', '"NaN"', '"Infinity"', '"2020-01-01"',
    '"2020-02-30"', '"12:13:14"', '"12:13:14.5678"', '"24:00:00"', '"AQID"', '"AQ=="', '"A"', '" AQID"',
    '"AQ==AQID"', '"é"', '"😀"', '"\\u00e9\\n"', '"\\ud83d\\ude00"', '"\\ud800"', '"\\u0000"', '"\\/"', '"\\x"',
    '"0x1p3"', '"1_0"', '"99999999999999999999"', '"{"', '"}{"', '"}"', '"x: NaN"', '"\\"Inf"', '"[Infinity"',
    '0', '-0', '-0.0', '1', '127', '128', '32768', '2147483648', '9223372036854775807', '9223372036854775808',
    '1.0', '1e3', '1E+2', '1.50', '0.005', '-0.005', '999.994', '999.995', '1000', '1e400', '-1e400', '1e-400',
    '3.4028235677973366e38', '1.00000017881393432617187499', '16777217', '123456789012345678901234567890.5', '1e30',
    '9.3e18', '1.9', '-1.9', '00', '01', '+1', '.5', '1.', '1e', 'NaN', 'Infinity', '-Infinity', 'Inf', 'nan',
    '0x1', 'true', 'false', 'null', 'nul', 'True', '[]', '{}', '[1]', '[[]]', '[null]', '[1,]', '{,}', "'", '//',
)
# fmt: on
_UNUSUAL: Final = (
    '"2020-01-01 00:00:00"',
    '"2020-01-01 00:00:00.123456"',
    '"2020-01-01 00:00:00.1234567"',
    '"2020-01-01 00:00:00."',
    '"2020-01-01 00:00:00.1Z"',
    '"2020-01-01 24:00:00"',
    '"2020-02-30 00:00:00"',
    '"0000-01-01 00:00:00Z"',
    '"+12345-01-01 00:00:00"',
    '"2020-01-01T00:00:00"',
    '"2020-01-01T00:00Z"',
    '"tab\there"',
    '"line\nhere"',
    '"nul\0here"',
    "\0",
    "[" * 1001 + "]" * 1001,
)
_OFFSETS: Final = [
    "Z",
    "z",
    "",
    "+00:00",
    "-00:00",
    "+02:00",
    "-05:30",
    "+17:59",
    "+18:00",
    "+18:01",
    "+01:02:03",
    "+0200",
    "*01:00",
]
_SPACE: Final = st.sampled_from(("", "", "", "", " ", "\n", "\t\r"))


@st.composite
def values(draw: st.DrawFn, arrow_type: pa.DataType | None, standard: TimestampStandard, odd_one_in: int = 8) -> str:
    """Generate the text of a value of type ``arrow_type``; about one in ``odd_one_in`` is of any type, or malformed."""
    choice = draw(st.integers(0, odd_one_in))
    if arrow_type is None or choice == 0:
        return draw(st.sampled_from(_VALUES + _UNUSUAL))
    if choice == 1:
        return "null"
    if pt.is_struct(arrow_type):
        return draw(objects(list(arrow_type), standard, odd_one_in))
    if pt.is_list(arrow_type):
        return "[" + ",".join(draw(st.lists(values(arrow_type.value_type, standard, odd_one_in), max_size=3))) + "]"
    if pt.is_map(arrow_type):
        entries = draw(
            st.lists(st.tuples(st.sampled_from(NAMES), values(arrow_type.item_type, standard, odd_one_in)), max_size=3)
        )
        return "{" + ",".join(f"{json.dumps(k)}:{v}" for k, v in entries) + "}"
    return draw(_valid_scalars(arrow_type, standard))


def _valid_scalars(arrow_type: pa.DataType, standard: TimestampStandard) -> st.SearchStrategy[str]:
    if pt.is_boolean(arrow_type):
        return st.sampled_from(("true", "false"))
    if pt.is_integer(arrow_type):
        return st.integers(-(2 ** (arrow_type.bit_width - 1)), 2 ** (arrow_type.bit_width - 1) - 1).map(str)
    if pt.is_floating(arrow_type):
        return st.floats(allow_nan=False, allow_infinity=False, width=arrow_type.bit_width).map(repr)
    if pt.is_decimal(arrow_type):
        return st.decimals(-999, 999, places=arrow_type.scale).map(str)
    if pt.is_binary(arrow_type):
        return st.sampled_from(('"AQID"', '"AQ=="', '"AQI="', '""', '"/+8="'))
    if pt.is_date(arrow_type):
        return st.dates().map(lambda d: f'"{d.isoformat()}"')
    if pt.is_time(arrow_type):
        return st.times().map(lambda x: f'"{x.isoformat()}"')
    if pt.is_timestamp(arrow_type):
        separator = " " if standard is TimestampStandard.SQL else "T"
        zones = _OFFSETS if standard is TimestampStandard.ISO_WITH_OFFSET else ("" if arrow_type.tz is None else "Z",)
        return st.tuples(st.datetimes(), st.sampled_from(zones)).map(lambda x: f'"{x[0].isoformat(separator)}{x[1]}"')
    return st.tuples(st.text(max_size=8), st.booleans()).map(lambda x: json.dumps(x[0], ensure_ascii=x[1]))


@st.composite
def objects(draw: st.DrawFn, fields: list[pa.Field], standard: TimestampStandard, odd_one_in: int = 8) -> str:
    """Generate the text of an object: a schema's fields in any order, some missing, some repeated, some unknown."""
    items = [
        (f.name, draw(values(f.type, standard, odd_one_in))) for f in fields if draw(st.integers(0, 2 * odd_one_in))
    ]
    if draw(st.integers(0, odd_one_in)) == 0:
        items.append((draw(st.sampled_from((*NAMES, "unknown"))), draw(values(None, standard))))
    text = ",".join(
        draw(_SPACE) + json.dumps(name, ensure_ascii=draw(st.booleans())) + draw(_SPACE) + ":" + draw(_SPACE) + value
        for name, value in draw(st.permutations(items))
    )
    return "{" + text + draw(_SPACE) + "}"


@st.composite
def payloads(draw: st.DrawFn, schema: pa.Schema, standard: TimestampStandard, odd_one_in: int = 8) -> bytes | None:
    """Generate a payload: mostly an object; sometimes an array, truncated, followed by more text, or null."""
    text = draw(objects(list(schema), standard, odd_one_in))
    match draw(st.integers(0, 40)):
        case 0:
            return draw(
                st.sampled_from((None, b"", b" ", b"null", b"[]", b"5", b"{", b"}", b'"', b"{}{}", b"{}null{}"))
            )
        case 1:
            return text[: draw(st.integers(0, len(text)))].encode("utf-8", "surrogatepass")
        case 2:
            return text.encode() + draw(st.sampled_from((b" ", b"\n", b"x", text.encode(), b"\0", b"\0{}")))
        case 3:
            return f"[{text},{draw(st.sampled_from(('null', '5', text)))}]".encode()
        case 4:
            return draw(st.sampled_from((b"\xef\xbb\xbf", b" ", b"\n", b"x", b"{}"))) + text.encode()
        case 5:
            return text.encode(draw(st.sampled_from(("utf-16-le", "utf-16", "utf-32-be"))))
        case 6:
            return text.encode().replace(b'"', draw(st.sampled_from((b'"\xff', b'"\xed\xa0\x80', b'"\xc0\x80'))), 1)
    return text.encode()
