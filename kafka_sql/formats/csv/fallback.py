"""Decode CSV payloads one by one, exactly as Flink does: for payloads that the compiled loop does not support.

Payloads are split into values as by Jackson's CsvParser, and values are converted as by Flink's CsvToRowDataConverters.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice, repeat
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.formats.columnar.fallback import Convert, Fallback, Mismatch
from kafka_sql.formats.csv.options import Dialect
from kafka_sql.formats.java import times
from kafka_sql.formats.java.scalars import scalar_converter, to_bytes

ERROR_PREFIX: Final = "Failed to deserialize CSV row: "

_SPACE: Final = "".join(map(chr, range(33)))  # what Java's String.trim removes
_ESCAPES: Final = {"0": "\0", "n": "\n", "r": "\r", "t": "\t"}
_LINE_ENDS: Final = "\r\n"
_DATE: Final = re.compile(r"(\+?\d+)-([+-]?\d{1,2}|[+-]\d)-([+-]?\d{1,2}|[+-]\d)")
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()
_LAST_JULIAN: Final = (1582, 10, 4)


class CsvFallback(Fallback):
    """Decodes the first line of a payload. A value is a string, and a row or an array a list of strings."""

    error_prefix = ERROR_PREFIX

    def __init__(self, schema: pa.Schema, dialect: Dialect) -> None:
        self._dialect, self._columns = dialect, len(schema)
        super().__init__(schema, dialect.ignore_errors)

    def parse(self, payload: bytes) -> list[list[str]]:
        values = split_payload(payload, self._dialect, self._columns)
        if problem := self._find_length_mismatch(values, self._columns):
            raise ValueError(problem)
        return [values]

    def fields(self, row: Any, names: Sequence[str]) -> Iterator[Any]:
        if problem := self._find_length_mismatch(row, len(names)):
            raise Mismatch(problem)
        yield from islice(chain(row, repeat(None)), len(names))

    def _find_length_mismatch(self, values: Sequence[str], count: int) -> str:
        if len(values) >= count or self.ignore_errors:
            return ""
        return f"row length mismatch. {count} fields expected but was {len(values)}."

    def converter(self, arrow_type: pa.DataType) -> Convert:
        converter = super().converter(arrow_type)
        if pt.is_struct(arrow_type):
            return lambda text: converter(elements) if (elements := self._split_elements(text)) else None
        if pt.is_list(arrow_type):
            return lambda text: converter(self._split_elements(text))
        return lambda text: None if is_null(text, self._dialect) else converter(text)

    def _split_elements(self, text: str) -> list[str]:
        separator = self._dialect.element_separator
        if separator not in text and not text.strip(_SPACE):
            return []
        parts = text.split(separator)
        return [part.strip(_SPACE) for part in parts] if self._dialect.trim_spaces else parts

    def scalar_converter(self, arrow_type: pa.DataType) -> Convert:
        return text_converter(arrow_type)

    def describe(self, value: Any) -> str:
        return repr(value)


def is_null(text: str, dialect: Dialect) -> bool:
    """Return whether a value is null."""
    return text == dialect.null_literal or (dialect.empty_string_as_null and not text)


def text_converter(arrow_type: pa.DataType) -> Convert:
    """Return the converter to a type that is not nested."""
    if pt.is_string(arrow_type):
        return str
    if pt.is_date(arrow_type):
        return _parse_date
    if pt.is_time(arrow_type):
        return times.parse_local_time
    if pt.is_timestamp(arrow_type):
        parse_timestamp = times.timestamp_parser(times.TimestampStandard.SQL, local_zone=arrow_type.tz is not None)
        return lambda text: parse_timestamp(text.strip(_SPACE))
    if pt.is_binary(arrow_type):
        return lambda text: to_bytes(text.strip(_SPACE))
    convert = scalar_converter(arrow_type, times.TimestampStandard.SQL, as_decimals=False)
    if pt.is_decimal(arrow_type):
        return lambda text: convert(text if text == text.strip(_SPACE) else "")
    return convert


def _parse_date(text: str) -> int:
    """Return the days since 1970-01-01 as java.sql.Date.valueOf does: leniently, and before 1582-10-15 in the Julian
    calendar.
    """
    expected = "expected a date such as '2020-12-30'"
    match = _DATE.fullmatch(text) if len(text) <= 10 else None
    if match is None or len(match[1]) != 4:
        raise ValueError(expected)
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        raise ValueError(expected)
    year = year or 1  # the year 0 is 1 BC, whose number java.sql.Date returns without the era
    julian = (year, month, day) <= _LAST_JULIAN
    leap = year % 4 == 0 and (julian or year % 100 != 0 or year % 400 == 0)
    length = 29 if month == 2 and leap else 28 if month == 2 else 30 if month in (4, 6, 9, 11) else 31
    if day > length:
        month, day = month + 1, day - length
    if (1582, 10, 5) <= (year, month, day) <= (1582, 10, 14):
        day += 10
    try:
        return dt.date(year, month, day).toordinal() - _EPOCH
    except ValueError as e:  # 29 February of a year that is a leap year only in the Julian calendar
        raise ValueError(expected) from e


def split_payload(payload: bytes, dialect: Dialect, columns: int) -> list[str]:
    """Split a payload into values, at most as many as there are columns.

    Raises:
        ValueError: the payload is not CSV.
    """
    try:
        text = _decode_text(payload)
    except UnicodeDecodeError as e:
        raise ValueError(f"is not {e.encoding}: byte 0x{payload[e.start]:02x} at {e.start}") from e
    return _LineReader(text, dialect).read_line(columns)


def _decode_text(payload: bytes) -> str:
    """Decode UTF-8; or UTF-16 or UTF-32 if the first bytes indicate it (CsvParserBootstrapper)."""
    for mark, name in (
        (b"\0\0\xfe\xff", "utf-32-be"),
        (b"\xff\xfe\0\0", "utf-32-le"),
        (b"\xef\xbb\xbf", "utf-8"),
        (b"\xfe\xff", "utf-16-be"),
        (b"\xff\xfe", "utf-16-le"),
    ):
        if payload.startswith(mark) and len(payload) >= 4:
            return payload[len(mark) :].decode(name)
    if len(payload) >= 4:
        is_nonzero = [byte != 0 for byte in payload[:4]]
        if is_nonzero == [False, False, False, True]:
            return payload.decode("utf-32-be")
        if is_nonzero == [True, False, False, False]:
            return payload.decode("utf-32-le")
    if len(payload) >= 2 and 0 in payload[:2]:
        return payload.decode("utf-16-be" if payload[0] == 0 else "utf-16-le")
    return payload.decode("utf-8")


class _Patterns(NamedTuple):
    """Patterns that match as much as possible of a text, and so never backtrack."""

    blanks: re.Pattern[str]
    unquoted: re.Pattern[str]
    quoted: re.Pattern[str]
    escaped: re.Pattern[str]  # in values without quotes
    escaped_or_doubled: re.Pattern[str]  # in values with quotes


@lru_cache
def _patterns(separator: str, quote: str, escape: str) -> _Patterns:
    blank, ends, q, e = map(re.escape, (_SPACE, separator + _LINE_ENDS, quote, escape))
    escaped, never = f"{e}(.)", "(?!)()"
    patterns = (
        f"(?:(?![{ends}])[{blank}])*",
        f"(?:[^{ends}{e}]+|{escaped if escape and escape not in separator + _LINE_ENDS else never})*",
        f"(?:[^{q}{e}]+|{q}{q}|{escaped if escape and escape != quote else never})*" if quote else "",
        escaped if escape else never,
        f"{q}{q}|{escaped if escape else never}",
    )
    return _Patterns(*(re.compile(pattern, re.DOTALL) for pattern in patterns))


class _LineReader:
    """Reads values from the first line of a string."""

    def __init__(self, text: str, dialect: Dialect) -> None:
        self._text, self._position, self._dialect = text, 0, dialect
        self._patterns = _patterns(dialect.separator, dialect.quote, dialect.escape)
        self._has_next = True  # whether another value follows

    def read_line(self, columns: int) -> list[str]:
        """Return the values of the first line."""
        if self._dialect.allow_comments:
            self._skip_comments()
        if self._position == len(self._text):
            raise ValueError("is empty: no content to map due to end-of-input")
        values: list[str] = []
        while self._has_next and len(values) < columns:
            values.append(self._read_value())
        if len(values) < columns and self._dialect.fail_on_missing:
            raise ValueError(f"has not enough column values: expected {columns}, found {len(values)}")
        if self._has_next:
            self._check_trailing_values(columns)
        return values

    def _check_trailing_values(self, columns: int) -> None:
        """Check what follows the last column."""
        value = self._read_value()
        if self._dialect.ignore_extra:
            while self._has_next:
                self._read_value()
        elif not self._dialect.allow_trailing_comma or value.strip(_SPACE) or self._has_next:
            raise ValueError(f"has too many entries: expected at most {columns}, found also '{value[:20]}'")

    def _skip_comments(self) -> None:
        while (character := self._peek()) and character in "# \r\n":
            self._position += 1
            if character == "#":
                while (character := self._peek()) and character not in _LINE_ENDS:
                    self._position += 1

    def _peek(self) -> str:
        return self._text[self._position : self._position + 1]

    def _read(self, pattern: re.Pattern[str]) -> str:
        """Read the characters that a pattern matches."""
        match = pattern.match(self._text, self._position)
        assert match is not None
        self._position = match.end()
        return match[0]

    def _read_value(self) -> str:
        dialect, patterns = self._dialect, self._patterns
        if dialect.trim_spaces:
            self._read(patterns.blanks)
        if dialect.quote and self._text.startswith(dialect.quote, self._position):
            return self._read_quoted()
        value = self._read(patterns.unquoted)
        if dialect.escape and dialect.escape in value:
            value = patterns.escaped.sub(_unescape, value)
        self._end_value("is not valid CSV: unexpected end in escaped character")
        return value.rstrip(_SPACE) if dialect.trim_spaces else value

    def _read_quoted(self) -> str:
        dialect, patterns = self._dialect, self._patterns
        self._position += 1
        value = patterns.escaped_or_doubled.sub(_unescape, self._read(patterns.quoted))
        if (character := self._peek()) != dialect.quote:
            problem = "unexpected end in escaped character" if character else "missing closing quote for value"
            raise ValueError(f"is not valid CSV: {problem}")
        self._position += 1
        self._read(patterns.blanks)
        self._end_value(
            f"is not valid CSV: unexpected character '{self._peek()}': expected column separator character "
            f"('{dialect.separator}') or end-of-line"
        )
        return value

    def _end_value(self, problem: str) -> None:
        """Skip the separator, and record whether another value follows. Another character is a problem."""
        character = self._peek()
        self._position += 1
        self._has_next = character == self._dialect.separator
        if not self._has_next and character and character not in _LINE_ENDS:
            raise ValueError(problem)


def _unescape(match: re.Match[str]) -> str:
    """Return what an escape sequence or a doubled quote stands for."""
    character = match[1]
    return match[0][0] if character is None else _ESCAPES.get(character, character)
