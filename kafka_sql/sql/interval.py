"""Interval literals of days down to seconds: their text for Spark, and their length."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from kafka_sql.errors import UnsupportedSqlError

_UNITS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
_NAMES = list(_UNITS)
_SECONDS = r"(\d+(?:\.\d{1,6})?)"
DAY = _UNITS["DAY"]


@dataclass(frozen=True)
class Interval:
    """An interval; ``sql`` is Spark's literal without the word INTERVAL (``'5' SECOND``)."""

    sql: str
    microseconds: int


def interval(node: exp.Interval, what: str) -> Interval:
    """The interval of a literal such as ``INTERVAL '5' SECOND`` or ``INTERVAL '1 10:30' DAY TO MINUTE``.

    Args:
        what: where it stands, for errors.

    Raises:
        UnsupportedSqlError: months or years, whose length is not fixed; or a text that the units do not fit.
    """
    text, unit = node.name, node.args["unit"].name
    first, _, last = unit.partition(" TO ")
    last = last or first
    if first not in _UNITS or last not in _UNITS or _NAMES.index(last) < _NAMES.index(first):
        raise UnsupportedSqlError(
            f"{what}: INTERVAL '{text}' {unit}: only DAY, HOUR, MINUTE, SECOND and ranges of them such as "
            "DAY TO SECOND have a fixed length. Write months and years in days."
        )
    names = _NAMES[_NAMES.index(first) : _NAMES.index(last) + 1]
    match = re.fullmatch(r"\s*(-?)" + _pattern(names) + r"\s*", text)
    if match is None:
        raise UnsupportedSqlError(f"{what}: INTERVAL '{text}' {unit}: the text is no interval of that unit.")
    length = sum(_microseconds(value, name) for value, name in zip(match.groups()[1:], names, strict=True))
    return Interval(f"'{text.strip()}' {unit}", -length if match[1] else length)


def _pattern(names: list[str]) -> str:
    parts = [_SECONDS if name == "SECOND" else r"(\d+)" for name in names]
    if names[0] == "DAY" and len(parts) > 1:
        return parts[0] + r"\s+" + ":".join(parts[1:])
    return ":".join(parts)


def _microseconds(value: str, name: str) -> int:
    whole, _, fraction = value.partition(".")
    return int(whole) * _UNITS[name] + int(fraction.ljust(6, "0") if fraction else "0")
