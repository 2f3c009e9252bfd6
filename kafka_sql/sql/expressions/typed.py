"""Represent translated expressions with their types, and compute the common type of operands."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

from kafka_sql.sql.grammar.types import BINARIES, INTEGERS, STRINGS, FlinkType

STRING, BOOLEAN, INT, BIGINT = FlinkType("STRING"), FlinkType("BOOLEAN"), FlinkType("INT"), FlinkType("BIGINT")
DOUBLE, DATE = FlinkType("DOUBLE"), FlinkType("DATE")
DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}  # precision of Flink's decimal for each


@dataclass(frozen=True)
class TypedExpression:
    """A translated expression.

    ``UPPER(name)``, for example, is ``TypedExpression("upper(`name`)", FlinkType("STRING"))``.

    Attributes:
        sql: Spark SQL text, with parentheses where needed.
        type: the type in Flink; None for NULL.
        literal: the value of an integer or string literal.
        modular: for BIGINT arithmetic, the expression twice: as a BIGINT that is NULL on overflow, and as a decimal
            that wraps around.
    """

    sql: str
    type: FlinkType | None
    literal: str | int | None = None
    modular: tuple[str, str] | None = None


class UntranslatableError(Exception):
    """An expression that has no exact equivalent in Spark; the message is the reason."""


def type_family(type: FlinkType) -> str:
    """Return the family of a type. Types of one family can be compared and combined."""
    name = type.name
    if name in INTEGERS:
        return "integer"
    if name in ("FLOAT", "DOUBLE"):
        return "approximate"
    if name in STRINGS:
        return "string"
    return "binary" if name in BINARIES else name.lower()


def value_family(value: TypedExpression) -> str:
    """Return the family of an expression's type; ``null`` for NULL."""
    return "null" if value.type is None else type_family(value.type)


NUMERIC = ("integer", "decimal", "approximate")
TIMESTAMPS = ("timestamp", "timestamp_ltz")


def describe_type(type: FlinkType | None) -> str:
    """Return a type's text for an error message."""
    if type is None:
        return "NULL"
    return type.name + (f"({', '.join(map(str, type.sizes))})" if type.sizes else "")


def common_type(types: Iterable[FlinkType | None]) -> FlinkType | None:
    """Return the common type of operands, as in a comparison, CASE or COALESCE.

    Raises:
        UntranslatableError: there is no common type, or Flink and Spark choose different ones.
    """
    known_types = [type for type in types if type is not None]
    return functools.reduce(_common_type_of_two, known_types) if known_types else None


def _common_type_of_two(a: FlinkType, b: FlinkType) -> FlinkType:
    families = {type_family(a), type_family(b)}
    if families <= set(NUMERIC):
        return common_numeric_type(a, b)
    if len(families) > 1:
        raise UntranslatableError(f"{describe_type(a)} and {describe_type(b)} are not compatible; CAST one of them")
    if families & {"row", "array", "map", "multiset", "interval"}:
        if a == b:
            return a
        raise UntranslatableError(f"{a.name} cannot be combined with a {b.name} of a different type; CAST one of them")
    if families & {"timestamp", "timestamp_ltz", "time"}:
        return a if a.precision >= b.precision else b
    return a if a == b or "string" not in families else STRING


def common_numeric_type(a: FlinkType, b: FlinkType) -> FlinkType:
    """Return the common type of two numeric types.

    Raises:
        UntranslatableError: a decimal of more than 38 digits. Flink and Spark drop different digits.
    """
    families = {type_family(a), type_family(b)}
    if "approximate" in families:
        single = {a.name, b.name} <= {"FLOAT", *INTEGERS}
        return FlinkType("FLOAT") if single else DOUBLE
    if families == {"integer"}:
        return a if INTEGERS[a.name] >= INTEGERS[b.name] else b
    (p, s), (q, t) = precision_and_scale(a), precision_and_scale(b)
    scale = max(s, t)
    return decimal_type(max(p - s, q - t) + scale, scale, a, b)


def decimal_type(precision: int, scale: int, a: FlinkType, b: FlinkType) -> FlinkType:
    """Return ``DECIMAL(precision, scale)`` for a combination of ``a`` and ``b``, or raise if it has too many digits."""
    if precision > 38:
        raise UntranslatableError(
            f"{describe_type(a)} and {describe_type(b)} together need {precision} digits, but DECIMAL has at most 38; "
            "CAST the operands to smaller decimals"
        )
    return FlinkType("DECIMAL", (precision, scale))


def precision_and_scale(type: FlinkType) -> tuple[int, int]:
    """Return the precision and scale of an exact numeric type as a decimal."""
    return type.decimal if type.name == "DECIMAL" else (DIGITS[type.name], 0)
