"""Check and normalize the numbers and booleans among the properties of Java's clients, as these clients do.

librdkafka would take ``1.5`` and ``1 min`` for 1, and ``010`` for 8.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

from kafka_sql.errors import InvalidOptionError
from kafka_sql.options.secrets import mask_user_info
from kafka_sql.suggestions import did_you_mean

INT_MAX: Final = (1 << 31) - 1
LONG_MAX: Final = (1 << 63) - 1
BOOLEAN: Final = {"true": "true", "t": "true", "1": "true", "false": "false", "f": "false", "0": "false"}
_INTEGER: Final = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?\d{1,19}(?:\.\d{1,19})?", re.ASCII)
_UNITS: Final = {"ms": "milliseconds", "seconds": "seconds", "bytes": "bytes", "memory": "bytes", "size": "bytes"}


class Integers(NamedTuple):
    """The integers of a property.

    Attributes:
        librdkafka: the smallest and the largest one of librdkafka, if Java's clients accept others.
    """

    smallest: int
    largest: int = INT_MAX
    librdkafka: tuple[int, int] | None = None


class Decimals(NamedTuple):
    """The range of a property with decimal fractions."""

    smallest: float
    largest: float


Values: TypeAlias = Integers | Decimals | dict[str, str] | None
"""The integers or decimals of a property, or the normalized value by each accepted one, such as BOOLEAN."""


def normalize_number(key: str, values: Values, value: str) -> str:
    """Return a property's value as librdkafka reads it: without blanks, leading zeros and a plus sign.

    Args:
        values: of the property. The value of a property that is no number is returned unchanged.

    Raises:
        InvalidOptionError: it is no number, or out of range. Names the value and what is expected.
    """
    text = value.strip()
    if isinstance(values, Integers):
        if not _INTEGER.fullmatch(text) or not values.smallest <= int(text) <= values.largest:
            raise invalid_value(key, value, f"an integer {_range(values)}{_unit(key)}")
        return str(int(text))
    if isinstance(values, Decimals) and not (
        _DECIMAL.fullmatch(text) and values.smallest <= float(text) <= values.largest
    ):
        raise invalid_value(key, value, f"a number {_range(values)}")
    return value


def invalid_value(key: str, value: str | None, expected: str, known: Iterable[str] = ()) -> InvalidOptionError:
    """Return the error for the value of a property.

    Args:
        value: None if it may be a secret.
        expected: empty if it is not known.
        known: values, of which the error suggests the most similar one.
    """
    shown = suggestion = ""
    if value is not None and mask_user_info(value) == value:
        shown, suggestion = f" '{value}'", did_you_mean(value, known)
    option, rule = f"properties.{key}", f": expected {expected}" if expected else ""
    return InvalidOptionError(f"Invalid value{shown} for option '{option}'{rule}.{suggestion}", option=option)


def _range(values: Integers | Decimals) -> str:
    if values.largest in (INT_MAX, LONG_MAX):
        return f"of at least {values.smallest}"
    return f"from {values.smallest} to {values.largest}"


def _unit(key: str) -> str:
    unit = _UNITS.get(key.rpartition(".")[2])
    return f" ({unit})" if unit else ""
