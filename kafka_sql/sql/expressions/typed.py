"""Represent translated expressions with their types, and compute the common type of operands."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

from kafka_sql.sql.grammar.types import BINARIES, INTEGERS, STRINGS, FlinkType

STRING, BOOLEAN, INT, BIGINT = FlinkType("STRING"), FlinkType("BOOLEAN"), FlinkType("INT"), FlinkType("BIGINT")
DOUBLE, DATE, BYTES = FlinkType("DOUBLE"), FlinkType("DATE"), FlinkType("BYTES")
NUMERIC = ("integer", "decimal", "approximate")  # type families
TIMESTAMPS = ("timestamp", "timestamp_ltz")  # type families

_INTEGER_PRECISION = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}  # of the DECIMAL that Flink converts it to


@dataclass(frozen=True)
class TypedExpression:
    """A translated expression.

    ``UPPER(name)``, for example, is ``TypedExpression("upper(`name`)", FlinkType("STRING"))``.

    Attributes:
        sql: Spark SQL text, with parentheses where needed.
        type: the type in Flink; None for NULL.
        literal: the value of an integer or string literal.
        bigint_forms: two more forms of BIGINT arithmetic, of which further BIGINT arithmetic is built, because ``sql``
            contains its operands twice: a BIGINT that is NULL on overflow, and the lower 64 bits of the exact result,
            as a DECIMAL.
    """

    sql: str
    type: FlinkType | None
    literal: str | int | None = None
    bigint_forms: tuple[str, str] | None = None


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


def describe_type(type: FlinkType | None) -> str:
    """Return a type as text for error messages, with its length or precision."""
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
        raise UntranslatableError(f"two {a.name} types that differ cannot be combined; CAST one of them")
    if families & {"timestamp", "timestamp_ltz", "time"}:
        return a if a.precision >= b.precision else b
    return a if a == b or "string" not in families else STRING


def common_numeric_type(a: FlinkType, b: FlinkType) -> FlinkType:
    """Return the common type of two numeric types.

    Raises:
        UntranslatableError: it would be a DECIMAL of more than 38 digits. Flink and Spark drop different digits.
    """
    families = {type_family(a), type_family(b)}
    if "approximate" in families:
        is_float = {a.name, b.name} <= {"FLOAT", *INTEGERS}
        return FlinkType("FLOAT") if is_float else DOUBLE
    if families == {"integer"}:
        return a if INTEGERS[a.name] >= INTEGERS[b.name] else b
    (p1, s1), (p2, s2) = precision_and_scale(a), precision_and_scale(b)
    scale = max(s1, s2)
    precision = max(p1 - s1, p2 - s2) + scale
    if precision > 38:
        raise UntranslatableError(
            f"{describe_type(a)} and {describe_type(b)} together need {precision} digits, but DECIMAL has at most 38; "
            "CAST the operands to smaller decimals"
        )
    return FlinkType("DECIMAL", (precision, scale))


def bounded_decimal_type(precision: int, scale: int) -> FlinkType:
    """Return the type of an arithmetic result: with more than 38 digits, the scale is reduced, in Flink and in Spark.

    At least six digits of the scale are kept, or all if it has fewer.
    """
    if precision <= 38:
        return FlinkType("DECIMAL", (precision, scale))
    return FlinkType("DECIMAL", (38, max(38 - (precision - scale), min(scale, 6))))


def precision_and_scale(type: FlinkType) -> tuple[int, int]:
    """Return precision and scale of a DECIMAL, or of the DECIMAL that an integer type is converted to."""
    return type.decimal if type.name == "DECIMAL" else (_INTEGER_PRECISION[type.name], 0)
