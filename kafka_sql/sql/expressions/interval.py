"""Parse interval literals into their length and Spark's literal."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from kafka_sql.errors import UnsupportedSqlError

_UNITS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_UNIT_NAMES = list(_UNITS)
_SECOND_PATTERN = r"(\d+(?:\.\d{0,9})?)"
DAY = _UNITS["DAY"]


@dataclass(frozen=True)
class Interval:
    """An interval of ``months`` or of ``microseconds``; ``sql`` is Spark's literal without the word INTERVAL."""

    sql: str
    microseconds: int
    months: int = 0


def parse_fixed_interval(node: exp.Interval, context: str) -> Interval:
    """Parse a literal of fixed length such as ``INTERVAL '5' SECOND`` or ``INTERVAL '1 10' DAY TO HOUR``.

    Args:
        context: the clause that contains the literal, for error messages.

    Raises:
        UnsupportedSqlError: months or years, whose length is not fixed, or an invalid value.
    """
    result = parse_interval(node, context)
    if result.months:
        raise UnsupportedSqlError(
            f"{context}: INTERVAL '{node.name}' {node.args['unit'].name} has no fixed length. Use WEEK, DAY, HOUR, "
            "MINUTE, SECOND or a range of them such as DAY TO SECOND."
        )
    return result


def parse_interval(node: exp.Interval, context: str) -> Interval:
    """Parse any interval literal. As in Flink, seconds are truncated to three fractional digits.

    Raises:
        UnsupportedSqlError: an unknown unit, or an invalid value.
    """
    text, unit = node.name, node.args["unit"].name
    first, _, last = unit.partition(" TO ")
    if len(text) > 60:  # Spark's longest literal has 26 characters
        raise _invalid_value_error(f"{text[:20]}...", unit, context)
    if unit == "WEEK":
        return _parse_weeks(text, context)
    if first in _MONTHS:
        return _parse_months(text, unit, context)
    last = last or first
    if first not in _UNITS or last not in _UNITS or _UNIT_NAMES.index(last) < _UNIT_NAMES.index(first):
        raise UnsupportedSqlError(
            f"{context}: INTERVAL '{text}' {unit}: unsupported unit. Use YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, "
            "MINUTE, SECOND or a range of them such as DAY TO SECOND."
        )
    names = _UNIT_NAMES[_UNIT_NAMES.index(first) : _UNIT_NAMES.index(last) + 1]
    match = re.fullmatch(r"\s*([-+]?)" + _build_pattern(names) + r"\s*", text)
    parts = [] if match is None else list(zip(match.groups()[1:], names, strict=True))
    if match is None or any(float(value) >= _upper_limit(name) for value, name in parts[1:]):
        raise _invalid_value_error(text, unit, context)
    length = sum(_to_microseconds(value, name) for value, name in parts) // 1000 * 1000
    sign = "-" if match[1] == "-" else ""
    digits = re.sub(r"(\.\d{3})\d+$", r"\1", text.strip().lstrip("+"))
    return Interval(f"'{digits}' {unit}", -length if sign else length)


def sum_intervals(intervals: Iterable[Interval]) -> Interval:
    """Return the sum of intervals of fixed length, in seconds."""
    microseconds = sum(i.microseconds for i in intervals)
    seconds, remainder = divmod(abs(microseconds), _UNITS["SECOND"])
    sign, fraction = "-" if microseconds < 0 else "", f".{remainder // 1000:03}" if remainder else ""
    return Interval(f"'{sign}{seconds}{fraction}' SECOND", microseconds)


def _invalid_value_error(text: str, unit: str, context: str) -> UnsupportedSqlError:
    return UnsupportedSqlError(f"{context}: INTERVAL '{text}' {unit}: invalid value for this unit.")


def _parse_weeks(text: str, context: str) -> Interval:
    if not re.fullmatch(r"\s*[-+]?\d+\s*", text):
        raise _invalid_value_error(text, "WEEK", context)
    return Interval(f"'{7 * int(text)}' DAY", 7 * int(text) * DAY)


def _parse_months(text: str, unit: str, context: str) -> Interval:
    pattern = r"\s*([-+]?)(\d+)-(\d+)\s*" if unit == "YEAR TO MONTH" else r"\s*([-+]?)(\d+)\s*"
    match = re.fullmatch(pattern, text)
    if match is None or (unit not in _MONTHS and (unit != "YEAR TO MONTH" or int(match[3]) > 11)):
        raise _invalid_value_error(text, unit, context)
    months = int(match[2]) * 12 + int(match[3]) if unit == "YEAR TO MONTH" else int(match[2]) * _MONTHS[unit]
    months = -months if match[1] == "-" else months
    return Interval(f"'{months}' MONTH", 0, months)


def _upper_limit(name: str) -> int:
    return 24 if name == "HOUR" else 60


def _build_pattern(names: list[str]) -> str:
    parts = [_SECOND_PATTERN if name == "SECOND" else r"(\d+)" for name in names]
    if names[0] == "DAY" and len(parts) > 1:
        return parts[0] + r"\s+" + ":".join(parts[1:])
    return ":".join(parts)


def _to_microseconds(value: str, name: str) -> int:
    integer_part, _, fraction = value.partition(".")
    return int(integer_part) * _UNITS[name] + int(fraction[:6].ljust(6, "0") if fraction else "0")
