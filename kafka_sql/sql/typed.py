"""Translated expressions with their types, and what the types of two operands have in common."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

from kafka_sql.sql.types import BINARIES, INTEGERS, STRINGS, FlinkType

STRING, BOOLEAN, INT = FlinkType("STRING"), FlinkType("BOOLEAN"), FlinkType("INT")


@dataclass(frozen=True)
class Typed:
    """Spark SQL text, in parentheses where it needs them, and its type in Flink; None is the type of NULL."""

    sql: str
    type: FlinkType | None


class NoCommonMeaning(Exception):
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


NUMERIC = ("integer", "decimal", "approximate")


def describe(type: FlinkType | None) -> str:
    """A type for an error message."""
    if type is None:
        return "NULL"
    return type.name + (f"({', '.join(map(str, type.sizes))})" if type.sizes else "")


def common(types: Iterable[FlinkType | None]) -> FlinkType | None:
    """The one type that all of ``types`` become where they meet: in a comparison, CASE, COALESCE.

    Raises:
        NoCommonMeaning: there is none, or Flink and Spark choose different ones.
    """
    known = [type for type in types if type is not None]
    return functools.reduce(_meet, known) if known else None


def _meet(a: FlinkType, b: FlinkType) -> FlinkType:
    kinds = {family(a), family(b)}
    if kinds <= set(NUMERIC):
        return numeric(a, b)
    if len(kinds) > 1:
        raise NoCommonMeaning(f"{describe(a)} and {describe(b)} do not go together; CAST one of them")
    if kinds & {"row", "array", "map", "multiset", "interval"}:
        raise NoCommonMeaning(f"{a.name} is not compared or combined")
    if kinds & {"timestamp", "timestamp_ltz", "time"}:
        return a if a.precision >= b.precision else b
    return a


def numeric(a: FlinkType, b: FlinkType, operator: str = "") -> FlinkType:
    """The type of two numbers together, or of the sum (``+``) or product (``*``) of them.

    Raises:
        NoCommonMeaning: FLOAT with an exact number, which is DOUBLE in Spark alone; or a decimal of more than 38
            digits, of which the two drop different ones.
    """
    kinds = {family(a), family(b)}
    if "approximate" in kinds:
        if "FLOAT" in (a.name, b.name) and "integer" in kinds:
            raise NoCommonMeaning("FLOAT with an integer is a FLOAT in Flink and a DOUBLE in Spark; CAST one of them")
        return FlinkType("FLOAT") if a.name == b.name == "FLOAT" else FlinkType("DOUBLE")
    if kinds == {"integer"}:
        return a if INTEGERS[a.name] >= INTEGERS[b.name] else b
    (p, s), (q, t) = _decimal(a), _decimal(b)
    precision, scale = max(p - s, q - t) + max(s, t) + (operator == "+"), max(s, t)
    if operator == "*":
        precision, scale = p + q + 1, s + t
    if precision > 38:
        raise NoCommonMeaning(
            f"{describe(a)} and {describe(b)} together need {precision} digits, more than the 38 of DECIMAL, and Flink "
            "and Spark drop different ones; CAST the operands to smaller decimals"
        )
    return FlinkType("DECIMAL", (precision, scale))


def _decimal(type: FlinkType) -> tuple[int, int]:
    return type.decimal if type.name == "DECIMAL" else (INTEGERS[type.name], 0)
