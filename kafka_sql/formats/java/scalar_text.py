"""Columns that are not nested as JSON text, a column at a time, in the forms that Flink and Jackson write."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from kafka_sql.errors import EncodeError
from kafka_sql.formats.java import base64
from kafka_sql.formats.java.decimals import to_plain_string, to_stripped_string
from kafka_sql.formats.java.text import quote

_DAY_10000: Final = 2_932_897  # 10000-01-01, from which on ISO dates have a sign


class ScalarText(NamedTuple):
    """JSON text of a column, null where the value is null.

    ``bare`` text is the inside of a string: whoever joins it adds the quotes, in one go with the names.
    """

    array: pa.StringArray
    unquoted: bool


def scalar_text(array: pa.Array, iso: bool, plain_decimals: bool) -> ScalarText:
    """The text of a column that is not nested.

    Raises:
        EncodeError: a date lies too far off to be written.
    """
    t = array.type
    if pt.is_boolean(t) or pt.is_integer(t):
        return ScalarText(array.cast(pa.string()), unquoted=False)
    if pt.is_floating(t):
        return ScalarText(_floats(array), unquoted=False)
    if pt.is_decimal(t):
        return ScalarText(to_plain_string(array) if plain_decimals else to_stripped_string(array), unquoted=False)
    if pt.is_date(t):
        return ScalarText(_signed(array.cast(pa.string()), array.cast(pa.int32()), _DAY_10000), unquoted=True)
    if pt.is_time(t):
        return ScalarText(_without_zeros(array.cast(pa.time32("ms"), safe=False).cast(pa.string())), unquoted=True)
    if pt.is_timestamp(t):
        return ScalarText(_timestamps(array, iso), unquoted=True)
    if pt.is_binary(t) or pt.is_large_binary(t):
        return ScalarText(base64.encode(array.cast(pa.binary())), unquoted=True)
    return ScalarText(escape(array.cast(pa.string())), unquoted=True)


def escape(array: pa.StringArray) -> pa.StringArray:
    """Escape what must not stand in a JSON string, if there is any."""
    # Imported here, so that DDL, which only validates, does not load the compiler.
    from kafka_sql.formats.java.text_kernels import needs_escapes

    data = base64.content_bytes(array)
    if not needs_escapes(data):
        return array
    present = np.flatnonzero(np.bincount(data, minlength=128)[:128]).tolist()
    for code in sorted((c for c in present if c < 32 or chr(c) in '"\\'), key=lambda c: c != ord("\\")):
        array = pc.replace_substring(array, chr(code), quote(chr(code))[1:-1])  # the backslash first
    return array


def _floats(array: pa.Array) -> pa.StringArray:
    text = array.cast(pa.string())
    whole = pc.equal(pc.trunc(array), array)
    if pc.any(whole).as_py():  # 1.0 is to stay a number with a fraction
        point = pc.and_(whole, pc.invert(pc.match_substring(text, "e")))
        text = pc.if_else(point, pc.binary_join_element_wise(text, ".0", ""), text)
    if pc.all(pc.is_finite(array)).as_py() is False:
        text = pc.if_else(pc.equal(array, float("inf")), '"Infinity"', text)
        text = pc.if_else(pc.equal(array, float("-inf")), '"-Infinity"', text)
        text = pc.if_else(pc.is_nan(array), '"NaN"', text)
    return text


def _timestamps(array: pa.Array, iso: bool) -> pa.StringArray:
    utc = array.cast(pa.timestamp("us"))
    text = _without_zeros(utc.cast(pa.string()))
    text = _signed(text, utc.cast(pa.int64()), _DAY_10000 * 86_400_000_000)
    if iso:
        text = pc.replace_substring(text, " ", "T", max_replacements=1)
    return text if array.type.tz is None else pc.binary_join_element_wise(text, "Z", "")


def _without_zeros(text: pa.StringArray) -> pa.StringArray:
    """Times with a fraction of fixed length, without its trailing zeros."""
    return pc.ascii_rtrim(pc.ascii_rtrim(text, "0"), ".")


def _signed(text: pa.StringArray, values: pa.Array, limit: int) -> pa.StringArray:
    """Dates with the ``+`` that a year of more than four digits has."""
    if pc.any(pc.starts_with(text, "<")).as_py():
        raise EncodeError("A date or timestamp beyond the years -32767 to 32767 has no form in the json format.")
    late = pc.greater_equal(values, limit)
    return pc.if_else(late, pc.binary_join_element_wise("+", text, ""), text) if pc.any(late).as_py() else text
