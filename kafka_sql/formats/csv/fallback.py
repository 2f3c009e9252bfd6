"""The exact way, second part: one payload to a row, as Flink's CsvToRowDataConverters does."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.errors import DecodeError
from kafka_sql.formats.csv.document import SPACE, parse
from kafka_sql.formats.csv.options import Dialect
from kafka_sql.formats.java import times
from kafka_sql.formats.java.scalars import scalar_converter, to_bytes

Convert: TypeAlias = Callable[[str], Any]
Row: TypeAlias = list[Any]

_DATE: Final = re.compile(r"(\+?\d+|-0+)-([+-]?\d{1,2}|[+-]\d)-([+-]?\d{1,2}|[+-]\d)")
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()
_LAST_JULIAN: Final = (1582, 10, 4)


class _Mismatch(Exception):
    """A field that is not what the table declares."""

    def __init__(self, path: str, reason: str, forgivable: bool = True) -> None:
        super().__init__(reason)
        self.path, self.reason, self.forgivable = path, reason, forgivable


def row_reader(schema: pa.Schema, dialect: Dialect) -> Callable[[int, bytes], Row | None]:
    """The function that makes a row of a payload, given its index and bytes; None where it is to be left out.

    It raises DecodeError with the index and the field's path.
    """
    converters = [_field(field.name, field, dialect) for field in schema]

    def read(index: int, payload: bytes) -> Row | None:
        try:
            values = parse(payload, dialect, len(converters))
            if len(values) < len(converters) and not dialect.ignore_errors:
                raise ValueError(f"row length mismatch. {len(converters)} fields expected but was {len(values)}.")
        except ValueError as e:
            if dialect.ignore_errors:
                return None
            shown = _shown(payload[:100].decode("utf-8", "replace"))
            raise DecodeError(index, None, f"Failed to deserialize CSV row: the payload {e}: {shown}") from e
        try:
            missing = [None] * (len(converters) - len(values))
            return [convert(value) for convert, value in zip(converters, [*values, *missing], strict=True)]
        except _Mismatch as e:
            if dialect.ignore_errors:
                return None
            raise DecodeError(index, e.path, e.reason) from e

    return read


def _field(path: str, field: pa.Field, dialect: Dialect) -> Callable[[str | None], Any]:
    t = field.type
    nested = pt.is_struct(t) or pt.is_list(t)
    if pt.is_struct(t):
        converter = _row(path, t, dialect)
    elif pt.is_list(t):
        converter = _array(path, t, dialect)
    else:
        converter = _scalar(path, t)

    def convert(text: str | None) -> Any:
        value = None
        if text is not None and (nested or not _is_null(text, dialect)):
            try:
                value = converter(text)
            except _Mismatch as e:
                if not (dialect.ignore_errors and e.forgivable):
                    raise
        if value is None and not field.nullable:
            raise _Mismatch(path, "is null or missing, but declared NOT NULL", forgivable=False)
        return value

    return convert


def _is_null(text: str, dialect: Dialect) -> bool:
    return text == dialect.null or (dialect.empty_null and not text)


def _elements(text: str, dialect: Dialect) -> list[str]:
    if dialect.element_separator not in text and not text.strip(SPACE):
        return []
    parts = text.split(dialect.element_separator)
    return [part.strip(SPACE) for part in parts] if dialect.trim else parts


def _array(path: str, t: pa.DataType, dialect: Dialect) -> Convert:
    def convert(text: str) -> list[Any]:
        return [
            _field(f"{path}[{i}]", t.value_field, dialect)(element)
            for i, element in enumerate(_elements(text, dialect))
        ]

    return convert


def _row(path: str, t: pa.DataType, dialect: Dialect) -> Convert:
    converters = [_field(f"{path}.{child.name}", child, dialect) for child in t]

    def convert(text: str) -> dict[str, Any] | None:
        found: list[str | None] = [*_elements(text, dialect)]
        if not found:
            return None
        if len(found) < len(converters):
            if not dialect.ignore_errors:
                raise _Mismatch(path, f"row length mismatch. {len(converters)} fields expected but was {len(found)}.")
            found += [None] * (len(converters) - len(found))
        return {child.name: c(value) for child, c, value in zip(t, converters, found, strict=False)}

    return convert


def _scalar(path: str, t: pa.DataType) -> Convert:
    converter = _converter(t)

    def convert(text: str) -> Any:
        try:
            return converter(text)
        except ValueError as e:
            raise _Mismatch(path, f"found {_shown(repr(text))}, {e}") from e

    return convert


def _converter(t: pa.DataType) -> Convert:
    if pt.is_string(t) or pt.is_large_string(t):
        return str
    if pt.is_date(t):
        return date
    if pt.is_time(t):
        return times.parse_local_time
    if pt.is_timestamp(t):
        stamp = times.timestamp_parser(iso=False, local_zone=t.tz is not None)
        return lambda text: stamp(text.strip(SPACE))
    if pt.is_binary(t) or pt.is_large_binary(t):
        return lambda text: to_bytes(text.strip(SPACE))
    read = scalar_converter(t, iso=False, decimals=False)
    if pt.is_decimal(t):
        return lambda text: read(text if text == text.strip(SPACE) else "")
    return read


def date(text: str) -> int:
    """Days since 1970-01-01 of java.sql.Date.valueOf, whose calendar is Julian before 15 October 1582 and lenient.

    Raises:
        ValueError: says what was expected.
    """
    expected = "expected a date such as '2020-12-30'"
    match = _DATE.fullmatch(text) if len(text) <= 10 else None
    if match is None or len(match[1]) != 4:
        raise ValueError(expected)
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        raise ValueError(expected)
    year = year or 1  # the year 0 is 1 BC, whose number java.sql.Date tells without the era
    julian = (year, month, day) <= _LAST_JULIAN
    leap = year % 4 == 0 and (julian or year % 100 != 0 or year % 400 == 0)
    length = 29 if month == 2 and leap else 28 if month == 2 else 30 if month in (4, 6, 9, 11) else 31
    if day > length:
        month, day = month + 1, day - length
    if (1582, 10, 5) <= (year, month, day) <= (1582, 10, 14):
        day += 10
    try:
        return dt.date(year, month, day).toordinal() - _EPOCH
    except ValueError as e:  # 29 February of a year that is a leap year in the Julian calendar alone
        raise ValueError(expected) from e


def _shown(found: str) -> str:
    return found if len(found) <= 60 else found[:57] + "..."
