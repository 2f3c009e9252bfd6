"""Translate +, -, *, / and % with Flink's types: integers wrap around on overflow, division by zero fails."""

from __future__ import annotations

from kafka_sql.sql.expressions.binding import bind2, raise_error_sql
from kafka_sql.sql.expressions.typed import (
    BIGINT,
    NUMERIC,
    TypedExpression,
    UntranslatableError,
    bounded_decimal_type,
    common_numeric_type,
    describe_type,
    precision_and_scale,
    type_family,
    value_family,
)
from kafka_sql.sql.grammar.types import INTEGERS, FlinkType, to_spark_type

_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32}
_LITERAL_SUFFIX = {"BIGINT": "L", "FLOAT": "F", "DOUBLE": "D"}
_TRY_FUNCTIONS = {"+": "try_add", "-": "try_subtract", "*": "try_multiply", "/": "try_divide"}
MAX_EXACT_NEGATION = 34  # digits to which Spark rounds the negation of a DECIMAL: those of java.math's DECIMAL128
_DIVISION_BY_ZERO = raise_error_sql("/ by zero")


def translate_arithmetic(operator: str, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """Translate ``left operator right``, where operator is one of +, -, *, / and %.

    Raises:
        UntranslatableError: an operand is not numeric, or Flink and Spark compute the combination differently.
    """
    for value in (left, right):
        if value.type is not None and value_family(value) not in NUMERIC:
            raise UntranslatableError(f"operator {operator} requires numbers, but got {describe_type(value.type)}")
    left_type, right_type = left.type or right.type, right.type or left.type
    if left_type is None or right_type is None:
        return TypedExpression("NULL", None)
    if {left_type.name, right_type.name} == {"FLOAT", "DOUBLE"}:
        raise UntranslatableError(
            f"FLOAT {operator} DOUBLE has type FLOAT in Flink, but DOUBLE in Spark; CAST one of them"
        )
    families = {type_family(left_type), type_family(right_type)}
    if "approximate" in families:
        return _float_arithmetic(operator, left, right, common_numeric_type(left_type, right_type))
    if operator == "%":
        return _remainder(left, right, left_type, right_type)
    if families == {"integer"}:
        result_type = common_numeric_type(left_type, right_type)
        if operator == "/":
            return _divide_integers(left, right, result_type)
        return _integer_arithmetic(operator, left, right, result_type)
    return _decimal_arithmetic(operator, left, right, left_type, right_type)


def negate(value: TypedExpression) -> TypedExpression:
    """Translate ``-value``."""
    if value.type is None:
        return value
    if isinstance(value.literal, int):
        minimum = -(2 ** (31 if value.type.name == "INT" else 63))
        number = value.literal if value.literal == minimum else -value.literal  # the minimum is its own negation
        sql = f"({number})" if number == minimum else str(number)
        sql += "L" if value.type.name == "BIGINT" and number == -(2**31) else ""  # without the suffix, an INT in Spark
        return TypedExpression(sql, value.type, number)
    if value_family(value) == "integer":
        return _integer_arithmetic("-", TypedExpression("0", value.type), value, value.type)
    if value_family(value) not in NUMERIC:
        raise UntranslatableError(f"operator - requires numbers, but got {describe_type(value.type)}")
    if value.type.name == "DECIMAL" and value.type.decimal[0] > MAX_EXACT_NEGATION:
        text = f"regexp_replace(concat('-', CAST({value.sql} AS STRING)), '^--', '')"
        return TypedExpression(f"CAST({text} AS {to_spark_type(value.type, '')})", value.type)
    return TypedExpression(f"(- {value.sql})", value.type)


def coerce(value: TypedExpression, target: FlinkType) -> str:
    """Return the SQL of a number or NULL cast to a wider type, and of other values without a cast."""
    if value.type is None:
        return f"CAST(NULL AS {to_spark_type(target, '')})"
    if value.type == target or value_family(value) not in NUMERIC:
        return value.sql
    if isinstance(value.literal, int) and target.name in _LITERAL_SUFFIX:
        return f"{value.literal}{_LITERAL_SUFFIX[target.name]}"
    return f"CAST({value.sql} AS {to_spark_type(target, '')})"


def wrap_integer(sql: str, type: FlinkType) -> str:
    """Return the lower bits of a BIGINT as a smaller integer, like Java's narrowing conversion."""
    if type.name == "BIGINT":
        return sql
    size = 2 ** _BITS[type.name]
    return f"CAST(((({sql} & {size - 1}) + {size // 2}) & {size - 1}) - {size // 2} AS {type.name})"


def wrap_decimal(sql: str) -> str:
    """Return the lower 64 bits of an integral DECIMAL(38, 0), as a decimal."""
    return f"CAST(pmod({sql} + 9223372036854775808BD, 18446744073709551616BD) - 9223372036854775808BD AS DECIMAL(20,0))"


def _integer_arithmetic(
    operator: str, left: TypedExpression, right: TypedExpression, result_type: FlinkType
) -> TypedExpression:
    if result_type.name != "BIGINT":
        return TypedExpression(
            wrap_integer(f"(CAST({left.sql} AS BIGINT) {operator} {coerce(right, BIGINT)})", result_type), result_type
        )
    (bigint_a, decimal_a), (bigint_b, decimal_b) = (
        v.bigint_forms or (coerce(v, BIGINT), _integer_as_decimal(v)) for v in (left, right)
    )
    null_on_overflow = f"{_TRY_FUNCTIONS[operator]}({bigint_a}, {bigint_b})"
    wrapped = wrap_decimal(f"({decimal_a} {operator} {decimal_b})")
    sql = f"coalesce({null_on_overflow}, CAST({wrapped} AS BIGINT))"
    return TypedExpression(sql, BIGINT, bigint_forms=(null_on_overflow, wrapped))


def _integer_as_decimal(value: TypedExpression) -> str:
    return f"{value.sql}BD" if isinstance(value.literal, int) else f"CAST({value.sql} AS DECIMAL(19,0))"


def _guard_division_by_zero(a: str, b: str, divisor: TypedExpression, quotient: str) -> str:
    """Return SQL that raises an error if ``b`` is 0, and otherwise evaluates ``quotient``, a division of a by b."""
    if isinstance(divisor.literal, int) and divisor.literal != 0:
        return quotient
    return f"CASE WHEN {a} IS NULL OR {b} IS NULL THEN NULL WHEN {b} = 0 THEN {_DIVISION_BY_ZERO} ELSE {quotient} END"


def _divide_integers(left: TypedExpression, right: TypedExpression, result_type: FlinkType) -> TypedExpression:
    if isinstance(right.literal, int) and right.literal not in (0, -1):
        return TypedExpression(_narrow(f"({left.sql} div {right.sql})", result_type), result_type)

    def body(a: str, b: str) -> str:
        if result_type.name != "BIGINT":
            return _guard_division_by_zero(a, b, right, wrap_integer(f"(CAST({a} AS BIGINT) div {b})", result_type))
        return _guard_division_by_zero(a, b, right, f"if({b} = -1, coalesce(try_subtract(0, {a}), {a}), {a} div {b})")

    return TypedExpression(bind2(left.sql, right.sql, body), result_type)


def _narrow(sql: str, type: FlinkType) -> str:
    return sql if type.name == "BIGINT" else f"CAST({sql} AS {type.name})"


def _remainder(
    left: TypedExpression, right: TypedExpression, left_type: FlinkType, right_type: FlinkType
) -> TypedExpression:
    if left_type.name in INTEGERS and right_type.name in INTEGERS:
        result_type = right_type  # the remainder fits the type of the divisor
    else:
        (p1, s1), (p2, s2) = precision_and_scale(left_type), precision_and_scale(right_type)
        result_type = FlinkType("DECIMAL", (min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2)))

    def body(a: str, b: str) -> str:
        remainder = f"({a} % {b})"
        if result_type.name == "DECIMAL":
            remainder = f"({_cast_to_decimal(a, left_type)} % {_cast_to_decimal(b, right_type)})"
        return _guard_division_by_zero(a, b, right, f"CAST({remainder} AS {to_spark_type(result_type, '')})")

    return TypedExpression(bind2(left.sql, right.sql, body), result_type)


def _cast_to_decimal(sql: str, type: FlinkType) -> str:
    if type.name == "DECIMAL":
        return sql
    return f"CAST({sql} AS {to_spark_type(FlinkType('DECIMAL', precision_and_scale(type)), '')})"


def _decimal_arithmetic(
    operator: str, left: TypedExpression, right: TypedExpression, left_type: FlinkType, right_type: FlinkType
) -> TypedExpression:
    (p1, s1), (p2, s2) = precision_and_scale(left_type), precision_and_scale(right_type)
    if operator in "+-":
        precision, scale = max(p1 - s1, p2 - s2) + max(s1, s2) + 1, max(s1, s2)
    elif operator == "*":
        precision, scale = p1 + p2 + 1, s1 + s2
    else:
        scale = max(6, s1 + p2 + 1)
        precision = p1 - s1 + s2 + scale
    result_type = bounded_decimal_type(precision, scale)

    def calculation(a: str, b: str) -> str:
        a, b = _cast_to_decimal(a, left_type), _cast_to_decimal(b, right_type)
        # only a bounded type can overflow: to NULL in Flink
        return f"({a} {operator} {b})" if precision <= 38 else f"{_TRY_FUNCTIONS[operator]}({a}, {b})"

    if operator != "/":
        return TypedExpression(calculation(left.sql, right.sql), result_type)
    division = bind2(left.sql, right.sql, lambda a, b: _guard_division_by_zero(a, b, right, calculation(a, b)))
    return TypedExpression(division, result_type)


def _float_arithmetic(
    operator: str, left: TypedExpression, right: TypedExpression, result_type: FlinkType
) -> TypedExpression:
    if operator == "%":
        raise UntranslatableError("operator % requires exact numbers, as in Flink; CAST to DECIMAL")
    a, b = coerce(left, result_type), coerce(right, result_type)
    if operator != "/":
        return TypedExpression(f"({a} {operator} {b})", result_type)
    if result_type.name == "FLOAT":  # Spark divides only doubles; rounding twice gives the same float
        a, b = f"CAST({a} AS DOUBLE)", f"CAST({b} AS DOUBLE)"
    # power(0, -1) is infinity with the sign of the zero.
    quotient = bind2(a, b, lambda x, y: f"if({y} = 0, {x} * power({y}, -1), {x} / {y})")
    if isinstance(right.literal, int) and right.literal:
        quotient = f"({a} / {b})"
    return TypedExpression(f"CAST({quotient} AS FLOAT)" if result_type.name == "FLOAT" else quotient, result_type)
