"""Translate powers, logarithms and trigonometric functions.

Java allows their last digit to differ between machines, so it may differ between Flink and Spark, too. NaN, infinity
and arguments outside the domain have Flink's results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_sql.sql.expressions.arithmetic import coerce, translate_arithmetic
from kafka_sql.sql.expressions.binding import bind
from kafka_sql.sql.expressions.functions.signature import Function, check_argument_count, check_argument_type
from kafka_sql.sql.expressions.typed import DOUBLE, NUMERIC, TypedExpression

_SAME_IN_SPARK: Final = ("EXP", "SIN", "COS", "TAN", "COT", "ASIN", "ACOS", "ATAN", "SINH", "COSH", "TANH")


def _to_doubles(name: str, arguments: Sequence[TypedExpression], min_count: int, max_count: int) -> list[str]:
    check_argument_count(name, arguments, min_count, max_count)
    for argument in arguments:
        check_argument_type(name, argument, *NUMERIC)
    return [coerce(argument, DOUBLE) for argument in arguments]


def _function(name: str, count: int = 1) -> Function:
    def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
        return TypedExpression(f"{name.lower()}({', '.join(_to_doubles(name, arguments, count, count))})", DOUBLE)

    return function


def _sqrt(arguments: Sequence[TypedExpression]) -> TypedExpression:
    return TypedExpression(f"power({_to_doubles('SQRT', arguments, 1, 1)[0]}, 0.5D)", DOUBLE)


def _logarithm_sql(spark_name: str, value: str) -> str:
    """Return a logarithm that is -Infinity for 0 and NaN for negative numbers. (Both are NULL in Spark.)"""
    return bind(
        value,
        lambda x: (
            f"CASE WHEN {x} > 0 THEN {spark_name}({x}) WHEN {x} = 0 THEN DOUBLE('-Infinity') "
            f"WHEN {x} < 0 THEN DOUBLE('NaN') END"
        ),
    )


def _logarithm(name: str, spark_name: str) -> Function:
    def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
        return TypedExpression(_logarithm_sql(spark_name, _to_doubles(name, arguments, 1, 1)[0]), DOUBLE)

    return function


def _log(arguments: Sequence[TypedExpression]) -> TypedExpression:
    """Translate ``LOG(x)``, the natural logarithm, and ``LOG(base, x)``."""
    *base, value = (TypedExpression(_logarithm_sql("ln", x), DOUBLE) for x in _to_doubles("LOG", arguments, 1, 2))
    return translate_arithmetic("/", value, base[0]) if base else value


FUNCTIONS: Final[dict[str, Function]] = {
    **{name: _function(name) for name in _SAME_IN_SPARK},
    "POWER": _function("POWER", 2),
    "ATAN2": _function("ATAN2", 2),
    "SQRT": _sqrt,
    "LN": _logarithm("LN", "ln"),
    "LOG10": _logarithm("LOG10", "log10"),
    "LOG2": _logarithm("LOG2", "log2"),
    "LOG": _log,
}
