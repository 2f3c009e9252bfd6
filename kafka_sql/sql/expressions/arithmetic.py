"""+, -, *, / and % with Flink's types, which wrap around where integers overflow and fail on a division by zero."""

from __future__ import annotations

from kafka_sql.sql.expressions.binding import bind2, failure
from kafka_sql.sql.expressions.typed import (
    BIGINT,
    NUMERIC,
    TypedExpression,
    UntranslatableError,
    checked,
    decimal,
    describe,
    kind,
    numeric,
)
from kafka_sql.sql.grammar.types import INTEGERS, FlinkType, to_spark_type

_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32}
_SUFFIX = {"BIGINT": "L", "FLOAT": "F", "DOUBLE": "D"}
_TRY = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}
_BY_ZERO = failure("/ by zero")


def arithmetic(operator: str, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """``left operator right`` of numbers.

    Raises:
        UntranslatableError: what is no number, or a combination of types that Flink and Spark compute differently.
    """
    for value in (left, right):
        if value.type is not None and kind(value) not in NUMERIC:
            raise UntranslatableError(f"operator {operator} takes numbers and not {describe(value.type)}")
    a, b = left.type or right.type, right.type or left.type
    if a is None or b is None:
        return TypedExpression("NULL", None)
    if {a.name, b.name} == {"FLOAT", "DOUBLE"}:
        raise UntranslatableError("FLOAT with DOUBLE is only a FLOAT in Flink; CAST one of them")
    kinds = {kind(TypedExpression("", a)), kind(TypedExpression("", b))}
    if "approximate" in kinds:
        return _approximate(operator, left, right, numeric(a, b))
    if operator == "%":
        return _remainder(left, right, a, b)
    if kinds == {"integer"}:
        result = numeric(a, b)
        return _quotient(left, right, result) if operator == "/" else _whole(operator, left, right, result)
    return _decimal(operator, left, right, a, b)


def negative(value: TypedExpression) -> TypedExpression:
    """``-value``."""
    if value.type is None:
        return value
    if isinstance(value.literal, int):
        smallest = -(2 ** (31 if value.type.name == "INT" else 63))
        number = value.literal if value.literal == smallest else -value.literal  # it has no positive counterpart
        sql = f"({number})" if number == smallest else str(number)
        sql += "L" if value.type.name == "BIGINT" and number == -(2**31) else ""  # an INT to Spark
        return TypedExpression(sql, value.type, number)
    if kind(value) == "integer":
        return _whole("-", TypedExpression("0", value.type), value, value.type)
    if kind(value) not in NUMERIC:
        raise UntranslatableError(f"operator - takes numbers and not {describe(value.type)}")
    return TypedExpression(f"(- {value.sql})", value.type)


def coerced(value: TypedExpression, to: FlinkType) -> str:
    """A number as another, wider type; any other value as it is."""
    if value.type is None:
        return f"CAST(NULL AS {to_spark_type(to, '')})"
    if value.type == to or kind(value) not in NUMERIC:
        return value.sql
    if isinstance(value.literal, int) and to.name in _SUFFIX:
        return f"{value.literal}{_SUFFIX[to.name]}"
    return f"CAST({value.sql} AS {to_spark_type(to, '')})"


def wrapped(sql: str, type: FlinkType) -> str:
    """A BIGINT's lower bits as a smaller integer, as Java narrows it."""
    if type.name == "BIGINT":
        return sql
    size = 2 ** _BITS[type.name]
    return f"CAST(((({sql} & {size - 1}) + {size // 2}) & {size - 1}) - {size // 2} AS {type.name})"


def wrapped_decimal(sql: str) -> str:
    """A whole DECIMAL(38, 0)'s lower 64 bits, still a decimal."""
    return f"CAST(pmod({sql} + 9223372036854775808BD, 18446744073709551616BD) - 9223372036854775808BD AS DECIMAL(20,0))"


def _whole(operator: str, left: TypedExpression, right: TypedExpression, result: FlinkType) -> TypedExpression:
    if result.name != "BIGINT":
        return TypedExpression(
            wrapped(f"(CAST({left.sql} AS BIGINT) {operator} {coerced(right, BIGINT)})", result), result
        )
    (fast_a, slow_a), (fast_b, slow_b) = (v.modular or (coerced(v, BIGINT), f"{_wide(v)}") for v in (left, right))
    fast = f"{_TRY[operator]}({fast_a}, {fast_b})"
    slow = wrapped_decimal(f"({slow_a} {operator} {slow_b})")
    return TypedExpression(f"coalesce({fast}, CAST({slow} AS BIGINT))", BIGINT, modular=(fast, slow))


def _wide(value: TypedExpression) -> str:
    return f"{value.sql}BD" if isinstance(value.literal, int) else f"CAST({value.sql} AS DECIMAL(19,0))"


def _guarded(a: str, b: str, divisor: TypedExpression, body: str) -> str:
    if isinstance(divisor.literal, int) and divisor.literal != 0:
        return body
    return f"CASE WHEN {a} IS NULL OR {b} IS NULL THEN NULL WHEN {b} = 0 THEN {_BY_ZERO} ELSE {body} END"


def _quotient(left: TypedExpression, right: TypedExpression, result: FlinkType) -> TypedExpression:
    if isinstance(right.literal, int) and right.literal not in (0, -1):
        return TypedExpression(_narrowed(f"({left.sql} div {right.sql})", result), result)

    def body(a: str, b: str) -> str:
        if result.name != "BIGINT":
            return _guarded(a, b, right, wrapped(f"(CAST({a} AS BIGINT) div {b})", result))
        return _guarded(a, b, right, f"if({b} = -1, coalesce(try_subtract(0, {a}), {a}), {a} div {b})")

    return TypedExpression(bind2(left.sql, right.sql, body), result)


def _narrowed(sql: str, type: FlinkType) -> str:
    return sql if type.name == "BIGINT" else f"CAST({sql} AS {type.name})"


def _remainder(left: TypedExpression, right: TypedExpression, a: FlinkType, b: FlinkType) -> TypedExpression:
    if a.name in INTEGERS and b.name in INTEGERS:
        result = b  # it is smaller than the divisor
    else:
        (p, s), (q, t) = decimal(a), decimal(b)
        result = checked(min(p - s, q - t) + max(s, t), max(s, t), a, b)

    def body(x: str, y: str) -> str:
        exact = result.name == "DECIMAL"
        text = f"({_as_decimal(x, a)} % {_as_decimal(y, b)})" if exact else f"({x} % {y})"
        return _guarded(x, y, right, f"CAST({text} AS {to_spark_type(result, '')})")

    return TypedExpression(bind2(left.sql, right.sql, body), result)


def _as_decimal(sql: str, type: FlinkType) -> str:
    return sql if type.name == "DECIMAL" else f"CAST({sql} AS {to_spark_type(FlinkType('DECIMAL', decimal(type)), '')})"


def _decimal(
    operator: str, left: TypedExpression, right: TypedExpression, a: FlinkType, b: FlinkType
) -> TypedExpression:
    (p, s), (q, t) = decimal(a), decimal(b)
    if operator in "+-":
        result = checked(max(p - s, q - t) + max(s, t) + 1, max(s, t), a, b)
    elif operator == "*":
        result = checked(p + q + 1, s + t, a, b)
    else:
        scale = max(6, s + q + 1)
        result = checked(p - s + t + scale, scale, a, b)
    if operator != "/":
        return TypedExpression(f"({_as_decimal(left.sql, a)} {operator} {_as_decimal(right.sql, b)})", result)
    return TypedExpression(
        bind2(left.sql, right.sql, lambda x, y: _guarded(x, y, right, f"({_as_decimal(x, a)} / {_as_decimal(y, b)})")),
        result,
    )


def _approximate(operator: str, left: TypedExpression, right: TypedExpression, result: FlinkType) -> TypedExpression:
    if operator == "%":
        raise UntranslatableError("operator % takes exact numbers, in Flink, too; CAST to DECIMAL")
    a, b = coerced(left, result), coerced(right, result)
    if operator != "/":
        return TypedExpression(f"({a} {operator} {b})", result)
    if result.name == "FLOAT":  # Spark divides doubles only; rounding twice gives the same float
        a, b = f"CAST({a} AS DOUBLE)", f"CAST({b} AS DOUBLE)"
    # The power of -1 is the infinity of the zero's sign.
    text = bind2(a, b, lambda x, y: f"if({y} = 0, {x} * power({y}, -1), {x} / {y})")
    if isinstance(right.literal, int) and right.literal:
        text = f"({a} / {b})"
    return TypedExpression(f"CAST({text} AS FLOAT)" if result.name == "FLOAT" else text, result)
