"""Translate date and timestamp functions; those that need a time zone use the session time zone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from kafka_sql.sql.expressions import timestamp_format
from kafka_sql.sql.expressions.arithmetic import coerce, wrap_integer
from kafka_sql.sql.expressions.binding import bind, bind2, raise_error_sql
from kafka_sql.sql.expressions.functions import date_texts
from kafka_sql.sql.expressions.functions.signature import (
    Function,
    check_argument_count,
    check_argument_type,
    checked,
    require_string_literal,
)
from kafka_sql.sql.expressions.functions.time_zones import to_timestamp_ltz_of_text
from kafka_sql.sql.expressions.session_zone import to_local
from kafka_sql.sql.expressions.typed import (
    BIGINT,
    INT,
    STRING,
    TIMESTAMPS,
    TypedExpression,
    UntranslatableError,
    describe_type,
    value_family,
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
_TIMESTAMP_PARTS = {  # of TIMESTAMP only
    "MILLISECOND": "CAST(floor(extract(SECOND FROM {0}) % 1 * 1000) AS BIGINT)",
    "EPOCH": "CAST(CAST(({0} - TIMESTAMP_NTZ '1970-01-01 00:00:00') AS INTERVAL SECOND) AS BIGINT)",
    "DECADE": "CAST(year({0}) div 10 AS BIGINT)",
    "CENTURY": "CAST((year({0}) + 99) div 100 AS BIGINT)",
    "MILLENNIUM": "CAST((year({0}) + 999) div 1000 AS BIGINT)",
}
_EXTRACT_UNITS = {"DAYOFMONTH": "DAY", "DAYOFYEAR": "DOY", "DAYOFWEEK": "DOW"}


def _current(name: str, sql: str, type: FlinkType) -> Function:
    return checked(name)(lambda: TypedExpression(sql, type))


def _local_time(value: TypedExpression) -> str:
    """Return SQL for a timestamp as a TIMESTAMP: in the session's time zone if it is a TIMESTAMP_LTZ."""
    return to_local(value.sql) if value_family(value) == "timestamp_ltz" else value.sql


def _translate_extract(unit: str, value: TypedExpression) -> TypedExpression:
    families = (*TIMESTAMPS, "date") if unit in _DATE_PARTS else TIMESTAMPS
    if unit in _TIMESTAMP_PARTS:
        check_argument_type(f"EXTRACT({unit} FROM ...)", value, "timestamp")
        body = bind(
            value.sql,
            lambda x: timestamp_format.reject_before_1970(
                x, f"EXTRACT({unit} FROM ...)", _TIMESTAMP_PARTS[unit].format(x)
            ),
        )
        return TypedExpression(body, BIGINT)
    if unit not in _DATE_PARTS and unit not in _TIME_PARTS:
        units = ", ".join([*_DATE_PARTS, *_TIME_PARTS, *_TIMESTAMP_PARTS])
        raise UntranslatableError(f"EXTRACT({unit} FROM ...) is not supported; use {units}")
    check_argument_type(f"EXTRACT({unit} FROM ...)", value, *families)

    def extract(x: str) -> str:
        part = f"extract({_DATE_PARTS.get(unit, unit)} FROM {x})"
        return f"CAST({f'floor({part})' if unit == 'SECOND' else part} AS BIGINT)"

    if value_family(value) == "date":
        return TypedExpression(extract(value.sql), BIGINT)
    name = f"EXTRACT({unit} FROM ...)"
    sql = bind(_local_time(value), lambda x: timestamp_format.reject_before_1970(x, name, extract(x)))
    return TypedExpression(sql, BIGINT)


def _extract_function(name: str) -> Function:
    return checked(name, "")(partial(_translate_extract, _EXTRACT_UNITS.get(name, name)))


_YEARS: Final = {"DECADE": 10, "CENTURY": 100, "MILLENNIUM": 1000}
_FLOOR_DATE_UNITS = (*_YEARS, "YEAR", "QUARTER", "MONTH", "WEEK", "DAY")


def _week(date: str) -> str:
    """Return SQL for the Sunday on or before a date."""
    return f"date_sub({date}, dayofweek({date}) - 1)"


def _floor_date(date: str, unit: str) -> str:
    """Return SQL for the first day of the unit that contains a date. A century starts with the year 1, a decade not."""
    if unit == "WEEK":
        return _week(date)
    if unit not in _YEARS:
        return f"trunc({date}, '{unit}')"
    year = f"(year({date}) - {int(unit != 'DECADE')})"
    return f"trunc(add_months({date}, -12 * ({year} % {_YEARS[unit]})), 'YEAR')"


def _reject_early_date(name: str, date: str, body: str) -> str:
    error = raise_error_sql(f"{name} of a date before 1970, which Flink rounds up", date)
    return f"if({date} < DATE '1970-01-01', {error}, {body})"


def _floor(value: TypedExpression, unit: str) -> TypedExpression:
    """Translate FLOOR, without the check for timestamps before 1970."""
    if unit not in (*_FLOOR_DATE_UNITS, *_TIME_PARTS):
        raise UntranslatableError(
            f"FLOOR(... TO {unit}) is not supported; use {', '.join((*_FLOOR_DATE_UNITS, *_TIME_PARTS))}"
        )
    check_argument_type(f"FLOOR(... TO {unit})", value, *TIMESTAMPS, "date")
    if value_family(value) == "date":
        if unit not in _FLOOR_DATE_UNITS:
            raise UntranslatableError(f"FLOOR(... TO {unit}) of a DATE is not supported")
        if unit == "WEEK":
            return TypedExpression(bind(value.sql, lambda x: _reject_early_date("FLOOR", x, _week(x))), value.type)
        return value if unit == "DAY" else TypedExpression(bind(value.sql, lambda x: _floor_date(x, unit)), value.type)
    if value_family(value) == "timestamp_ltz" and unit in _FLOOR_DATE_UNITS:
        raise UntranslatableError(
            f"FLOOR(... TO {unit}) of TIMESTAMP_LTZ is off by an hour in Flink across a DST change; "
            "CAST it to TIMESTAMP(3) first"
        )
    if unit in _FLOOR_DATE_UNITS:
        date = f"CAST({value.sql} AS DATE)"
        date = date if unit == "DAY" else _floor_date(date, unit)
        return TypedExpression(f"CAST({date} AS TIMESTAMP_NTZ)", value.type)
    remainders = {"HOUR": "0, 0, minute({0}), extract(SECOND FROM {0})", "MINUTE": "0, 0, 0, extract(SECOND FROM {0})"}
    remainder = remainders.get(unit, "0, 0, 0, extract(SECOND FROM {0}) % 1")

    def subtract(x: str) -> str:
        return f"({x} - make_dt_interval({remainder.format(_local_time(TypedExpression(x, value.type)))}))"

    return TypedExpression(bind(value.sql, subtract), value.type)


def translate_floor(value: TypedExpression, unit: str) -> TypedExpression:
    """Translate ``FLOOR(timestamp TO unit)``."""
    floor = _floor(value, unit)
    if value_family(value) == "date":
        return floor

    def body(x: str) -> str:
        bound = TypedExpression(x, value.type)
        return timestamp_format.reject_before_1970(_local_time(bound), "FLOOR", _floor(bound, unit).sql)

    return TypedExpression(bind(value.sql, body), floor.type)


def translate_ceil(value: TypedExpression, unit: str) -> TypedExpression:
    """Translate ``CEIL(timestamp TO unit)``."""
    is_date = value_family(value) == "date"
    units = (*_YEARS, "YEAR", "QUARTER", "MONTH") if is_date else (*_FLOOR_DATE_UNITS, *_TIME_PARTS)
    if unit not in units:
        raise UntranslatableError(
            f"CEIL(... TO {unit}){' of a DATE' if is_date else ''} is not supported; use {', '.join(units)}"
        )
    check_argument_type(f"CEIL(... TO {unit})", value, "timestamp", "date")
    if value.type is not None and not is_date and value.type.precision > 3:
        raise UntranslatableError("CEIL ignores fractions of a millisecond in Flink; CAST to TIMESTAMP(3) first")
    step = {"WEEK": "INTERVAL '7' DAY", "QUARTER": "INTERVAL '3' MONTH"}.get(unit, f"INTERVAL '1' {unit}")

    def body(x: str) -> str:
        floor = translate_floor(TypedExpression(x, value.type), unit).sql
        if unit in _YEARS:  # in Flink, the start of a decade is rounded up, too
            ceiling = f"{floor} + INTERVAL '{_YEARS[unit]}' YEAR"
        else:
            # for longer units than days, Flink ignores the time of day
            ignores_time = not is_date and unit not in ("DAY", *_TIME_PARTS)
            start = f"CAST(CAST({x} AS DATE) AS TIMESTAMP_NTZ)" if ignores_time else x
            ceiling = f"if({floor} = {start}, {start}, {floor} + {step})"
        return _reject_early_date("CEIL", x, ceiling) if is_date else ceiling

    return TypedExpression(bind(value.sql, body), value.type)


@checked("DATE_FORMAT", "|".join((*TIMESTAMPS, "string")), "")
def _date_format(value: TypedExpression, pattern: TypedExpression) -> TypedExpression:
    java_pattern = require_string_literal("DATE_FORMAT", pattern, "pattern")
    sql = date_texts.parse_prefix(value.sql) if value_family(value) == "string" else _local_time(value)
    return TypedExpression(timestamp_format.translate_date_format(sql, java_pattern), STRING)


@checked("TO_TIMESTAMP", "string", "", required=1)
def _to_timestamp(value: TypedExpression, *pattern: TypedExpression) -> TypedExpression:
    if pattern:
        java_pattern = require_string_literal("TO_TIMESTAMP", pattern[0], "pattern")
        sql = timestamp_format.parse_timestamp_with_pattern(value.sql, java_pattern)
    else:
        sql = timestamp_format.parse_timestamp(value.sql, 3, None)
    return TypedExpression(sql, FlinkType("TIMESTAMP", (3,)))


# Flink's years 1 to 9999, by precision: 0 for seconds, 3 for milliseconds.
_MAX_EPOCH = {"0": 253402300799, "3": 253402300799999}
_MIN_EPOCH = {"0": -62135596800, "3": -62135596800000}


def _to_timestamp_ltz(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("TO_TIMESTAMP_LTZ", arguments, 1, 3)
    if value_family(arguments[0]) == "string":
        return to_timestamp_ltz_of_text(arguments)
    check_argument_count("TO_TIMESTAMP_LTZ of a number", arguments, 1, 2)
    value, precision = arguments[0], arguments[1].sql if len(arguments) > 1 else "3"
    check_argument_type("TO_TIMESTAMP_LTZ", value, "integer", "string")
    if precision not in _MAX_EPOCH:
        raise UntranslatableError("TO_TIMESTAMP_LTZ requires 0 (seconds) or 3 (milliseconds) as its second argument")
    function = {"0": "timestamp_seconds", "3": "timestamp_millis"}[precision]
    if value.type is not None and value.type.name != "BIGINT":  # smaller integers are always in range
        return TypedExpression(f"{function}({value.sql})", _LTZ3)
    in_range = f"BETWEEN {_MIN_EPOCH[precision]} AND {_MAX_EPOCH[precision]}"
    return TypedExpression(bind(value.sql, lambda x: f"if({x} {in_range}, {function}({x}), NULL)"), _LTZ3)


@checked("FROM_UNIXTIME", "integer", "", required=1)
def _from_unixtime(value: TypedExpression, *pattern: TypedExpression) -> TypedExpression:
    java_pattern = require_string_literal("FROM_UNIXTIME", pattern[0], "pattern") if pattern else "yyyy-MM-dd HH:mm:ss"
    error = raise_error_sql("FROM_UNIXTIME before 1582-10-15, for which Flink returns a different day", value.sql)

    def body(x: str) -> str:
        text = timestamp_format.translate_date_format(to_local(f"timestamp_seconds({x})"), java_pattern)
        return f"if({x} < -12219292800, {error}, {text})"

    return TypedExpression(bind(value.sql, body), STRING)


_SECONDS_OF_UNIT = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 604800}
_MONTHS_OF_UNIT = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def _months_between(unit: str, start: TypedExpression, end: TypedExpression) -> TypedExpression:
    """Translate TIMESTAMPDIFF in months: full months between the days, one less if that leads past the time of day."""
    for value in (start, end):
        check_argument_type(f"TIMESTAMPDIFF({unit}, ...)", value, "timestamp", "date")
    if value_family(start) != value_family(end):
        raise UntranslatableError(f"TIMESTAMPDIFF({unit}, ...) requires two values of the same type; CAST one of them")

    def full_months(first: str, last: str) -> str:
        months = f"((year({last}) - year({first})) * 12 + month({last}) - month({first}))"
        return bind(months, lambda m: f"if(add_months({first}, {m}) > {last}, {m} - 1, {m})")

    def between(first: str, last: str) -> str:
        return f"if({last} < {first}, - {full_months(last, first)}, {full_months(first, last)})"

    def of_times(t0: str, t1: str) -> str:
        def check(m: str) -> str:
            is_past = f"add_months({first}, {m}) = {last} AND {_time_of_day(t1)} < {_time_of_day(t0)}"
            return f"if({is_past}, {m} - 1, {m})"

        first, last = f"CAST({t0} AS DATE)", f"CAST({t1} AS DATE)"
        return bind(bind2(first, last, between), check)

    sql = bind2(start.sql, end.sql, between if value_family(start) == "date" else of_times)
    months = _MONTHS_OF_UNIT[unit]
    return TypedExpression(sql if months == 1 else f"CAST({sql} div {months} AS INT)", INT)


def _time_of_day(x: str) -> str:
    """Return SQL for the milliseconds since midnight."""
    return f"(hour({x}) * 3600000 + minute({x}) * 60000 + floor(extract(SECOND FROM {x}) * 1000))"


@checked("TIMESTAMPDIFF", "", "", "")
def _timestampdiff(unit: TypedExpression, start: TypedExpression, end: TypedExpression) -> TypedExpression:
    if unit.sql in _MONTHS_OF_UNIT:
        return _months_between(unit.sql, start, end)
    if unit.sql not in _SECONDS_OF_UNIT:
        units = ", ".join((*_SECONDS_OF_UNIT, *_MONTHS_OF_UNIT))
        raise UntranslatableError(f"TIMESTAMPDIFF({unit.sql}, ...) is not supported; use {units}")
    if unit.sql in ("DAY", "WEEK") and value_family(start) == value_family(end) == "date":
        days = f"datediff({end.sql}, {start.sql})"
        return TypedExpression(days if unit.sql == "DAY" else _to_weeks(f"(CAST({days} AS BIGINT) * 86400)"), INT)
    for value in (start, end):
        check_argument_type("TIMESTAMPDIFF", value, *TIMESTAMPS)
    if start.type is not None and end.type is not None and start.type.name != end.type.name:
        raise UntranslatableError("TIMESTAMP_LTZ only supports diff between the same type; CAST one of them")
    operands = [
        timestamp_format.truncate_fraction(v.sql, 3) if v.type is not None and v.type.precision > 3 else v.sql
        for v in (end, start)
    ]
    seconds = f"CAST(CAST(({operands[0]} - {operands[1]}) AS INTERVAL SECOND) AS BIGINT)"
    if "timestamp_ltz" in (value_family(start), value_family(end)):  # Spark subtracts local times
        seconds = f"((unix_micros({operands[0]}) - unix_micros({operands[1]})) div 1000000)"
    if unit.sql == "WEEK":
        return TypedExpression(_to_weeks(seconds), INT)
    return TypedExpression(wrap_integer(f"({seconds} div {_SECONDS_OF_UNIT[unit.sql]})", INT), INT)


def _to_weeks(seconds: str) -> str:
    """Return SQL for the weeks of a BIGINT of seconds, which overflow an INT after 68 years in Flink."""
    return f"CAST({wrap_integer(seconds, INT)} div {_SECONDS_OF_UNIT['WEEK']} AS INT)"


_INTERVAL_OF_UNIT = {
    "SECOND": "make_dt_interval(0, 0, 0, {0})",
    "MINUTE": "make_dt_interval(0, 0, {0}, 0)",
    "HOUR": "make_dt_interval(0, {0}, 0, 0)",
    "DAY": "make_dt_interval({0}, 0, 0, 0)",
    "WEEK": "make_dt_interval({0} * 7, 0, 0, 0)",
    "MONTH": "make_ym_interval(0, {0})",
    "QUARTER": "make_ym_interval(0, {0} * 3)",
    "YEAR": "make_ym_interval({0}, 0)",
}


_DATE_SHIFTS = {
    "DAY": "date_add({0}, {1})",
    "WEEK": "date_add({0}, {1} * 7)",
    "MONTH": "add_months({0}, {1})",
    "QUARTER": "add_months({0}, {1} * 3)",
    "YEAR": "add_months({0}, {1} * 12)",
}


@checked("TIMESTAMPADD", "", "", "")
def _timestampadd(unit: TypedExpression, number: TypedExpression, value: TypedExpression) -> TypedExpression:
    if unit.sql not in _INTERVAL_OF_UNIT:
        raise UntranslatableError(f"TIMESTAMPADD({unit.sql}, ...) is not supported; use {', '.join(_INTERVAL_OF_UNIT)}")
    check_argument_type("TIMESTAMPADD", number, "integer")
    if number.type is not None and number.type.name == "BIGINT":
        raise UntranslatableError("TIMESTAMPADD requires an INT, but got BIGINT; CAST the number")
    if value_family(value) == "date" and unit.sql in _DATE_SHIFTS:
        return TypedExpression(_DATE_SHIFTS[unit.sql].format(value.sql, coerce(number, INT)), value.type)
    if value_family(value) == "timestamp_ltz" and unit.sql in _SECONDS_OF_UNIT:  # a day has 24 hours in Flink
        micros = f"CAST({coerce(number, INT)} AS BIGINT) * {_SECONDS_OF_UNIT[unit.sql]}000000"
        return TypedExpression(f"timestamp_micros(unix_micros({value.sql}) + {micros})", value.type)
    check_argument_type("TIMESTAMPADD", value, "timestamp")
    if value.type is None:
        raise UntranslatableError(f"TIMESTAMPADD requires a timestamp, but got {describe_type(value.type)}")
    return TypedExpression(f"({value.sql} + {_INTERVAL_OF_UNIT[unit.sql].format(coerce(number, INT))})", value.type)


FUNCTIONS: Final[dict[str, Function]] = {
    "PROCTIME": _current("PROCTIME", "current_timestamp()", _LTZ3),
    "CURRENT_TIMESTAMP": _current("CURRENT_TIMESTAMP", "current_timestamp()", _LTZ3),
    "NOW": _current("NOW", "current_timestamp()", _LTZ3),
    "LOCALTIMESTAMP": _current("LOCALTIMESTAMP", to_local("current_timestamp()"), FlinkType("TIMESTAMP", (3,))),
    "CURRENT_DATE": _current("CURRENT_DATE", f"CAST({to_local('current_timestamp()')} AS DATE)", FlinkType("DATE")),
    "EXTRACT": checked("EXTRACT", "", "")(lambda unit, value: _translate_extract(unit.sql, value)),
    **{name: _extract_function(name) for name in ("YEAR", "QUARTER", "MONTH", "WEEK", *_EXTRACT_UNITS, *_TIME_PARTS)},
    "DATE_FORMAT": _date_format,
    **date_texts.FUNCTIONS,
    "TO_TIMESTAMP": _to_timestamp,
    "TO_TIMESTAMP_LTZ": _to_timestamp_ltz,
    "FROM_UNIXTIME": _from_unixtime,
    "TIMESTAMPADD": _timestampadd,
    "TIMESTAMPDIFF": _timestampdiff,
}
