"""Translate functions with a time zone as an argument: CONVERT_TZ, and TO_TIMESTAMP_LTZ of a string."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kafka_sql.sql.expressions import timestamp_format
from kafka_sql.sql.expressions.binding import bind, raise_error_sql
from kafka_sql.sql.expressions.functions.date_texts import parse_prefix
from kafka_sql.sql.expressions.functions.signature import (
    Function,
    checked,
    require_string_literal,
)
from kafka_sql.sql.expressions.session_zone import to_utc_instant
from kafka_sql.sql.expressions.typed import STRING, TypedExpression, UntranslatableError
from kafka_sql.sql.grammar.types import FlinkType

# names that java.util.TimeZone and java.time.ZoneId have in common; for others, TimeZone silently uses GMT
_ZONE: Final = re.compile(r"UTC|GMT|GMT[+-]\d\d?(:[0-5]\d)?|[A-Z][A-Za-z]+/[A-Z][\w/+-]*")
# their times when clocks are set back, or from 2037 on, are others in java.util.TimeZone
_OTHER_RULES: Final = ("Africa/Casablanca", "Africa/El_Aaiun", "Africa/Windhoek", "Asia/Gaza", "Asia/Hebron")
_PATTERN: Final = "yyyy-MM-dd HH:mm:ss"


def _read_zone(name: str, argument: TypedExpression) -> str:
    zone = require_string_literal(name, argument, "time zone")
    if not _ZONE.fullmatch(zone):
        raise UntranslatableError(
            f"{name}: the time zone '{zone}' is not supported; use UTC, a name such as 'America/New_York', or an "
            "offset such as 'GMT+02:00'"
        )
    return zone


def _to_utc(local: str, zone: str) -> str:
    """Return SQL for the UTC time of a local time. If clocks are set back, it is the earlier one of two."""
    return f"convert_timezone('{zone}', 'UTC', {local})"


def _to_local(utc: str, zone: str) -> str:
    return f"convert_timezone('UTC', '{zone}', {utc})"


def _to_later_utc(local: str, zone: str) -> str:
    """Return SQL for the UTC time of a local time. If clocks are set back, it is the later one of two."""

    def choose(earlier: str) -> str:
        after = f"({earlier} + INTERVAL '1' DAY)"  # of the change, if there is one
        later = f"({local} - ({_to_local(after, zone)} - {after}))"
        return bind(later, lambda x: f"if({x} > {earlier} AND {_to_local(x, zone)} = {local}, {x}, {earlier})")

    return bind(_to_utc(local, zone), choose)


@checked("CONVERT_TZ", "string", "", "")
def _convert_tz(time: TypedExpression, *zones: TypedExpression) -> TypedExpression:
    source, target = (_read_zone("CONVERT_TZ", zone) for zone in zones)
    for zone in (source, target):
        if zone in _OTHER_RULES:
            raise UntranslatableError(f"CONVERT_TZ with {zone} is not supported: Spark has other times for this zone")
    early = "CONVERT_TZ of a time before 1900-01-02, which depends on historic time zones"
    late = "CONVERT_TZ to a time after the year 9999"

    def convert(x: str) -> str:
        result = bind(_to_local(_to_later_utc(x, source), target), format_time)
        return f"if({x} < TIMESTAMP_NTZ '1900-01-02 00:00:00', {raise_error_sql(early, x)}, {result})"

    def format_time(y: str) -> str:
        text = timestamp_format.translate_date_format(y, _PATTERN)
        return f"if(year({y}) > 9999, {raise_error_sql(late, y)}, {text})"

    return TypedExpression(bind(parse_prefix(time.sql, _PATTERN), convert), STRING)


def to_timestamp_ltz_of_text(arguments: Sequence[TypedExpression]) -> TypedExpression:
    """Translate ``TO_TIMESTAMP_LTZ(text [, pattern [, time zone]])``. Without a time zone, the text is in UTC."""
    sql = arguments[0].sql
    if len(arguments) == 1:
        error = "DateTimeParseException: TO_TIMESTAMP_LTZ of a text that is not a timestamp"
        local = timestamp_format.parse_timestamp(sql, 3, error)
    else:
        pattern = require_string_literal("TO_TIMESTAMP_LTZ", arguments[1], "pattern")
        local = timestamp_format.parse_timestamp_with_pattern(sql, pattern)
    if len(arguments) == 3:
        local = _to_utc(local, _read_zone("TO_TIMESTAMP_LTZ", arguments[2]))
    return TypedExpression(to_utc_instant(local), FlinkType("TIMESTAMP_LTZ", (3,)))


FUNCTIONS: Final[dict[str, Function]] = {"CONVERT_TZ": _convert_tz}
