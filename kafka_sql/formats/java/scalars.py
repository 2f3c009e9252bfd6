"""Convert a JSON value to a column's value as Flink's default decoder does (JsonParserToRowDataConverters).

Each converter takes a parsed value that is not null, and raises ValueError with what it expected. Strings are accepted
as numbers if Java's parseInt, parseDouble or BigDecimal accept them.
"""

from __future__ import annotations

import binascii
import decimal
import functools
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.formats.java import times
from kafka_sql.formats.java.decimals import EXACT, parse_decimal
from kafka_sql.formats.java.jackson import Fractional, Number
from kafka_sql.formats.java.text import compact_json, replace_lone_surrogates

Convert: TypeAlias = Callable[[Any], Any]

_SPACE: Final = "".join(map(chr, range(33)))  # what Java's String.trim removes
_INTEGER: Final = re.compile(r"[+-]?\d+")
_DOUBLE: Final = re.compile(
    r"[+-]?(?:NaN|Infinity|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?"
    r"|(?P<hex>0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?)"
)
_BASE64: Final = re.compile(r"(?:[\x00-\x20]*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==))*[\x00-\x20]*")
_PADDED: Final = re.compile(r"[^=]+={0,2}")


def to_boolean(value: Any) -> bool:
    """Return whether the value is true, or the string "true" in upper or lower case."""
    return value is True or (isinstance(value, str) and value.strip(_SPACE).lower() == "true")


def integer_converter(bits: int) -> Convert:
    """Return a converter of numbers and strings to integers. For INT and BIGINT, it truncates fractions."""
    high = (1 << (bits - 1)) - 1
    low = -high - 1
    sql = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}[bits]
    expected = f"expected {sql} ({low} to {high})"

    def convert(value: Any) -> int:
        if isinstance(value, Fractional) and bits >= 32:
            # Through a double, as in Java. The double of the largest BIGINT is one more; Java's cast saturates.
            double = float(value)
            if low <= double <= float(high):
                return min(int(double), high)
        elif isinstance(value, str):
            digits = value.strip(_SPACE)
            if len(digits) <= 1000 and _INTEGER.fullmatch(digits):
                number = int(digits)
                if low <= number <= high:
                    return number
        raise ValueError(expected)

    return convert


def to_double(value: Any) -> float:
    """Convert a number, or a string that Double.parseDouble accepts."""
    if isinstance(value, str) and (match := _DOUBLE.fullmatch(text := value.strip(_SPACE))):
        if match["hex"] is None:
            return float(text if text.endswith(("N", "y")) else text.rstrip("fFdD"))
        try:
            return float.fromhex(text.rstrip("fFdD") if text[-1] in "fFdD" else text)
        except OverflowError:
            return -math.inf if text.startswith("-") else math.inf
    raise ValueError("expected a number")


def to_float(value: Any) -> float:
    """Return a double that rounds to the FLOAT nearest to the text. The nearest double may round to another one."""
    nearest = to_double(value)
    text = value.strip(_SPACE).rstrip("fFdD")
    if nearest == 0 or not math.isfinite(nearest) or "x" in text.lower():
        return nearest
    exact = Decimal(text)
    if exact == Decimal(nearest) or int(math.frexp(nearest)[0] * 2**53) % 2:
        return nearest
    return math.nextafter(nearest, math.inf if exact > Decimal(nearest) else -math.inf)


def decimal_converter(precision: int, scale: int) -> Convert:
    """Return a converter to DECIMAL(precision, scale), which rounds half up; null if the number is too large
    (DecimalData.fromBigDecimal).
    """
    unit, limit = Decimal(1).scaleb(-scale), Decimal(10) ** (precision - scale)
    expected = f"expected DECIMAL({precision}, {scale})"

    def convert(value: Any) -> Decimal | None:
        try:
            exact = parse_decimal(value.strip(_SPACE) if isinstance(value, str) else "")
        except ValueError as e:
            raise ValueError(expected) from e
        if exact and exact.adjusted() >= precision - scale:
            return None
        rounded = exact.quantize(unit, decimal.ROUND_HALF_UP, EXACT)
        return rounded if rounded.copy_abs() < limit else None  # abs() would round to 28 digits

    return convert


def to_string(value: Any, as_decimals: bool = False) -> str:
    """Return a string as it is, a number as it is written, and anything else as compact JSON."""
    return replace_lone_surrogates(str(value) if isinstance(value, str) else compact_json(value, as_decimals))


def to_bytes(value: Any) -> bytes:
    """Decode base64 (RFC 4648, section 4) with padding; white space is allowed between groups of four."""
    if isinstance(value, str) and not isinstance(value, Number) and _BASE64.fullmatch(value):
        # Padding is allowed inside, too; each padded part is decoded separately.
        return b"".join(binascii.a2b_base64(part) for part in _PADDED.findall("".join(value.split())))
    raise ValueError("expected base64 text with padding")


def string_converter(parse: Callable[[str], int]) -> Convert:
    """Return a converter that parses strings. Other values raise the same error as an empty string."""

    def convert(value: Any) -> int:
        return parse(value if isinstance(value, str) else "")

    return convert


def scalar_converter(arrow_type: pa.DataType, standard: times.TimestampStandard, as_decimals: bool) -> Convert:
    """Return the converter to a type that is not nested. ``as_decimals`` is that of ``compact_json``."""
    if pt.is_boolean(arrow_type):
        return to_boolean
    if pt.is_integer(arrow_type):
        return integer_converter(arrow_type.bit_width)
    if pt.is_floating(arrow_type):
        return to_float if arrow_type.bit_width == 32 else to_double
    if pt.is_decimal(arrow_type):
        return decimal_converter(arrow_type.precision, arrow_type.scale)
    if pt.is_date(arrow_type):
        return string_converter(times.parse_date)
    if pt.is_time(arrow_type):
        return string_converter(times.parse_time)
    if pt.is_timestamp(arrow_type):
        return string_converter(times.timestamp_parser(standard, local_zone=arrow_type.tz is not None))
    return to_bytes if pt.is_binary(arrow_type) else functools.partial(to_string, as_decimals=as_decimals)
