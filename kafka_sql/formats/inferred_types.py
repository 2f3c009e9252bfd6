"""Choose the type of a column from values: one that holds each of them exactly."""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal, DecimalException
from typing import Final

STRING: Final = "STRING"

_INTEGER: Final = re.compile(r"-?\d{1,19}", re.ASCII)
_SMALL_INTEGER: Final = "INT53"  # a DOUBLE holds it exactly, too


def number_type(text: str) -> str:
    """Return the type of one JSON number, for ``common_type``; STRING if neither BIGINT nor DOUBLE holds it exactly."""
    if "." in text or "e" in text or "E" in text:
        return "DOUBLE" if _is_exact_double(text) else STRING
    number = int(text) if _INTEGER.fullmatch(text) else None
    if number is None or not -(1 << 63) <= number < 1 << 63:
        return STRING
    return _SMALL_INTEGER if abs(number) <= 1 << 53 else "BIGINT"


def common_type(types: Collection[str]) -> str:
    """Return the type that holds the values of all types; STRING if no other type does."""
    distinct = set(types)
    if distinct and distinct <= {_SMALL_INTEGER, "BIGINT"}:
        return "BIGINT"
    if distinct and distinct <= {_SMALL_INTEGER, "DOUBLE"}:
        return "DOUBLE"
    return distinct.pop() if len(distinct) == 1 else STRING


def _is_exact_double(text: str) -> bool:
    """Return whether a number equals the shortest decimal form of its DOUBLE, so that no digit is lost."""
    try:
        return Decimal(text) == Decimal(repr(float(text)))
    except DecimalException:  # the exponent is out of range
        return False
