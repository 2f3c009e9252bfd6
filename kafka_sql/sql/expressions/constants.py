"""Literals: numbers with the types that Flink gives them, texts, times."""

from __future__ import annotations

import math
import re
from datetime import datetime

from sqlglot import exp

from kafka_sql.catalog.sql_literals import string_literal
from kafka_sql.sql.expressions.typed import BIGINT, BOOLEAN, DOUBLE, INT, STRING, TypedExpression, UntranslatableError
from kafka_sql.sql.grammar.types import FlinkType

_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}(?: [0-9]{2}:[0-9]{2}:[0-9]{2})?)(?:[.]([0-9]{1,6}))?")


def literal(node: exp.Literal) -> TypedExpression:
    """A number without sign, or a text.

    Raises:
        UntranslatableError: a number that no type of Flink's holds.
    """
    text = node.name
    if node.is_string:
        return TypedExpression(string_literal(text), STRING, text)
    if "e" in text.lower():
        if math.isinf(float(text)):
            raise UntranslatableError(f"{_shortened(text)} does not fit a DOUBLE")
        return TypedExpression(text, DOUBLE)
    whole, _dot, fraction = text.partition(".")
    if not fraction:
        number = _integer(whole)
        if number is None or number >= 2**63:
            raise UntranslatableError(f"{_shortened(text)} does not fit a BIGINT")
        return TypedExpression(str(number), INT if number < 2**31 else BIGINT, number)
    digits = len(whole) + len(fraction)  # Flink counts the zero before the point, Spark does not
    if digits > 38:
        raise UntranslatableError(f"{_shortened(text)} has more than the 38 digits of DECIMAL")
    sql = f"CAST({text} AS DECIMAL({digits},{len(fraction)}))" if whole[:1] == "0" else text
    return TypedExpression(sql, FlinkType("DECIMAL", (digits, len(fraction))))


def smallest(node: exp.Expr) -> TypedExpression | None:
    """What stands behind a minus, negated, if it is the smallest INT or BIGINT; without its sign it does not fit."""
    number = _integer(node.name) if isinstance(node, exp.Literal) and not node.is_string else None
    if number not in (2**31, 2**63):
        return None
    return TypedExpression(f"(-{number})", INT if number == 2**31 else BIGINT, -number)


def time(node: exp.Introducer) -> TypedExpression:
    """``DATE '...'`` and ``TIMESTAMP '...'``.

    Raises:
        UntranslatableError: a text that is no such time, and any TIME.
    """
    name = node.name
    if name == "TIME":
        raise UntranslatableError("the TIME literal has no translation")
    text = node.expression.name
    match = _TIME.fullmatch(text)
    try:
        value = datetime.fromisoformat(match[1]) if match else None
    except ValueError:
        value = None
    if match is None or value is None or (name == "DATE" and len(text) > 10):
        form = "yyyy-MM-dd" if name == "DATE" else "yyyy-MM-dd HH:mm:ss, with up to 6 digits behind a point"
        raise UntranslatableError(f"{name} '{text}' is no {name.lower()} of the form {form}")
    if name == "DATE":
        return TypedExpression(f"DATE '{text}'", FlinkType("DATE"))
    fraction = match[2] or ""
    return TypedExpression(
        f"TIMESTAMP_NTZ '{value}{'.' if fraction else ''}{fraction}'", FlinkType("TIMESTAMP", (len(fraction),))
    )


def constant(node: exp.Expr) -> TypedExpression:
    """NULL, TRUE and FALSE."""
    if isinstance(node, exp.Null):
        return TypedExpression("NULL", None)
    return TypedExpression("TRUE" if node.this else "FALSE", BOOLEAN)


def _integer(text: str) -> int | None:
    """The value of digits alone; None for what else there is, and for more digits than any integer has."""
    digits = text.lstrip("0") or "0"
    return int(digits) if text.isdecimal() and len(digits) <= 19 else None


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:20]}... ({len(text)} characters)"
