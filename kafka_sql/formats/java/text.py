"""Format values as Java's classes do: Double.toString, BigDecimal.toString, and Jackson's compact JSON."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any, Final

from kafka_sql.formats.java.decimals import EXACT, parse_decimal
from kafka_sql.formats.java.jackson import Fractional, Integral, with_deep_recursion

_ESCAPED: Final = re.compile(r'["\\\x00-\x1f]')
_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def replace_lone_surrogates(text: str) -> str:
    """Replace unpaired surrogates with ``?``, as Flink's StringData does when it encodes to UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def compact_json(value: Any, as_decimals: bool = False) -> str:
    """Return an object or array without white space, as JsonNode.toString does.

    Args:
        as_decimals: write numbers with a fraction as BigDecimals without trailing zeros, as Flink does for a table with
            a DECIMAL column; otherwise as doubles.

    Raises:
        ValueError: a number is not a BigDecimal. The message says what was expected.
    """

    def write(item: Any, parts: list[str]) -> list[str]:
        if isinstance(item, dict):
            separator = "{"
            for key, field in item.items():
                parts.append(f"{separator}{quote(key)}:")
                write(field, parts)
                separator = ","
            parts.append("}" if item else "{}")
        elif isinstance(item, list):
            separator = "["
            for element in item:
                parts.append(separator)
                write(element, parts)
                separator = ","
            parts.append("]" if item else "[]")
        else:
            parts.append(_scalar(item, as_decimals))
        return parts

    return "".join(with_deep_recursion(lambda: write(value, [])))


def shorten(text: str) -> str:
    """Return the start of a value or payload, for an error."""
    return text if len(text) <= 60 else text[:57] + "..."


def _scalar(value: Any, as_decimals: bool) -> str:
    if isinstance(value, Integral):
        return "0" if value == "-0" else str(value)
    if isinstance(value, Fractional):
        return big_decimal_text(parse_decimal(value)) if as_decimals else double_text(float(value))
    if isinstance(value, str):
        return quote(value)
    return {None: "null", True: "true", False: "false"}[value]


def quote(text: str) -> str:
    """Return a JSON string, escaped as Jackson does."""
    return '"' + _ESCAPED.sub(lambda m: _SHORT.get(m[0]) or f"\\u{ord(m[0]):04X}", text) + '"'


def double_text(value: float) -> str:
    """Return Double.toString; in quotes if it is not finite.

    The fallbacks and Avro's JSON encoding use it. Columns are written by Arrow (``scalar_text``) and the json format's
    compiled loop, whose output differs only in exponents: 1e+20 for 1.0E20.
    """
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"-Infinity"' if value < 0 else '"Infinity"'
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + exponent  # digits before the decimal point
    minus = "-" if sign else ""
    if value == 0:
        return minus + "0.0"
    if -3 < point <= 7:
        text = "0" * (1 - point) + text
        point = max(point, 1)
        return f"{minus}{text[:point].ljust(point, '0')}.{text[point:] or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{point - 1}"


def big_decimal_text(value: Decimal) -> str:
    """Return BigDecimal.stripTrailingZeros().toString(), the form in which Flink writes a DECIMAL."""
    if not value:
        return "0"
    return str(value.normalize(EXACT))
