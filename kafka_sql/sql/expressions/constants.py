"""Translate literals: numbers with Flink's types, strings, dates and timestamps."""

from __future__ import annotations

import math
import re
from datetime import datetime

from sqlglot import exp

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.typed import BIGINT, BOOLEAN, DOUBLE, INT, STRING, TypedExpression, UntranslatableError
from kafka_sql.sql.grammar.types import FlinkType

_DATETIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}(?: [0-9]{2}:[0-9]{2}:[0-9]{2})?)(?:[.]([0-9]{1,6}))?")


def translate_literal(node: exp.Literal) -> TypedExpression:
    """Translate an unsigned number or a string.

    Raises:
        UntranslatableError: the number fits no Flink type.
    """
    text = node.name
    if node.is_string:
        return TypedExpression(string_constant(text), STRING, text)
    if "e" in text.lower():
        if math.isinf(float(text)):
            raise UntranslatableError(f"{_shorten(text)} does not fit a DOUBLE")
        return TypedExpression(f"{text}D", DOUBLE)  # without the suffix, a setting makes it a DECIMAL
    integer_part, _dot, fraction = text.partition(".")
    if not fraction:
        number = _parse_integer(integer_part)
        if number is None or number >= 2**63:
            raise UntranslatableError(f"{_shorten(text)} does not fit a BIGINT")
        return TypedExpression(str(number), INT if number < 2**31 else BIGINT, number)
    digits = len(integer_part) + len(fraction)  # Flink counts the zero before the decimal point, Spark does not
    if digits > 38:
        raise UntranslatableError(f"{_shorten(text)} has more digits than the 38 of DECIMAL")
    sql = f"CAST({text} AS DECIMAL({digits},{len(fraction)}))" if integer_part[:1] == "0" else text
    return TypedExpression(sql, FlinkType("DECIMAL", (digits, len(fraction))))


def translate_smallest_integer(node: exp.Expr) -> TypedExpression | None:
    """Return the smallest INT or BIGINT if the operand of a minus is its absolute value (which does not fit)."""
    number = _parse_integer(node.name) if isinstance(node, exp.Literal) and not node.is_string else None
    if number not in (2**31, 2**63):
        return None
    return TypedExpression(f"(-{number})", INT if number == 2**31 else BIGINT, -number)


def translate_datetime_literal(node: exp.Introducer) -> TypedExpression:
    """Translate ``DATE '...'`` or ``TIMESTAMP '...'``.

    Raises:
        UntranslatableError: an invalid literal, or a TIME literal.
    """
    name = node.name
    if name == "TIME":
        raise UntranslatableError("TIME literals are not supported")
    text = node.expression.name
    match = _DATETIME.fullmatch(text)
    try:
        value = datetime.fromisoformat(match[1]) if match else None
    except ValueError:
        value = None
    if match is None or value is None or (name == "DATE" and len(text) > 10):
        form = "yyyy-MM-dd" if name == "DATE" else "yyyy-MM-dd HH:mm:ss, with up to 6 fractional digits"
        raise UntranslatableError(f"{name} '{text}' is invalid; expected the form {form}")
    if name == "DATE":
        return TypedExpression(f"DATE '{text}'", FlinkType("DATE"))
    fraction = match[2] or ""
    return TypedExpression(
        f"TIMESTAMP_NTZ '{value}{'.' if fraction else ''}{fraction}'", FlinkType("TIMESTAMP", (len(fraction),))
    )


def translate_constant(node: exp.Expr) -> TypedExpression:
    """Translate NULL, TRUE or FALSE."""
    if isinstance(node, exp.Null):
        return TypedExpression("NULL", None)
    return TypedExpression("TRUE" if node.this else "FALSE", BOOLEAN)


def _parse_integer(text: str) -> int | None:
    """Return the value of a string of digits, or None if it has other characters or too many digits for an integer."""
    digits = text.lstrip("0") or "0"
    return int(digits) if text.isdecimal() and len(digits) <= 19 else None


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:20]}... ({len(text)} characters)"
