"""CAST and TRY_CAST with Flink's values: integers are cut to their bits, decimals that overflow are NULL."""

from __future__ import annotations

from kafka_sql.sql.expressions import string_casts, timestamp_format
from kafka_sql.sql.expressions.arithmetic import wrapped, wrapped_decimal
from kafka_sql.sql.expressions.binding import bind, failure
from kafka_sql.sql.expressions.typed import NUMERIC, STRING, TypedExpression, UntranslatableError, describe, family
from kafka_sql.sql.grammar.types import INTEGERS, FlinkType, to_spark_type

_DATES = ("date", "timestamp", "timestamp_ltz")


def cast(value: TypedExpression, to: FlinkType, column: str, attempt: bool) -> TypedExpression:
    """``CAST(value AS to)``, or TRY_CAST.

    Args:
        column: the computed column, for errors of the type.
        attempt: whether it is TRY_CAST.

    Raises:
        UntranslatableError: Flink has no such cast, or no expression of Spark gives its values.
        SchemaError: Spark cannot carry the type.
    """
    target = to_spark_type(to, column)
    if value.type is None:
        return TypedExpression(f"CAST(NULL AS {target})", to)
    source, kind = family(value.type), family(to)
    sql = _cast(value, value.type, to, target, attempt)
    if sql is None:
        name = "TRY_CAST" if attempt else "CAST"
        raise UntranslatableError(f"{name} of {describe(value.type)} to {describe(to)} has no translation")
    if (kind == "string" and source != "binary") or kind == source == "binary" or kind == "binary":
        sql = _fitted(sql, to)
    return TypedExpression(sql, to)


def _cast(value: TypedExpression, source: FlinkType, to: FlinkType, target: str, attempt: bool) -> str | None:
    kinds = (family(source), family(to))
    if kinds[0] == "string":
        return string_casts.from_text(value.sql, to, target, attempt)
    if kinds[1] == "string":
        return _to_text(value.sql, source)
    if kinds[0] in NUMERIC and kinds[1] in NUMERIC:
        return _number(value.sql, source, to, target)
    if kinds == ("boolean", "decimal"):
        return f"CAST(CAST({value.sql} AS INT) AS {target})"
    if kinds[0] == "boolean" and kinds[1] in ("boolean", *NUMERIC):
        return value.sql if kinds[1] == "boolean" else f"CAST({value.sql} AS {target})"
    if kinds[1] == "boolean" and kinds[0] in NUMERIC:
        return f"({value.sql} <> 0)"
    if kinds[0] in _DATES and kinds[1] in _DATES:
        return _to_time(value.sql, source, to, target)
    if kinds == ("time", "time") and source.precision <= to.precision:
        return value.sql
    if kinds == ("binary", "binary"):
        return value.sql
    if source.elements or source.fields:
        return value.sql if source == to else None
    return None


def _number(sql: str, source: FlinkType, to: FlinkType, target: str) -> str:
    if source == to:
        return sql
    if to.name == "DECIMAL":
        if family(source) != "approximate":
            return f"try_cast({sql} AS {target})"
        return bind(
            sql,
            lambda x: (
                f"if(isnan({x}) OR abs({x}) = DOUBLE('Infinity'), {failure('NumberFormatException', x)}, "
                f"try_cast(CAST({x} AS DOUBLE) AS {target}))"
            ),
        )
    if to.name not in INTEGERS:
        return f"CAST({sql} AS {target})"
    if family(source) == "integer":
        if INTEGERS[source.name] <= INTEGERS[to.name]:
            return f"CAST({sql} AS {target})"
        return wrapped(f"CAST({sql} AS BIGINT)", to)
    if source.name == "DECIMAL":
        return _whole(sql, source, to)
    return _clamped(sql, to)


def _whole(sql: str, source: FlinkType, to: FlinkType) -> str:
    precision, scale = source.decimal
    if precision - scale <= 18:
        return wrapped(f"CAST({sql} AS BIGINT)", to)
    whole = bind(sql, lambda x: f"CAST(if({x} < 0, ceil({x}), floor({x})) AS DECIMAL({precision - scale + 1},0))")
    if precision - scale == 38:
        whole = sql
    return wrapped(f"CAST({wrapped_decimal(whole)} AS BIGINT)", to)


def _clamped(sql: str, to: FlinkType) -> str:
    """A float cut to the nearest whole number that there is, as Java does; NaN is 0."""
    big = to.name == "BIGINT"
    low, high = (-(2**63), 2**63 - 1) if big else (-(2**31), 2**31 - 1)
    whole = bind(
        f"CAST({sql} AS DOUBLE)",
        lambda x: (
            f"CASE WHEN isnan({x}) THEN 0 WHEN {x} >= {high}D THEN {high} WHEN {x} <= {low}D THEN {low + 1} - 1 "
            f"ELSE CAST({x} AS {'BIGINT' if big else 'INT'}) END"
        ),
    )
    return whole if big or to.name == "INT" else wrapped(f"CAST({whole} AS BIGINT)", to)


def _to_text(sql: str, source: FlinkType) -> str | None:
    kind = family(source)
    if kind == "decimal" and source.decimal[1] > 6:
        raise UntranslatableError(
            f"CAST of {describe(source)} to {describe(STRING)} is written with an exponent by Spark; CAST it to a "
            "DECIMAL of at most 6 decimals first"
        )
    if kind == "boolean":
        return f"upper(CAST({sql} AS STRING))"  # TRUE in Flink, true in Spark
    if kind in ("timestamp", "timestamp_ltz"):
        return timestamp_format.text(sql, source.precision)
    if kind == "binary":
        return bind(sql, lambda x: f"if(is_valid_utf8(CAST({x} AS STRING)), CAST({x} AS STRING), {_NO_UTF8})")
    return f"CAST({sql} AS STRING)" if kind in (*NUMERIC, "date") else None


_NO_UTF8 = failure("the bytes are no text in UTF-8")


def _fitted(sql: str, to: FlinkType) -> str:
    """A text cut, and for CHAR padded, to its length."""
    if to.name == "CHAR":
        return f"rpad({sql}, {to.sizes[0] if to.sizes else 1}, ' ')"
    if to.name in ("VARCHAR", "VARBINARY") and to.sizes not in ((), (2147483647,)):
        return f"substring({sql}, 1, {to.sizes[0]})"
    if to.name == "BINARY" or (to.name == "VARBINARY" and not to.sizes):
        raise UntranslatableError(f"CAST to {describe(to)} has no translation; use BYTES")
    return sql


def _to_time(sql: str, source: FlinkType, to: FlinkType, target: str) -> str:
    """The time cut to a date, or the second's fraction to the target's digits, as Flink does; Spark keeps all six."""
    if source.name == "TIMESTAMP" and to.name == "DATE":
        return bind(sql, lambda x: timestamp_format.since_1970(x, "CAST to DATE", f"CAST({x} AS DATE)"))
    if source.name == "DATE" or to.name == "DATE" or to.precision >= 6 or source.precision <= to.precision:
        return f"CAST({sql} AS {target})"
    return bind(
        sql,
        lambda x: timestamp_format.since_1970(
            x, f"CAST to {describe(to)}", timestamp_format.cut(f"CAST({x} AS {target})", to.precision)
        ),
    )
