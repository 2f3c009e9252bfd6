"""Functions that choose between values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_sql.sql.expressions.arithmetic import coerced
from kafka_sql.sql.expressions.conditions import branches, compare, extreme, truth, unified
from kafka_sql.sql.expressions.functions.signature import Function, count
from kafka_sql.sql.expressions.typed import TypedExpression


def _coalesce(name: str, least: int, most: int) -> Function:
    def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
        count(name, arguments, least, most)
        type, texts = unified(arguments)
        return TypedExpression(f"coalesce({', '.join(texts)})", type)

    return function


def _nullif(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("NULLIF", arguments, 2)
    value, other = arguments
    if value.type is None:
        return value
    return TypedExpression(f"if({compare('=', value, other).sql}, NULL, {coerced(value, value.type)})", value.type)


def _if(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("IF", arguments, 3)
    return branches([truth("IF", arguments[0]).sql], arguments[1:])


def _extreme(name: str) -> Function:
    def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
        count(name, arguments, 1, 999)
        return extreme(name, arguments)

    return function


FUNCTIONS: Final[dict[str, Function]] = {
    "COALESCE": _coalesce("COALESCE", 1, 999),
    "IFNULL": _coalesce("IFNULL", 2, 2),
    "NULLIF": _nullif,
    "IF": _if,
    "GREATEST": _extreme("GREATEST"),
    "LEAST": _extreme("LEAST"),
}
