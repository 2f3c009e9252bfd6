"""Interval literals: their length, and their text for Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from kafka_sql.errors import UnsupportedSqlError

_UNITS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_NAMES = list(_UNITS)
_SECONDS = r"(\d+(?:\.\d{0,9})?)"
DAY = _UNITS["DAY"]


@dataclass(frozen=True)
class Interval:
    """An interval of ``months`` or else of ``microseconds``; ``sql`` is Spark's literal without the word INTERVAL."""

    sql: str
    microseconds: int
    months: int = 0


def interval(node: exp.Interval, what: str) -> Interval:
    """The interval of a literal of fixed length, such as ``INTERVAL '5' SECOND`` or ``INTERVAL '1 10' DAY TO HOUR``.

    Args:
        what: where it stands, for errors.

    Raises:
        UnsupportedSqlError: months or years, whose length is not fixed; or a text that the units do not fit.
    """
    result = span(node, what)
    if result.months:
        raise UnsupportedSqlError(
            f"{what}: INTERVAL '{node.name}' {node.args['unit'].name}: only WEEK, DAY, HOUR, MINUTE, SECOND and ranges "
            "of them such as DAY TO SECOND have a fixed length. Write months and years in days."
        )
    return result


def span(node: exp.Interval, what: str) -> Interval:
    """The interval of any literal; as in Flink, digits of a second behind the third are cut off.

    Raises:
        UnsupportedSqlError: no such unit, or a text that it does not fit.
    """
    text, unit = node.name, node.args["unit"].name
    first, _, last = unit.partition(" TO ")
    if len(text) > 60:  # Spark's longest has 26 characters
        raise _wrong(f"{text[:20]}...", unit, what)
    if unit == "WEEK":
        return _weeks(text, what)
    if first in _MONTHS:
        return _months(text, unit, what)
    last = last or first
    if first not in _UNITS or last not in _UNITS or _NAMES.index(last) < _NAMES.index(first):
        raise UnsupportedSqlError(
            f"{what}: INTERVAL '{text}' {unit}: only YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND and ranges "
            "of them such as DAY TO SECOND are units."
        )
    names = _NAMES[_NAMES.index(first) : _NAMES.index(last) + 1]
    match = re.fullmatch(r"\s*([-+]?)" + _pattern(names) + r"\s*", text)
    parts = [] if match is None else list(zip(match.groups()[1:], names, strict=True))
    if match is None or any(float(value) >= _most(name) for value, name in parts[1:]):
        raise _wrong(text, unit, what)
    length = sum(_microseconds(value, name) for value, name in parts) // 1000 * 1000
    sign = "-" if match[1] == "-" else ""
    shown = re.sub(r"(\.\d{3})\d+$", r"\1", text.strip().lstrip("+"))
    return Interval(f"'{shown}' {unit}", -length if sign else length)


def total(intervals: Iterable[Interval]) -> Interval:
    """Several intervals of fixed length as one, in seconds."""
    microseconds = sum(i.microseconds for i in intervals)
    seconds, rest = divmod(abs(microseconds), _UNITS["SECOND"])
    sign, fraction = "-" if microseconds < 0 else "", f".{rest // 1000:03}" if rest else ""
    return Interval(f"'{sign}{seconds}{fraction}' SECOND", microseconds)


def _wrong(text: str, unit: str, what: str) -> UnsupportedSqlError:
    return UnsupportedSqlError(f"{what}: INTERVAL '{text}' {unit}: the text is no interval of that unit.")


def _weeks(text: str, what: str) -> Interval:
    if not re.fullmatch(r"\s*[-+]?\d+\s*", text):
        raise _wrong(text, "WEEK", what)
    return Interval(f"'{7 * int(text)}' DAY", 7 * int(text) * DAY)


def _months(text: str, unit: str, what: str) -> Interval:
    pattern = r"\s*([-+]?)(\d+)-(\d+)\s*" if unit == "YEAR TO MONTH" else r"\s*([-+]?)(\d+)\s*"
    match = re.fullmatch(pattern, text)
    if match is None or (unit not in _MONTHS and (unit != "YEAR TO MONTH" or int(match[3]) > 11)):
        raise _wrong(text, unit, what)
    months = int(match[2]) * 12 + int(match[3]) if unit == "YEAR TO MONTH" else int(match[2]) * _MONTHS[unit]
    months = -months if match[1] == "-" else months
    return Interval(f"'{months}' MONTH", 0, months)


def _most(name: str) -> int:
    return 24 if name == "HOUR" else 60


def _pattern(names: list[str]) -> str:
    parts = [_SECONDS if name == "SECOND" else r"(\d+)" for name in names]
    if names[0] == "DAY" and len(parts) > 1:
        return parts[0] + r"\s+" + ":".join(parts[1:])
    return ":".join(parts)


def _microseconds(value: str, name: str) -> int:
    whole, _, fraction = value.partition(".")
    return int(whole) * _UNITS[name] + int(fraction[:6].ljust(6, "0") if fraction else "0")
