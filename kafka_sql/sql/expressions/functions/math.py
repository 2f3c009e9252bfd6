"""Translate numeric functions. NaN, infinity and arguments outside the domain have Flink's results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from kafka_sql.sql.expressions.arithmetic import MAX_EXACT_NEGATION, coerce, translate_arithmetic, wrap_integer
from kafka_sql.sql.expressions.binding import bind, raise_error_sql
from kafka_sql.sql.expressions.functions.signature import (
    Function,
    call_java,
    check_argument_count,
    check_argument_type,
    checked,
    require_integer_literal,
    simple_function,
)
from kafka_sql.sql.expressions.typed import (
    BIGINT,
    DOUBLE,
    NUMERIC,
    STRING,
    TypedExpression,
    UntranslatableError,
    describe_type,
    value_family,
)
from kafka_sql.sql.grammar.types import FlinkType, to_spark_type

# Java allows their last digit to differ between machines, so it may differ between Flink and Spark, too
_JAVA_MATH: Final = ("EXP", "SIN", "COS", "TAN", "COT", "ASIN", "ACOS", "ATAN", "SINH", "COSH", "TANH")


def _require_numeric(name: str, value: TypedExpression) -> FlinkType:
    if value.type is None or value_family(value) not in NUMERIC:
        raise UntranslatableError(f"{name} requires a number, but got {describe_type(value.type)}")
    return value.type


@checked("ABS", "")
def _abs(value: TypedExpression) -> TypedExpression:
    type = _require_numeric("ABS", value)
    if value_family(value) != "integer":
        if type.name == "DECIMAL" and type.decimal[0] > MAX_EXACT_NEGATION:
            text = f"regexp_replace(CAST({value.sql} AS STRING), '^-', '')"
            return TypedExpression(f"CAST({text} AS {to_spark_type(type, '')})", type)
        return TypedExpression(f"abs({value.sql})", type)
    if type.name == "BIGINT":  # the smallest BIGINT has no positive counterpart and is unchanged
        return TypedExpression(
            bind(value.sql, lambda x: f"if({x} < 0, coalesce(try_subtract(0, {x}), {x}), {x})"), type
        )
    return TypedExpression(wrap_integer(f"abs(CAST({value.sql} AS BIGINT))", type), type)


@checked("SIGN", "")
def _sign(value: TypedExpression) -> TypedExpression:
    type = _require_numeric("SIGN", value)
    if type.name in ("TINYINT", "SMALLINT"):
        raise UntranslatableError(f"SIGN of {type.name} fails in Flink; CAST the argument to INT")
    if type.name == "DECIMAL" and type.decimal[0] == type.decimal[1]:
        raise UntranslatableError(f"SIGN of {describe_type(type)} cannot represent 1; CAST the argument")
    return TypedExpression(f"CAST(sign({value.sql}) AS {to_spark_type(type, '')})", type)


def _floor_or_ceil(name: str) -> Function:
    """Return the translation of FLOOR or CEIL of numbers, which keep their type in Flink."""

    @checked(name, "")
    def function(value: TypedExpression) -> TypedExpression:
        type = _require_numeric(name, value)
        if value_family(value) == "integer":
            return value
        if type.name == "DECIMAL":
            result = FlinkType("DECIMAL", (type.decimal[0], 0))
            return TypedExpression(f"CAST({name.lower()}({value.sql}) AS {to_spark_type(result, '')})", result)
        sql = call_java(name, coerce(value, DOUBLE))
        return TypedExpression(f"CAST({sql} AS FLOAT)" if type.name == "FLOAT" else sql, type)

    return function


def _round(name: str) -> Function:
    @checked(name, "", "", required=1)
    def function(value: TypedExpression, *scale: TypedExpression) -> TypedExpression:
        type = _require_numeric(name, value)
        digits = require_integer_literal(name, scale[0], 0, "a number of digits") if scale else 0
        if value_family(value) == "integer":
            return value
        if type.name == "DECIMAL":
            return _round_decimal(name, value, type, digits)
        if name == "TRUNCATE":
            raise UntranslatableError(f"TRUNCATE of {type.name} is not supported; CAST to DECIMAL")

        def body(x: str) -> str:
            error = raise_error_sql("NumberFormatException", x)
            return f"if(isnan({x}) OR abs({x}) = DOUBLE('Infinity'), {error}, round({x}, {digits}))"

        return TypedExpression(bind(value.sql, body), type)

    return function


def _round_decimal(name: str, value: TypedExpression, type: FlinkType, digits: int) -> TypedExpression:
    precision, scale = type.decimal
    if digits >= scale:
        return value
    result = FlinkType("DECIMAL", (min(precision - scale + digits + 1, 38), digits))
    target = to_spark_type(result, "")
    if name == "ROUND":
        return TypedExpression(f"CAST(round({value.sql}, {digits}) AS {target})", result)
    return TypedExpression(
        bind(value.sql, lambda x: f"CAST(if({x} < 0, ceil({x}, {digits}), floor({x}, {digits})) AS {target})"), result
    )


def _double_function(name: str) -> Function:
    @checked(name, "")
    def function(value: TypedExpression) -> TypedExpression:
        _require_numeric(name, value)
        return TypedExpression(f"{name.lower()}({coerce(value, DOUBLE)})", DOUBLE)

    return function


def _bin_or_hex(name: str) -> Function:
    @checked(name, "")
    def function(value: TypedExpression) -> TypedExpression:
        if name == "HEX" and value_family(value) == "string":
            return TypedExpression(f"hex({value.sql})", STRING)
        if value_family(value) not in ("integer", "null"):
            raise UntranslatableError(
                f"{name} requires an INT or BIGINT, but got {describe_type(value.type)}; CAST the argument"
            )
        return TypedExpression(f"{name.lower()}({coerce(value, BIGINT)})", STRING)

    return function


def _to_doubles(name: str, arguments: Sequence[TypedExpression], min_count: int, max_count: int) -> list[str]:
    check_argument_count(name, arguments, min_count, max_count)
    for argument in arguments:
        check_argument_type(name, argument, *NUMERIC)
    return [coerce(argument, DOUBLE) for argument in arguments]


def _java_math(name: str, count: int = 1) -> Function:
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
    "MOD": checked("MOD", "", "")(partial(translate_arithmetic, "%")),
    "ABS": _abs,
    "SIGN": _sign,
    "FLOOR": _floor_or_ceil("FLOOR"),
    "CEIL": _floor_or_ceil("CEIL"),
    "CEILING": _floor_or_ceil("CEIL"),
    "ROUND": _round("ROUND"),
    "TRUNCATE": _round("TRUNCATE"),
    "DEGREES": _double_function("DEGREES"),
    "RADIANS": _double_function("RADIANS"),
    "PI": simple_function("PI", "pi", DOUBLE),
    "E": simple_function("E", "e", DOUBLE),
    "BIN": _bin_or_hex("BIN"),
    "HEX": _bin_or_hex("HEX"),
    **{name: _java_math(name) for name in _JAVA_MATH},
    "POWER": _java_math("POWER", 2),
    "ATAN2": _java_math("ATAN2", 2),
    "SQRT": _sqrt,
    "LN": _logarithm("LN", "ln"),
    "LOG10": _logarithm("LOG10", "log10"),
    "LOG2": _logarithm("LOG2", "log2"),
    "LOG": _log,
}
