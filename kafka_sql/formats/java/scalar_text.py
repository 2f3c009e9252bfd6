"""Convert columns that are not nested to JSON text, as Flink and Jackson write it."""

from __future__ import annotations

import binascii
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from kafka_sql.errors import EncodeError
from kafka_sql.formats.java.decimals import to_plain_string, to_stripped_string
from kafka_sql.formats.java.text import quote
from kafka_sql.formats.java.times import TimestampStandard

_DAY_10000: Final = 2_932_897  # 10000-01-01, the first ISO date with a sign


class ScalarText(NamedTuple):
    """JSON text of a column; null if the value is null."""

    array: pa.StringArray
    needs_quotes: bool  # whether the text is the content of a JSON string, to which the caller adds the quotes


def scalar_text(array: pa.Array, standard: TimestampStandard, plain_decimals: bool) -> ScalarText:
    """Return the text of a column that is not nested. ``plain_decimals`` have all digits and no exponent.

    Raises:
        EncodeError: the year of a date or timestamp is out of range.
    """
    arrow_type = array.type
    if pt.is_boolean(arrow_type) or pt.is_integer(arrow_type):
        return ScalarText(array.cast(pa.string()), needs_quotes=False)
    if pt.is_floating(arrow_type):
        return ScalarText(_float_text(array), needs_quotes=False)
    if pt.is_decimal(arrow_type):
        return ScalarText(to_plain_string(array) if plain_decimals else to_stripped_string(array), needs_quotes=False)
    if pt.is_date(arrow_type):
        return ScalarText(_add_sign(array.cast(pa.string()), array.cast(pa.int32()), _DAY_10000), needs_quotes=True)
    if pt.is_time(arrow_type):
        return ScalarText(_strip_zeros(array.cast(pa.time32("ms"), safe=False).cast(pa.string())), needs_quotes=True)
    if pt.is_timestamp(arrow_type):
        return ScalarText(_timestamp_text(array, standard), needs_quotes=True)
    if pt.is_binary(arrow_type) or pt.is_large_binary(arrow_type):
        return ScalarText(encode_base64(array.cast(pa.binary())), needs_quotes=True)
    return ScalarText(escape(array.cast(pa.string())), needs_quotes=True)


def escape(array: pa.StringArray) -> pa.StringArray:
    """Escape control characters, quotes and backslashes, if there are any."""
    # Imported here, so that DDL, which only validates, does not load the compiler.
    from kafka_sql.formats.java.text_kernels import needs_escapes

    data = _offsets_and_bytes(array)[1]
    if not needs_escapes(data):
        return array
    codes = np.flatnonzero(np.bincount(data, minlength=128)[:128]).tolist()
    special = [code for code in codes if code < 32 or chr(code) in '"\\']
    for code in sorted(special, key=lambda code: code != ord("\\")):  # the backslash first
        array = pc.replace_substring(array, chr(code), quote(chr(code))[1:-1])
    return array


def value_offsets_and_bytes(array: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Return the offsets of strings or binary values, from 0, and their bytes; a null has no bytes."""
    if array.null_count:
        array = array.fill_null(b"" if pt.is_binary(array.type) else "")
    offsets, data = _offsets_and_bytes(array)
    return offsets - offsets[0], data


def _offsets_and_bytes(array: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Return the offsets, and the bytes from the first value to the last, including those that nulls may have."""
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
    return ends, np.frombuffer(data if data is not None else b"", np.uint8)[ends[0] : ends[-1]]


def encode_base64(array: pa.BinaryArray) -> pa.StringArray:
    """Encode binary values as base64 (RFC 4648, section 4)."""
    offsets, data = value_offsets_and_bytes(array)
    lengths = np.diff(offsets)
    groups = np.concatenate(([0], np.cumsum(-(-lengths // 3))))
    # Each value starts a new group of three bytes. Its last group is filled with zeros.
    padded = np.zeros(groups[-1] * 3, np.uint8)
    padded[np.arange(len(data)) + np.repeat(groups[:-1] * 3 - offsets[:-1], lengths)] = data
    encoded = np.frombuffer(bytearray(binascii.b2a_base64(padded.data, newline=False)), np.uint8).reshape(-1, 4)
    last = groups[1:] - 1
    encoded[last[lengths % 3 > 0], 3] = encoded[last[lengths % 3 == 1], 2] = ord("=")
    validity = pa.array(array.is_valid().to_numpy(zero_copy_only=False)).buffers()[1] if array.null_count else None
    buffers = [validity, pa.py_buffer((groups * 4).astype(np.int32)), pa.py_buffer(encoded.reshape(-1))]
    return pa.Array.from_buffers(pa.string(), len(array), buffers)


def _float_text(array: pa.Array) -> pa.StringArray:
    text = array.cast(pa.string())
    is_integer = pc.equal(pc.trunc(array), array)
    if pc.any(is_integer).as_py():  # written as 1.0, not 1
        lacks_point = pc.and_(is_integer, pc.invert(pc.match_substring(text, "e")))
        text = pc.if_else(lacks_point, pc.binary_join_element_wise(text, ".0", ""), text)
    if pc.all(pc.is_finite(array)).as_py() is False:
        text = pc.if_else(pc.equal(array, float("inf")), '"Infinity"', text)
        text = pc.if_else(pc.equal(array, float("-inf")), '"-Infinity"', text)
        text = pc.if_else(pc.is_nan(array), '"NaN"', text)
    return text


def _timestamp_text(array: pa.Array, standard: TimestampStandard) -> pa.StringArray:
    utc = array.cast(pa.timestamp("us"))
    text = _strip_zeros(utc.cast(pa.string()))
    text = _add_sign(text, utc.cast(pa.int64()), _DAY_10000 * 86_400_000_000)
    if standard is not TimestampStandard.SQL:
        text = pc.replace_substring(text, " ", "T", max_replacements=1)
    is_utc = array.type.tz is not None or standard is TimestampStandard.ISO_WITH_OFFSET
    return pc.binary_join_element_wise(text, "Z", "") if is_utc else text


def _strip_zeros(text: pa.StringArray) -> pa.StringArray:
    """Strip the trailing zeros of times, whose fractions have a fixed length."""
    return pc.ascii_rtrim(pc.ascii_rtrim(text, "0"), ".")


def _add_sign(text: pa.StringArray, values: pa.Array, limit: int) -> pa.StringArray:
    """Add the ``+`` of years with more than four digits, from the date or timestamp ``limit`` on."""
    if pc.any(pc.starts_with(text, "<")).as_py():
        raise EncodeError("The json and csv formats cannot write a date or timestamp beyond the years -32767 to 32767.")
    needs_sign = pc.greater_equal(values, limit)
    if not pc.any(needs_sign).as_py():
        return text
    return pc.if_else(needs_sign, pc.binary_join_element_wise("+", text, ""), text)
