"""Translate functions of dates and times as text; those that need a time zone use the session's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.binding import bind
from kafka_sql.sql.expressions.functions.signature import (
    Function,
    call_java,
    check_argument_count,
    check_argument_type,
    checked,
    require_string_literal,
)
from kafka_sql.sql.expressions.timestamps import SESSION_ZONE, UTC, local_time, parse_timestamp, to_instant
from kafka_sql.sql.expressions.typed import (
    BIGINT,
    DATE,
    STRING,
    TIMESTAMPS,
    TypedExpression,
    UntranslatableError,
    value_family,
)
from kafka_sql.sql.grammar.types import FlinkType

_DEFAULT: Final = TypedExpression("", STRING, "yyyy-MM-dd HH:mm:ss")
_FORMATTED: Final = re.compile("yyyy|uuuu|yy|MM?|dd?|HH?|mm?|ss?|S{1,6}")
_PARSED: Final = ("yyyy", "MM", "dd", "HH", "mm", "ss", "SSS")  # from the largest unit to the smallest
_TIMESTAMP3: Final = FlinkType("TIMESTAMP", (3,))
_LTZ3: Final = FlinkType("TIMESTAMP_LTZ", (3,))
# names that java.util.TimeZone and java.time.ZoneId have in common; for others, TimeZone silently uses GMT
_ZONE: Final = re.compile(r"UTC|GMT|GMT[+-]\d\d?(:[0-5]\d)?|[A-Z][A-Za-z]+/[A-Z][\w/+-]*")
# their times when clocks are set back, or from 2037 on, are others in java.util.TimeZone
_OTHER_RULES: Final = ("Africa/Casablanca", "Africa/El_Aaiun", "Africa/Windhoek", "Asia/Gaza", "Asia/Hebron")


def _parse_pattern(name: str, argument: TypedExpression) -> tuple[str, list[str], str]:
    """Return a java.time pattern, its groups of letters, and its SQL with all other text in quotes."""
    pattern, letters, quoted = require_string_literal(name, argument, "pattern"), [], ""
    if pattern.count("'") % 2:
        raise UntranslatableError(f"unclosed quote in the pattern '{pattern}'")
    for match in re.finditer(r"((?:'(?:[^']|'')*'|[^A-Za-z'])+)|([A-Za-z])\2*", pattern):
        if match[2]:
            letters.append(match[0])
            quoted += match[0]
        else:  # in one pair of quotes, because two of them would be read as an escaped quote where they meet
            text = re.sub(r"'((?:[^']|'')*)'", lambda part: part[1] or "''", match[0])
            quoted += f"'{text}'"
    return pattern, letters, string_constant(quoted)


def _format_pattern(name: str, argument: TypedExpression = _DEFAULT) -> str:
    """Return the SQL of a pattern to write a timestamp."""
    pattern, groups, sql = _parse_pattern(name, argument)
    for letters in groups:
        if not _FORMATTED.fullmatch(letters):
            raise UntranslatableError(
                f"'{letters}' in the pattern '{pattern}' is not supported; use yyyy yy MM M dd d HH H mm m ss s, S "
                "to SSSSSS, and text in single quotes"
            )
    return sql


def _read_pattern(name: str, argument: TypedExpression = _DEFAULT) -> str:
    """Return the SQL of a pattern to read a timestamp."""
    pattern, groups, sql = _parse_pattern(name, argument)
    for index, letters in enumerate(groups):
        if letters not in _PARSED or letters in groups[:index]:
            raise UntranslatableError(
                f"'{letters}' in the pattern '{pattern}' is not supported; use yyyy MM dd HH mm ss SSS"
            )
    if len(groups) < 3 or set(groups) != set(_PARSED[: len(groups)]):
        raise UntranslatableError(
            f"the pattern '{pattern}' needs yyyy, MM and dd, and every unit above its smallest one"
        )
    return sql


def _zone(name: str, argument: TypedExpression) -> str:
    """Return the SQL of a time zone."""
    zone = require_string_literal(name, argument, "time zone")
    if not _ZONE.fullmatch(zone):
        raise UntranslatableError(
            f"{name}: the time zone '{zone}' is not supported; use UTC, a name such as 'America/New_York', or an "
            "offset such as 'GMT+02:00'"
        )
    return string_constant(zone)


def _parse_with_pattern(sql: str, pattern: str, ignores_rest: bool = False) -> str:
    """Return SQL that reads a TIMESTAMP as Flink does, or fails if Flink would read a string with digits leniently.

    Args:
        ignores_rest: whether text after the timestamp is ignored, unless it starts with a digit.
    """
    return call_java("to_timestamp_with_pattern", sql, pattern, str(ignores_rest))


@checked("DATE_FORMAT", "|".join((*TIMESTAMPS, "string")), "")
def _date_format(value: TypedExpression, pattern: TypedExpression) -> TypedExpression:
    written = _format_pattern("DATE_FORMAT", pattern)
    is_text = value_family(value) == "string"
    local = _parse_with_pattern(value.sql, _read_pattern("DATE_FORMAT"), True) if is_text else local_time(value)
    return TypedExpression(call_java("date_format", local, written), STRING)


@checked("FROM_UNIXTIME", "integer", "", required=1)
def _from_unixtime(value: TypedExpression, *pattern: TypedExpression) -> TypedExpression:
    sql = call_java("from_unixtime", value.sql, _format_pattern("FROM_UNIXTIME", *pattern), SESSION_ZONE)
    return TypedExpression(sql, STRING)


@checked("UNIX_TIMESTAMP", "string", "", required=0)
def _unix_timestamp(*arguments: TypedExpression) -> TypedExpression:
    if not arguments:
        return TypedExpression("unix_timestamp()", BIGINT)
    text, *pattern = arguments
    sql = call_java("unix_timestamp", text.sql, _read_pattern("UNIX_TIMESTAMP", *pattern), SESSION_ZONE)
    return TypedExpression(sql, BIGINT)


@checked("TO_DATE", "string", "", required=1)
def _to_date(text: TypedExpression, *pattern: TypedExpression) -> TypedExpression:
    return TypedExpression(
        call_java("to_date", text.sql, _read_pattern("TO_DATE", *pattern) if pattern else "NULL"), DATE
    )


@checked("TO_TIMESTAMP", "string", "", required=1)
def _to_timestamp(text: TypedExpression, *pattern: TypedExpression) -> TypedExpression:
    if pattern:
        return TypedExpression(_parse_with_pattern(text.sql, _read_pattern("TO_TIMESTAMP", *pattern)), _TIMESTAMP3)
    return TypedExpression(parse_timestamp(text.sql, 3, None), _TIMESTAMP3)


# Flink's years 1 to 9999, by precision: 0 for seconds, 3 for milliseconds.
_EPOCH_RANGE: Final = {"0": "-62135596800 AND 253402300799", "3": "-62135596800000 AND 253402300799999"}


def _to_timestamp_ltz(arguments: Sequence[TypedExpression]) -> TypedExpression:
    name = "TO_TIMESTAMP_LTZ"
    check_argument_count(name, arguments, 1, 3)
    if value_family(arguments[0]) == "string":
        return TypedExpression(_instant_of_text(name, *arguments), _LTZ3)
    check_argument_count(f"{name} of a number", arguments, 1, 2)
    value, precision = arguments[0], arguments[1].sql if len(arguments) > 1 else "3"
    check_argument_type(name, value, "integer", "string")
    if precision not in _EPOCH_RANGE:
        raise UntranslatableError(f"{name} requires 0 (seconds) or 3 (milliseconds) as its second argument")
    function = {"0": "timestamp_seconds", "3": "timestamp_millis"}[precision]
    sql = f"{function}({value.sql})"
    if value.type is None or value.type.name == "BIGINT":  # smaller integers are always in range
        sql = bind(value.sql, lambda x: f"if({x} BETWEEN {_EPOCH_RANGE[precision]}, {function}({x}), NULL)")
    return TypedExpression(sql, _LTZ3)


def _instant_of_text(
    name: str, text: TypedExpression, pattern: TypedExpression | None = None, zone: TypedExpression | None = None
) -> str:
    if pattern is None:
        error = f"DateTimeParseException: {name} of a text that is not a timestamp"
        return to_instant(parse_timestamp(text.sql, 3, error), UTC)
    local = _parse_with_pattern(text.sql, _read_pattern(name, pattern))
    return to_instant(local, UTC if zone is None else _zone(name, zone))


@checked("CONVERT_TZ", "string", "", "")
def _convert_tz(time: TypedExpression, *zones: TypedExpression) -> TypedExpression:
    names = [_zone("CONVERT_TZ", zone) for zone in zones]
    for zone in zones:
        if zone.literal in _OTHER_RULES:
            raise UntranslatableError(
                f"CONVERT_TZ with {zone.literal} is not supported: Spark has other times for this zone"
            )
    return TypedExpression(call_java("convert_tz", time.sql, *names), STRING)


FUNCTIONS: Final[dict[str, Function]] = {
    "DATE_FORMAT": _date_format,
    "FROM_UNIXTIME": _from_unixtime,
    "UNIX_TIMESTAMP": _unix_timestamp,
    "TO_DATE": _to_date,
    "TO_TIMESTAMP": _to_timestamp,
    "TO_TIMESTAMP_LTZ": _to_timestamp_ltz,
    "CONVERT_TZ": _convert_tz,
}
