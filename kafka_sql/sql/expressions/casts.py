"""Translate CAST and TRY_CAST with Flink's results: integers wrap around, overflowing decimals are NULL."""

from __future__ import annotations

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.arithmetic import wrap_decimal, wrap_integer
from kafka_sql.sql.expressions.binding import bind, raise_error_sql
from kafka_sql.sql.expressions.functions.signature import call_java
from kafka_sql.sql.expressions.timestamps import (
    UTC,
    format_timestamp,
    local_time,
    parse_timestamp,
    reject_before_1970,
    to_instant,
    to_local,
    truncate_fraction,
)
from kafka_sql.sql.expressions.typed import (
    NUMERIC,
    STRING,
    TIMESTAMPS,
    TypedExpression,
    UntranslatableError,
    describe_type,
    type_family,
)
from kafka_sql.sql.grammar.types import INTEGERS, SPARK_PRECISION, FlinkType, to_spark_type

_DATES = ("date", "timestamp", "timestamp_ltz")
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_BOOLEAN_WORDS = {"TRUE": ("true", "t", "yes", "y", "1"), "FALSE": ("false", "f", "no", "n", "0")}
_INVALID_UTF8 = raise_error_sql("the bytes are not valid UTF-8")


def translate_cast(value: TypedExpression, target: FlinkType, column: str, is_try: bool) -> TypedExpression:
    """Translate ``CAST(value AS target)`` or TRY_CAST.

    Args:
        column: the computed column, for error messages about the type.
        is_try: whether it is TRY_CAST.

    Raises:
        UntranslatableError: Flink has no such cast, or Spark has no exact equivalent.
        SchemaError: the type is not supported.
    """
    spark_type = to_spark_type(target, column)
    if value.type is None:
        return TypedExpression(f"CAST(NULL AS {spark_type})", target)
    source_family, target_family = type_family(value.type), type_family(target)
    if source_family == "string" and target_family in TIMESTAMPS and target.precision > SPARK_PRECISION:
        raise UntranslatableError(
            f"CAST of a string to {describe_type(target)} would drop nanoseconds, which Spark does not have; CAST it "
            f"to {target.name}(6)"
        )
    sql = _translate_cast(value, value.type, target, spark_type, is_try)
    if sql is None:
        name = "TRY_CAST" if is_try else "CAST"
        raise UntranslatableError(f"{name} of {describe_type(value.type)} to {describe_type(target)} is not supported")
    if target_family == "binary" or (target_family == "string" and source_family != "binary"):
        sql = _fit_length(sql, target)
    return TypedExpression(sql, target)


def _translate_cast(
    value: TypedExpression, source: FlinkType, target: FlinkType, spark_type: str, is_try: bool
) -> str | None:
    source_family, target_family = type_family(source), type_family(target)
    families = (source_family, target_family)
    if source_family == "string":
        return _cast_string(value.sql, target, spark_type, is_try)
    if target_family == "string":
        return _cast_to_string(value, source)
    if source_family in NUMERIC and target_family in NUMERIC:
        return _cast_number(value.sql, source, target, spark_type)
    if families == ("boolean", "decimal"):
        return f"CAST(CAST({value.sql} AS INT) AS {spark_type})"
    if source_family == "boolean" and target_family in ("boolean", *NUMERIC):
        return value.sql if target_family == "boolean" else f"CAST({value.sql} AS {spark_type})"
    if source_family in NUMERIC and target_family == "boolean":
        return f"({value.sql} <> 0)"
    if source_family in _DATES and target_family in _DATES:
        return _cast_datetime(value.sql, source, target, spark_type)
    if families == ("time", "time") and source.precision <= target.precision:
        return value.sql
    if families == ("binary", "binary"):
        return value.sql
    if source.elements or source.fields:
        return value.sql if source == target else None
    return None


def _cast_string(sql: str, target: FlinkType, spark_type: str, is_try: bool) -> str | None:
    """Translate a CAST of a string; invalid text is an error, or NULL for TRY_CAST. Return None without such a cast."""
    match type_family(target):
        case "string":
            return sql
        case "binary":
            return f"CAST({sql} AS BINARY)"
        case "boolean":
            return bind(sql, lambda x: _string_to_boolean(x, is_try))
        case "integer":
            bits, name = str(_BITS[target.name]), f"'{spark_type}'"
            return f"CAST({call_java('cast_to_integer', sql, bits, name, str(is_try))} AS {spark_type})"
        case "approximate" | "date":
            return call_java(f"cast_to_{spark_type}", sql, str(is_try))
        case "decimal":
            return call_java("cast_to_decimal", sql, f"CAST(NULL AS {spark_type})", str(is_try))
        case "timestamp" | "timestamp_ltz":
            local = parse_timestamp(sql, target.precision, None if is_try else "DateTimeException: invalid timestamp")
            return local if target.name == "TIMESTAMP" else to_instant(local)
    return None


def _string_to_boolean(x: str, is_try: bool) -> str:
    conditions = " ".join(
        f"WHEN lower({x}) IN ({', '.join(map(string_constant, words))}) THEN {value}"
        for value, words in _BOOLEAN_WORDS.items()
    )
    invalid = "" if is_try else f" WHEN {x} IS NOT NULL THEN {raise_error_sql('Cannot parse as BOOLEAN', x)}"
    return f"CASE {conditions}{invalid} END"


def _cast_number(sql: str, source: FlinkType, target: FlinkType, spark_type: str) -> str:
    if source == target:
        return sql
    if target.name == "DECIMAL":
        if type_family(source) != "approximate":
            return f"try_cast({sql} AS {spark_type})"
        return bind(
            sql,
            lambda x: (
                f"if(isnan({x}) OR abs({x}) = DOUBLE('Infinity'), {raise_error_sql('NumberFormatException', x)}, "
                f"try_cast(CAST({x} AS DOUBLE) AS {spark_type}))"
            ),
        )
    if target.name not in INTEGERS:
        return f"CAST({sql} AS {spark_type})"
    if type_family(source) == "integer":
        if INTEGERS[source.name] <= INTEGERS[target.name]:
            return f"CAST({sql} AS {spark_type})"
        return wrap_integer(f"CAST({sql} AS BIGINT)", target)
    if source.name == "DECIMAL":
        return _decimal_to_integer(sql, source, target)
    return _float_to_integer(sql, target)


def _decimal_to_integer(sql: str, source: FlinkType, target: FlinkType) -> str:
    precision, scale = source.decimal
    if precision - scale <= 18:
        return wrap_integer(f"CAST({sql} AS BIGINT)", target)
    integral = bind(sql, lambda x: f"CAST(if({x} < 0, ceil({x}), floor({x})) AS DECIMAL({precision - scale + 1},0))")
    if precision - scale == 38:
        integral = sql
    return wrap_integer(f"CAST({wrap_decimal(integral)} AS BIGINT)", target)


def _float_to_integer(sql: str, target: FlinkType) -> str:
    """Convert a float like Java: truncated and clamped to the integer range; NaN is 0."""
    is_bigint = target.name == "BIGINT"
    low, high = (-(2**63), 2**63 - 1) if is_bigint else (-(2**31), 2**31 - 1)
    low_sql = f"{low + 1} - 1"  # -9223372036854775808 is not a literal in Spark: its absolute value is not a BIGINT
    integral = bind(
        f"CAST({sql} AS DOUBLE)",
        lambda x: (
            f"CASE WHEN isnan({x}) THEN 0 WHEN {x} >= {high}D THEN {high} WHEN {x} <= {low}D THEN {low_sql} "
            f"ELSE CAST({x} AS {'BIGINT' if is_bigint else 'INT'}) END"
        ),
    )
    return integral if is_bigint or target.name == "INT" else wrap_integer(f"CAST({integral} AS BIGINT)", target)


def _cast_to_string(value: TypedExpression, source: FlinkType) -> str | None:
    sql, family = value.sql, type_family(source)
    if family == "decimal" and source.decimal[1] > 6:
        raise UntranslatableError(
            f"CAST of {describe_type(source)} to {describe_type(STRING)} may have an exponent in Spark; CAST it to a "
            "DECIMAL with at most 6 decimals first"
        )
    if family == "boolean":
        return f"upper(CAST({sql} AS STRING))"  # TRUE in Flink, true in Spark
    if family in TIMESTAMPS:
        return format_timestamp(local_time(value), source.precision)
    if family == "binary":
        return bind(sql, lambda x: f"if(is_valid_utf8(CAST({x} AS STRING)), CAST({x} AS STRING), {_INVALID_UTF8})")
    if family == "date":  # a cast of the DATE would use the calendar of spark.sql.legacy.timeParserPolicy
        return f"substring_index(CAST(CAST({sql} AS TIMESTAMP_NTZ) AS STRING), ' ', 1)"
    return f"CAST({sql} AS STRING)" if family in NUMERIC else None


def _fit_length(sql: str, target: FlinkType) -> str:
    """Truncate a string to the length of the type; pad it with spaces for CHAR."""
    if target.name == "CHAR":
        return f"rpad({sql}, {target.sizes[0] if target.sizes else 1}, ' ')"
    if target.name in ("VARCHAR", "VARBINARY") and target.sizes not in ((), (2147483647,)):
        return f"substring({sql}, 1, {target.sizes[0]})"
    if target.name == "BINARY" or (target.name == "VARBINARY" and not target.sizes):
        raise UntranslatableError(f"CAST to {describe_type(target)} is not supported; use BYTES")
    return sql


def _cast_datetime(sql: str, source: FlinkType, target: FlinkType, spark_type: str) -> str:
    """Truncate a timestamp to a date or to the type's fractional digits, like Flink. (Spark keeps all six digits.)"""
    if source.name == "TIMESTAMP" and target.name == "DATE":
        return f"CAST({reject_before_1970(sql, 'CAST to DATE')} AS DATE)"
    value = _convert_datetime(sql, source, target, spark_type)
    if source.name == "DATE" or target.name == "DATE" or target.precision >= 6 or source.precision <= target.precision:
        return value
    is_ltz = target.name == "TIMESTAMP_LTZ"  # truncated in UTC
    time = reject_before_1970(to_local(value, UTC) if is_ltz else value, f"CAST to {describe_type(target)}")
    time = truncate_fraction(time, target.precision)
    return to_instant(time, UTC) if is_ltz else time


def _convert_datetime(sql: str, source: FlinkType, target: FlinkType, spark_type: str) -> str:
    if source.name == "TIMESTAMP_LTZ":
        if target.name == "TIMESTAMP_LTZ":
            return sql
        sql = to_local(sql)
        return f"CAST({sql} AS DATE)" if target.name == "DATE" else sql
    if target.name == "TIMESTAMP_LTZ":
        return to_instant(sql if source.name == "TIMESTAMP" else f"CAST({sql} AS TIMESTAMP_NTZ)")
    return f"CAST({sql} AS {spark_type})"
