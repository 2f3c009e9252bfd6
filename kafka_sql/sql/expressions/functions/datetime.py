"""Functions of dates and timestamps, in the session's time zone where they need one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_sql.sql.expressions import timestamp_format
from kafka_sql.sql.expressions.arithmetic import coerced, wrapped
from kafka_sql.sql.expressions.binding import bind, failure
from kafka_sql.sql.expressions.functions.signature import Function, count, takes, text
from kafka_sql.sql.expressions.typed import (
    BIGINT,
    INT,
    STRING,
    TIMESTAMPS,
    TypedExpression,
    UntranslatableError,
    describe,
    kind,
)
from kafka_sql.sql.grammar.types import FlinkType

_LTZ3: Final = FlinkType("TIMESTAMP_LTZ", (3,))
_DATE_PARTS = {
    "YEAR": "YEAR",
    "QUARTER": "QUARTER",
    "MONTH": "MONTH",
    "WEEK": "WEEK",
    "DAY": "DAY",
    "DOY": "DOY",
    "DOW": "DAYOFWEEK",
    "ISODOW": "DAYOFWEEK_ISO",
    "ISOYEAR": "YEAROFWEEK",
}
_TIME_PARTS = ("HOUR", "MINUTE", "SECOND")
_SHORT = {"DAYOFMONTH": "DAY", "DAYOFYEAR": "DOY", "DAYOFWEEK": "DOW"}


def _now(name: str, sql: str, type: FlinkType) -> Function:
    def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
        count(name, arguments, 0)
        return TypedExpression(sql, type)

    return function


def _extract(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("EXTRACT", arguments, 2)
    return _part(arguments[0].sql, arguments[1])


def _part(unit: str, value: TypedExpression) -> TypedExpression:
    kinds = (*TIMESTAMPS, "date") if unit in _DATE_PARTS else TIMESTAMPS
    if unit not in _DATE_PARTS and unit not in _TIME_PARTS:
        raise UntranslatableError(
            f"EXTRACT({unit} FROM ...) has no translation; {', '.join([*_DATE_PARTS, *_TIME_PARTS])} have"
        )
    takes(f"EXTRACT({unit} FROM ...)", value, *kinds)
    spark = _DATE_PARTS.get(unit, unit)
    inner = f"floor(extract(SECOND FROM {value.sql}))" if unit == "SECOND" else f"extract({spark} FROM {value.sql})"
    sql = f"CAST({inner} AS BIGINT)"
    if kind(value) == "date":
        return TypedExpression(sql, BIGINT)
    return TypedExpression(timestamp_format.since_1970(value.sql, f"EXTRACT({unit} FROM ...)", sql), BIGINT)


def _shorthand(name: str) -> Function:
    def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
        count(name, arguments, 1)
        return _part(_SHORT.get(name, name), arguments[0])

    return function


_DATES_FLOOR = ("YEAR", "QUARTER", "MONTH", "DAY")


def _floor(value: TypedExpression, unit: str) -> TypedExpression:
    """FLOOR of a time since 1970."""
    if unit not in (*_DATES_FLOOR, *_TIME_PARTS):
        raise UntranslatableError(
            f"FLOOR(... TO {unit}) has no translation; {', '.join((*_DATES_FLOOR, *_TIME_PARTS))} have"
        )
    takes(f"FLOOR(... TO {unit})", value, *TIMESTAMPS)
    if kind(value) == "timestamp_ltz" and unit in _DATES_FLOOR:
        raise UntranslatableError(
            f"FLOOR(... TO {unit}) of TIMESTAMP_LTZ is off by an hour in Flink across a clock change; "
            "CAST it to TIMESTAMP(3) first"
        )
    if kind(value) == "timestamp_ltz":
        return TypedExpression(f"date_trunc('{unit}', {value.sql})", value.type)
    if unit in _DATES_FLOOR:
        day = f"CAST({value.sql} AS DATE)"
        return TypedExpression(
            f"CAST({day if unit == 'DAY' else f'trunc({day}, {chr(39)}{unit}{chr(39)})'} AS TIMESTAMP_NTZ)", value.type
        )
    hours = {"HOUR": "0, 0, minute({0}), extract(SECOND FROM {0})", "MINUTE": "0, 0, 0, extract(SECOND FROM {0})"}
    less = hours.get(unit, "0, 0, 0, extract(SECOND FROM {0}) % 1")
    return TypedExpression(bind(value.sql, lambda x: f"({x} - make_dt_interval({less.format(x)}))"), value.type)


def floor_to(value: TypedExpression, unit: str) -> TypedExpression:
    """``FLOOR(timestamp TO unit)``."""
    low = _floor(value, unit)
    return TypedExpression(
        bind(
            value.sql,
            lambda x: timestamp_format.since_1970(x, "FLOOR", _floor(TypedExpression(x, value.type), unit).sql),
        ),
        low.type,
    )


def ceil_to(value: TypedExpression, unit: str) -> TypedExpression:
    """``CEIL(timestamp TO unit)``."""
    if unit not in ("DAY", *_TIME_PARTS):
        raise UntranslatableError(f"CEIL(... TO {unit}) has no translation; DAY, HOUR, MINUTE, SECOND have")
    takes(f"CEIL(... TO {unit})", value, "timestamp")
    if value.type is not None and value.type.precision > 3:
        raise UntranslatableError(
            "CEIL passes over what is less than a millisecond in Flink; CAST to TIMESTAMP(3) first"
        )

    def body(x: str) -> str:
        low = floor_to(TypedExpression(x, value.type), unit).sql
        return f"if({low} = {x}, {x}, {low} + INTERVAL '1' {unit})"

    return TypedExpression(bind(value.sql, body), value.type)


def _date_format(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("DATE_FORMAT", arguments, 2)
    value, pattern = arguments
    if kind(value) == "string":
        raise UntranslatableError("DATE_FORMAT of a text has no translation; use TO_TIMESTAMP first")
    takes("DATE_FORMAT", value, *TIMESTAMPS)
    return TypedExpression(timestamp_format.formatted(value.sql, text("DATE_FORMAT", pattern, "pattern")), STRING)


def _to_timestamp(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("TO_TIMESTAMP", arguments, 1, 2)
    value = arguments[0]
    takes("TO_TIMESTAMP", value, "string")
    if len(arguments) == 1:
        return TypedExpression(
            timestamp_format.parsed(value.sql, "TIMESTAMP_NTZ", 3, None), FlinkType("TIMESTAMP", (3,))
        )
    pattern = text("TO_TIMESTAMP", arguments[1], "pattern")
    return TypedExpression(
        timestamp_format.parsed_by(value.sql, "TIMESTAMP_NTZ", pattern), FlinkType("TIMESTAMP", (3,))
    )


_LATEST = {"0": 253402300799, "3": 253402300799999}
_EARLIEST = {"0": -62135596800, "3": -62135596800000}


def _to_timestamp_ltz(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("TO_TIMESTAMP_LTZ", arguments, 1, 2)
    value, unit = arguments[0], arguments[1].sql if len(arguments) > 1 else "3"
    takes("TO_TIMESTAMP_LTZ", value, "integer")
    if unit not in _LATEST:
        raise UntranslatableError("TO_TIMESTAMP_LTZ takes 0 (seconds) or 3 (milliseconds) as its second argument")
    spark = {"0": "timestamp_seconds", "3": "timestamp_millis"}[unit]
    if value.type is not None and value.type.name != "BIGINT" and unit == "3":
        return TypedExpression(f"{spark}({value.sql})", _LTZ3)
    if value.type is not None and value.type.name != "BIGINT":
        return TypedExpression(f"{spark}({value.sql})", _LTZ3)
    inside = f"BETWEEN {_EARLIEST[unit]} AND {_LATEST[unit]}"
    return TypedExpression(bind(value.sql, lambda x: f"if({x} {inside}, {spark}({x}), NULL)"), _LTZ3)


def _from_unixtime(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("FROM_UNIXTIME", arguments, 1, 2)
    takes("FROM_UNIXTIME", arguments[0], "integer")
    pattern = text("FROM_UNIXTIME", arguments[1], "pattern") if len(arguments) > 1 else "yyyy-MM-dd HH:mm:ss"
    error = failure("FROM_UNIXTIME before 1582-10-15, of which Flink makes another day", arguments[0].sql)
    return TypedExpression(
        bind(
            arguments[0].sql,
            lambda x: (
                f"if({x} < -12219292800, {error}, {timestamp_format.formatted(f'timestamp_seconds({x})', pattern)})"
            ),
        ),
        STRING,
    )


_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400}


def _diff(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("TIMESTAMPDIFF", arguments, 3)
    unit, start, end = arguments
    if unit.sql not in _SECONDS:
        raise UntranslatableError(f"TIMESTAMPDIFF({unit.sql}, ...) has no translation; {', '.join(_SECONDS)} have")
    for value in (start, end):
        takes("TIMESTAMPDIFF", value, *TIMESTAMPS)
    if start.type is not None and end.type is not None and start.type.name != end.type.name:
        raise UntranslatableError("TIMESTAMP_LTZ only supports diff between the same type; CAST one of them")
    texts = [
        timestamp_format.cut(v.sql, 3) if v.type is not None and v.type.precision > 3 else v.sql for v in (end, start)
    ]
    seconds = f"CAST(CAST(({texts[0]} - {texts[1]}) AS INTERVAL SECOND) AS BIGINT)"
    if "timestamp_ltz" in (kind(start), kind(end)):  # Spark's difference is the one of the clocks on the wall
        seconds = f"((unix_micros({texts[0]}) - unix_micros({texts[1]})) div 1000000)"
    return TypedExpression(wrapped(f"({seconds} div {_SECONDS[unit.sql]})", INT), INT)


_ADD = {
    "SECOND": "make_dt_interval(0, 0, 0, {0})",
    "MINUTE": "make_dt_interval(0, 0, {0}, 0)",
    "HOUR": "make_dt_interval(0, {0}, 0, 0)",
    "DAY": "make_dt_interval({0}, 0, 0, 0)",
    "WEEK": "make_dt_interval({0} * 7, 0, 0, 0)",
    "MONTH": "make_ym_interval(0, {0})",
    "QUARTER": "make_ym_interval(0, {0} * 3)",
    "YEAR": "make_ym_interval({0}, 0)",
}


def _add(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("TIMESTAMPADD", arguments, 3)
    unit, number, value = arguments
    if unit.sql not in _ADD:
        raise UntranslatableError(f"TIMESTAMPADD({unit.sql}, ...) has no translation; {', '.join(_ADD)} have")
    takes("TIMESTAMPADD", number, "integer")
    if number.type is not None and number.type.name == "BIGINT":
        raise UntranslatableError("TIMESTAMPADD takes an INT and not BIGINT; CAST the number")
    takes("TIMESTAMPADD", value, "timestamp")
    if value.type is None:
        raise UntranslatableError(f"TIMESTAMPADD takes a timestamp and not {describe(value.type)}")
    return TypedExpression(f"({value.sql} + {_ADD[unit.sql].format(coerced(number, INT))})", value.type)


FUNCTIONS: Final[dict[str, Function]] = {
    "PROCTIME": _now("PROCTIME", "current_timestamp()", _LTZ3),
    "CURRENT_TIMESTAMP": _now("CURRENT_TIMESTAMP", "current_timestamp()", _LTZ3),
    "NOW": _now("NOW", "current_timestamp()", _LTZ3),
    "LOCALTIMESTAMP": _now("LOCALTIMESTAMP", "localtimestamp()", FlinkType("TIMESTAMP", (3,))),
    "CURRENT_DATE": _now("CURRENT_DATE", "current_date()", FlinkType("DATE")),
    "EXTRACT": _extract,
    **{name: _shorthand(name) for name in ("YEAR", "QUARTER", "MONTH", "WEEK", *_SHORT, *_TIME_PARTS)},
    "DATE_FORMAT": _date_format,
    "TO_TIMESTAMP": _to_timestamp,
    "TO_TIMESTAMP_LTZ": _to_timestamp_ltz,
    "FROM_UNIXTIME": _from_unixtime,
    "TIMESTAMPADD": _add,
    "TIMESTAMPDIFF": _diff,
}
