"""Translate date and timestamp functions; those that need a time zone use the session time zone."""

from __future__ import annotations

from functools import partial
from typing import Final

from kafka_sql.sql.expressions.arithmetic import coerce
from kafka_sql.sql.expressions.functions.signature import Function, call_java, check_argument_type, checked
from kafka_sql.sql.expressions.timestamps import SESSION_ZONE, UTC, local_time, reject_before_1970, to_local
from kafka_sql.sql.expressions.typed import (
    BIGINT,
    INT,
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
    "MILLISECOND": "floor(extract(SECOND FROM {0}) % 1 * 1000)",
    "EPOCH": "CAST(({0} - TIMESTAMP_NTZ '1970-01-01 00:00:00') AS INTERVAL SECOND)",
    "DECADE": "year({0}) div 10",
    "CENTURY": "(year({0}) + 99) div 100",
    "MILLENNIUM": "(year({0}) + 999) div 1000",
}
_EXTRACT_UNITS = {"DAYOFMONTH": "DAY", "DAYOFYEAR": "DOY", "DAYOFWEEK": "DOW"}


def _current(name: str, sql: str, type: FlinkType) -> Function:
    return checked(name)(lambda: TypedExpression(sql, type))


def _translate_extract(unit: str, value: TypedExpression) -> TypedExpression:
    name = f"EXTRACT({unit} FROM ...)"
    if unit in _DATE_PARTS:
        families: tuple[str, ...] = (*TIMESTAMPS, "date")
    elif unit in _TIME_PARTS:
        families = TIMESTAMPS
    elif unit in _TIMESTAMP_PARTS:
        families = ("timestamp",)
    else:
        units = ", ".join([*_DATE_PARTS, *_TIME_PARTS, *_TIMESTAMP_PARTS])
        raise UntranslatableError(f"{name} is not supported; use {units}")
    check_argument_type(name, value, *families)
    time = value.sql if value_family(value) == "date" else reject_before_1970(local_time(value), name)
    part = _TIMESTAMP_PARTS.get(unit, f"extract({_DATE_PARTS.get(unit, unit)} FROM {{0}})").format(time)
    return TypedExpression(f"CAST({f'floor({part})' if unit == 'SECOND' else part} AS BIGINT)", BIGINT)


def _extract_function(name: str) -> Function:
    return checked(name, "")(partial(_translate_extract, _EXTRACT_UNITS.get(name, name)))


_YEARS: Final = ("DECADE", "CENTURY", "MILLENNIUM")
_DATE_UNITS: Final = (*_YEARS, "YEAR", "QUARTER", "MONTH", "WEEK", "DAY")


def translate_floor(value: TypedExpression, unit: str) -> TypedExpression:
    """Translate ``FLOOR(timestamp TO unit)``."""
    name = f"FLOOR(... TO {unit})"
    if unit not in (*_DATE_UNITS, *_TIME_PARTS):
        raise UntranslatableError(f"{name} is not supported; use {', '.join((*_DATE_UNITS, *_TIME_PARTS))}")
    check_argument_type(name, value, *TIMESTAMPS, "date")
    if value_family(value) == "timestamp_ltz":
        if unit in _DATE_UNITS:
            raise UntranslatableError(
                f"{name} of TIMESTAMP_LTZ is off by an hour in Flink across a DST change; CAST it to TIMESTAMP(3) first"
            )
        return TypedExpression(call_java("floor_instant_to", value.sql, f"'{unit}'", SESSION_ZONE), value.type)
    if value_family(value) == "date" and unit not in _DATE_UNITS:
        raise UntranslatableError(f"{name} of a DATE is not supported")
    return _round("FLOOR", value, unit, accepts_early=value_family(value) == "date" and unit != "WEEK")


def translate_ceil(value: TypedExpression, unit: str) -> TypedExpression:
    """Translate ``CEIL(timestamp TO unit)``."""
    is_date = value_family(value) == "date"
    units = (*_YEARS, "YEAR", "QUARTER", "MONTH") if is_date else (*_DATE_UNITS, *_TIME_PARTS)
    if unit not in units:
        raise UntranslatableError(
            f"CEIL(... TO {unit}){' of a DATE' if is_date else ''} is not supported; use {', '.join(units)}"
        )
    check_argument_type(f"CEIL(... TO {unit})", value, "timestamp", "date")
    if value.type is not None and not is_date and value.type.precision > 3:
        raise UntranslatableError("CEIL ignores fractions of a millisecond in Flink; CAST to TIMESTAMP(3) first")
    return _round("CEIL", value, unit)


def _round(name: str, value: TypedExpression, unit: str, accepts_early: bool = False) -> TypedExpression:
    """Round a TIMESTAMP or DATE."""
    is_date = value_family(value) == "date"
    time = f"CAST({value.sql} AS TIMESTAMP_NTZ)" if is_date else value.sql
    time = time if accepts_early else reject_before_1970(time, name, "date" if is_date else "timestamp")
    rounded = call_java(f"{name}_to", time, f"'{unit}'")
    return TypedExpression(f"CAST({rounded} AS DATE)" if is_date else rounded, value.type)


_SECONDS_OF_UNIT = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 604800}
_MONTHS: Final = ("MONTH", "QUARTER", "YEAR")


@checked("TIMESTAMPDIFF", "", "", "")
def _timestampdiff(unit: TypedExpression, start: TypedExpression, end: TypedExpression) -> TypedExpression:
    name, values = unit.sql, (start, end)
    is_date = value_family(start) == value_family(end) == "date"
    if name in _MONTHS:
        for value in values:
            check_argument_type(f"TIMESTAMPDIFF({name}, ...)", value, "timestamp", "date")
        if value_family(start) != value_family(end):
            raise UntranslatableError(
                f"TIMESTAMPDIFF({name}, ...) requires two values of the same type; CAST one of them"
            )
    elif name not in _SECONDS_OF_UNIT:
        units = ", ".join((*_SECONDS_OF_UNIT, *_MONTHS))
        raise UntranslatableError(f"TIMESTAMPDIFF({name}, ...) is not supported; use {units}")
    elif not (is_date and name in ("DAY", "WEEK")):
        for value in values:
            check_argument_type("TIMESTAMPDIFF", value, *TIMESTAMPS)
        if start.type is not None and end.type is not None and start.type.name != end.type.name:
            raise UntranslatableError("TIMESTAMP_LTZ only supports diff between the same type; CAST one of them")
    times = (
        to_local(v.sql, UTC) if value_family(v) == "timestamp_ltz" else f"CAST({v.sql} AS TIMESTAMP_NTZ)"
        for v in values
    )
    return TypedExpression(call_java("timestampdiff", f"'{name}'", *times), INT)


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
    "TIMESTAMPADD": _timestampadd,
    "TIMESTAMPDIFF": _timestampdiff,
}
