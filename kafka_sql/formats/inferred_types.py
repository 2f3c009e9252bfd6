"""Choose the type of a column from values, one that holds each of them exactly, and limit the size of types."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from decimal import Decimal, DecimalException
from typing import Final

from kafka_sql.errors import SchemaError

STRING: Final = "STRING"
MAX_SIZE: Final = 300_000  # characters; about 10,000 fields

_INTEGER: Final = re.compile(r"-?\d{1,19}", re.ASCII)
_MAX_PATH: Final = 100  # characters that errors show
_SMALL_INTEGER: Final = "INT53"  # a DOUBLE holds it exactly, too


def size_limit() -> Callable[[str, str], None]:
    """Return a function to call with the name of each column and field, and its path, before its type is made.

    A schema can use a named type many times, and columns repeat it: a schema of a few kilobytes could have columns of
    gigabytes. The function raises SchemaError if the columns have more than MAX_SIZE characters.
    """
    size = 0

    def add(name: str, path: str) -> None:
        nonlocal size
        size += len(name) + len("`` STRING NOT NULL, ")
        if size > MAX_SIZE:
            shown = path if len(path) <= _MAX_PATH else path[: _MAX_PATH - 3] + "..."
            raise SchemaError(
                f"The types of the schema's columns have more than {MAX_SIZE:,} characters up to field '{shown}'. "
                "A type that is used several times counts each time. Declare the table's columns.",
                column=shown,
            )

    return add


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
