"""Translated expressions with their types, and what the types of two operands have in common."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

from kafka_sql.sql.grammar.types import BINARIES, INTEGERS, STRINGS, FlinkType

STRING, BOOLEAN, INT, BIGINT = FlinkType("STRING"), FlinkType("BOOLEAN"), FlinkType("INT"), FlinkType("BIGINT")
DOUBLE, DATE = FlinkType("DOUBLE"), FlinkType("DATE")
DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}  # of the decimal that Flink makes of each


@dataclass(frozen=True)
class TypedExpression:
    """A translated expression.

    Attributes:
        sql: Spark SQL text, in parentheses where it needs them.
        type: its type in Flink; None is the type of NULL.
        literal: the value of a number or text that was typed as such.
        modular: of arithmetic on BIGINT, the same twice: NULL on overflow, and as a decimal that wrapped around.
    """

    sql: str
    type: FlinkType | None
    literal: str | int | None = None
    modular: tuple[str, str] | None = None


class UntranslatableError(Exception):
    """Operands that Flink and Spark treat differently; the message is the reason."""


def family(type: FlinkType) -> str:
    """The types that are compared and combined with each other."""
    name = type.name
    if name in INTEGERS:
        return "integer"
    if name in ("FLOAT", "DOUBLE"):
        return "approximate"
    if name in STRINGS:
        return "string"
    return "binary" if name in BINARIES else name.lower()


def kind(value: TypedExpression) -> str:
    """The family of a value's type; ``null`` for NULL."""
    return "null" if value.type is None else family(value.type)


NUMERIC = ("integer", "decimal", "approximate")
TIMESTAMPS = ("timestamp", "timestamp_ltz")


def describe(type: FlinkType | None) -> str:
    """A type for an error message."""
    if type is None:
        return "NULL"
    return type.name + (f"({', '.join(map(str, type.sizes))})" if type.sizes else "")


def common(types: Iterable[FlinkType | None]) -> FlinkType | None:
    """The one type that all of ``types`` become where they meet: in a comparison, CASE, COALESCE.

    Raises:
        UntranslatableError: there is none, or Flink and Spark choose different ones.
    """
    known = [type for type in types if type is not None]
    return functools.reduce(_meet, known) if known else None


def _meet(a: FlinkType, b: FlinkType) -> FlinkType:
    kinds = {family(a), family(b)}
    if kinds <= set(NUMERIC):
        return numeric(a, b)
    if len(kinds) > 1:
        raise UntranslatableError(f"{describe(a)} and {describe(b)} do not go together; CAST one of them")
    if kinds & {"row", "array", "map", "multiset", "interval"}:
        if a == b:
            return a
        raise UntranslatableError(f"{a.name} is not combined with a {b.name} of another type; CAST one of them")
    if kinds & {"timestamp", "timestamp_ltz", "time"}:
        return a if a.precision >= b.precision else b
    return a if a == b or "string" not in kinds else STRING


def numeric(a: FlinkType, b: FlinkType) -> FlinkType:
    """The type of two numbers together.

    Raises:
        UntranslatableError: a decimal of more than 38 digits, of which Flink and Spark drop different ones.
    """
    kinds = {family(a), family(b)}
    if "approximate" in kinds:
        single = {a.name, b.name} <= {"FLOAT", *INTEGERS}
        return FlinkType("FLOAT") if single else DOUBLE
    if kinds == {"integer"}:
        return a if INTEGERS[a.name] >= INTEGERS[b.name] else b
    (p, s), (q, t) = decimal(a), decimal(b)
    scale = max(s, t)
    return checked(max(p - s, q - t) + scale, scale, a, b)


def checked(precision: int, scale: int, a: FlinkType, b: FlinkType) -> FlinkType:
    """The decimal type of ``a`` and ``b`` together, if it exists."""
    if precision > 38:
        raise UntranslatableError(
            f"{describe(a)} and {describe(b)} together need {precision} digits, more than the 38 of DECIMAL, and "
            "digits would be dropped; CAST the operands to smaller decimals"
        )
    return FlinkType("DECIMAL", (precision, scale))


def decimal(type: FlinkType) -> tuple[int, int]:
    """Precision and scale of an exact number as a decimal."""
    return type.decimal if type.name == "DECIMAL" else (DIGITS[type.name], 0)
