"""Translate functions that parse dates and times leniently in Flink: UNIX_TIMESTAMP and TO_DATE."""

from __future__ import annotations

from typing import Final

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.binding import bind, raise_error_sql
from kafka_sql.sql.expressions.functions.signature import (
    Function,
    checked,
    require_string_literal,
)
from kafka_sql.sql.expressions.session_zone import to_instant, to_local
from kafka_sql.sql.expressions.timestamp_format import parse_timestamp_with_pattern, truncate_fraction
from kafka_sql.sql.expressions.typed import BIGINT, DATE, TypedExpression

_DEFAULT_PATTERN: Final = "yyyy-MM-dd HH:mm:ss"
_DATE: Final = r"^(?: *([0-9]{4}-[0-9]{1,2}-[0-9]{1,2}) *|([0-9]{4}-[0-9]{1,2}-[0-9]{1,2}) .*)$"
_INCOMPLETE_DATE: Final = r"^ *[0-9]+(?:-[0-9 ]*){0,2}(?: .*)?$"
_INVALID: Final = "(-9223372036854775807L - 1L)"  # Flink's UNIX_TIMESTAMP of text that is no timestamp
_GREGORIAN: Final = "DATE '1582-10-15'"


def parse_prefix(sql: str, pattern: str = _DEFAULT_PATTERN) -> str:
    """Return the TIMESTAMP_NTZ at the start of a string, whatever follows; NULL for a text without digits."""
    return parse_timestamp_with_pattern(sql, pattern, ignores_rest=True)


@checked("UNIX_TIMESTAMP", "string", "", required=0)
def _unix_timestamp(*arguments: TypedExpression) -> TypedExpression:
    if not arguments:
        return TypedExpression("unix_timestamp()", BIGINT)
    pattern = _DEFAULT_PATTERN
    if len(arguments) > 1:
        pattern = require_string_literal("UNIX_TIMESTAMP", arguments[1], "pattern")

    def seconds(x: str) -> str:
        error = raise_error_sql("UNIX_TIMESTAMP of a time before 1900, which depends on historic time zones", x)

        def choose(first: str) -> str:  # of the two times with this wall-clock time when clocks are set back
            later = [
                f"WHEN {to_local(f'timestamp_seconds({first} + {n})')} = {truncate_fraction(x, 0)} THEN {first} + {n}"
                for n in (3600, 1800)
            ]
            return f"CASE {' '.join(later)} ELSE {first} END"

        value = bind(f"unix_seconds({to_instant(x)})", choose)
        return f"if({x} < TIMESTAMP_NTZ '1900-01-01 00:00:00', {error}, {value})"

    def body(s: str) -> str:
        value = bind(parse_prefix(s, pattern), seconds)
        return f"CASE WHEN {s} IS NULL THEN NULL WHEN NOT {s} RLIKE '[0-9]|[^ -~]' THEN {_INVALID} ELSE {value} END"

    return TypedExpression(bind(arguments[0].sql, body), BIGINT)


@checked("TO_DATE", "string", "", required=1)
def _to_date(text: TypedExpression, *pattern: TypedExpression) -> TypedExpression:
    if pattern:
        return _to_date_with_pattern(text.sql, require_string_literal("TO_DATE", pattern[0], "pattern"))
    regex = string_constant(_DATE)

    def body(x: str) -> str:
        error = raise_error_sql("TO_DATE of an incomplete date, which Flink would complete", x)
        date = f"try_cast(regexp_replace({x}, {regex}, '$1$2') AS DATE)"
        return (
            f"CASE WHEN {x} RLIKE {regex} THEN {date} "
            f"WHEN {x} RLIKE {string_constant(_INCOMPLETE_DATE)} THEN {error} END"
        )

    return TypedExpression(bind(text.sql, body), DATE)


def _to_date_with_pattern(sql: str, pattern: str) -> TypedExpression:
    invalid = raise_error_sql(
        "TO_DATE of a text that does not match the pattern, for which Flink returns an arbitrary day"
    )

    def check(date: str) -> str:
        error = raise_error_sql("TO_DATE before 1582-10-15, for which Flink returns a different day", date)
        return f"if({date} < {_GREGORIAN}, {error}, {date})"

    def body(s: str) -> str:
        parsed = parse_timestamp_with_pattern(s, pattern, True, invalid)
        return f"if({s} IS NULL, NULL, {bind(f'CAST({parsed} AS DATE)', check)})"

    return TypedExpression(bind(sql, body), DATE)


FUNCTIONS: Final[dict[str, Function]] = {"UNIX_TIMESTAMP": _unix_timestamp, "TO_DATE": _to_date}
