"""Functions of numbers whose every digit is defined: no logarithms, powers and angles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_sql.sql.expressions.arithmetic import arithmetic, coerced, wrapped
from kafka_sql.sql.expressions.binding import bind, failure
from kafka_sql.sql.expressions.functions.signature import Function, count, number, of
from kafka_sql.sql.expressions.typed import (
    BIGINT,
    DOUBLE,
    NUMERIC,
    STRING,
    TypedExpression,
    UntranslatableError,
    describe,
    kind,
)
from kafka_sql.sql.grammar.types import FlinkType, to_spark_type


def _numeric(name: str, value: TypedExpression) -> FlinkType:
    if value.type is None or kind(value) not in NUMERIC:
        raise UntranslatableError(f"{name} takes a number and not {describe(value.type)}")
    return value.type


def _mod(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("MOD", arguments, 2)
    return arithmetic("%", *arguments)


def _abs(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("ABS", arguments, 1)
    value, type = arguments[0], _numeric("ABS", arguments[0])
    if kind(value) != "integer":
        return TypedExpression(f"abs({value.sql})", type)
    if type.name == "BIGINT":  # the smallest one has no counterpart and stays what it is
        return TypedExpression(
            bind(value.sql, lambda x: f"if({x} < 0, coalesce(try_subtract(0, {x}), {x}), {x})"), type
        )
    return TypedExpression(wrapped(f"abs(CAST({value.sql} AS BIGINT))", type), type)


def _sign(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("SIGN", arguments, 1)
    value, type = arguments[0], _numeric("SIGN", arguments[0])
    if type.name in ("TINYINT", "SMALLINT"):
        raise UntranslatableError(f"SIGN of {type.name} fails in Flink; CAST the argument to INT")
    if type.name == "DECIMAL" and type.decimal[0] == type.decimal[1]:
        raise UntranslatableError(f"SIGN of {describe(type)} has no room for 1; CAST the argument")
    return TypedExpression(f"CAST(sign({value.sql}) AS {to_spark_type(type, '')})", type)


def _rounded(name: str) -> Function:
    """FLOOR and CEIL of numbers, which stay what they are in Flink."""
    low, high = ("0", "1") if name == "FLOOR" else ("-1", "0")

    def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
        count(name, arguments, 1)
        value, type = arguments[0], _numeric(name, arguments[0])
        if kind(value) == "integer":
            return value
        if type.name == "DECIMAL":
            result = FlinkType("DECIMAL", (type.decimal[0], 0))
            return TypedExpression(f"CAST({name.lower()}({value.sql}) AS {to_spark_type(result, '')})", result)
        inner = f"{{0}} {'>=' if name == 'FLOOR' else '>'} {low} AND {{0}} {'<' if name == 'FLOOR' else '<='} {high}"
        # Spark's are BIGINT, so the big ones, which are whole anyway, and the zero's sign are kept here.
        sql = bind(
            f"CAST({value.sql} AS DOUBLE)",
            lambda x: (
                f"CASE WHEN {inner.format(x)} THEN {x} * 0 "
                f"WHEN abs({x}) < 4503599627370496 THEN CAST({name.lower()}({x}) AS DOUBLE) ELSE {x} END"
            ),
        )
        return TypedExpression(f"CAST({sql} AS FLOAT)" if type.name == "FLOAT" else sql, type)

    return function


def _round(name: str) -> Function:
    def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
        count(name, arguments, 1, 2)
        value, type = arguments[0], _numeric(name, arguments[0])
        digits = number(name, arguments[1], 0, "a number of digits") if len(arguments) > 1 else 0
        if kind(value) == "integer":
            return value
        if type.name == "DECIMAL":
            return _round_decimal(name, value, type, digits)
        if name == "TRUNCATE":
            raise UntranslatableError(f"TRUNCATE of {type.name} has no translation; CAST to DECIMAL")
        error = failure("NumberFormatException", "{0}")
        sql = bind(
            value.sql,
            lambda x: f"if(isnan({x}) OR abs({x}) = DOUBLE('Infinity'), {error.format(x)}, round({x}, {digits}))",
        )
        return TypedExpression(sql, type)

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


def _double(name: str) -> Function:
    def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
        count(name, arguments, 1)
        _numeric(name, arguments[0])
        return TypedExpression(f"{name.lower()}({coerced(arguments[0], DOUBLE)})", DOUBLE)

    return function


def _digits(name: str) -> Function:
    def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
        count(name, arguments, 1)
        value = arguments[0]
        if name == "HEX" and kind(value) == "string":
            return TypedExpression(f"hex({value.sql})", STRING)
        if kind(value) not in ("integer", "null"):
            raise UntranslatableError(
                f"{name} takes an INT or BIGINT and not {describe(value.type)}; CAST the argument"
            )
        return TypedExpression(f"{name.lower()}({coerced(value, BIGINT)})", STRING)

    return function


FUNCTIONS: Final[dict[str, Function]] = {
    "MOD": _mod,
    "ABS": _abs,
    "SIGN": _sign,
    "FLOOR": _rounded("FLOOR"),
    "CEIL": _rounded("CEIL"),
    "CEILING": _rounded("CEIL"),
    "ROUND": _round("ROUND"),
    "TRUNCATE": _round("TRUNCATE"),
    "DEGREES": _double("DEGREES"),
    "RADIANS": _double("RADIANS"),
    "PI": of("PI", "pi", DOUBLE),
    "E": of("E", "e", DOUBLE),
    "BIN": _digits("BIN"),
    "HEX": _digits("HEX"),
}
