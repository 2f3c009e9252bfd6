"""Parse dates and times to integers as java.time does with the formatters of Flink's TimeFormats.

ISO_LOCAL_DATE and ISO_LOCAL_DATE_TIME resolve strictly. The formatters that Flink builds itself (all of SQL, and ISO
with a time zone) resolve "smart": 30 February is the last day of February, and 24:00:00 is midnight of the next day.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from typing import Final

# A year has four digits; more need a sign.
_DATE: Final = r"(\d{4}|\+\d{5,10}|-\d{4,10})-(\d\d)-(\d\d)"
_SQL_TIME: Final = r"(\d\d):(\d\d):(\d\d)(?:\.(\d{0,9}))?"
_ISO_TIME: Final = r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{0,9}))?)?"

# ISO_OFFSET_TIME ignores the case of Z.
_OFFSET: Final = r"(?:[Zz]|([+-])(\d\d):(\d\d)(?::(\d\d))?)"
_MAX_OFFSET: Final = 18 * 3600  # seconds, of java.time.ZoneOffset

_MICROS_PER_DAY: Final = 86_400_000_000
_INT32: Final = range(-(2**31), 2**31)
_INT64: Final = range(-(2**63), 2**63)


class TimestampStandard(enum.Enum):
    """How timestamps are written; the values are those of Flink's option."""

    SQL = "SQL"
    ISO = "ISO-8601"
    ISO_WITH_OFFSET = "ISO-8601-WITH-OFFSET"


def parse_date(text: str) -> int:
    """Return the days since 1970-01-01.

    Raises:
        ValueError: with what was expected.
    """
    match = re.fullmatch(_DATE, text, re.ASCII)
    days = _days(match[1], match[2], match[3], smart=False) if match else None
    if days is None or days not in _INT32:
        raise ValueError("expected a date such as '2020-12-30'")
    return days


def parse_time(text: str) -> int:
    """Return the nanoseconds since midnight, rounded down to milliseconds, the precision of Flink's TIME.

    Raises:
        ValueError: with what was expected.
    """
    return _parse_time(re.fullmatch(_SQL_TIME, text, re.ASCII), smart=True)


def parse_local_time(text: str) -> int:
    """Return the nanoseconds since midnight, rounded down to milliseconds, of a time that java.time.LocalTime.parse
    accepts: seconds are optional, and 24:00:00 is invalid.

    Raises:
        ValueError: with what was expected.
    """
    return _parse_time(re.fullmatch(_ISO_TIME, text, re.ASCII), smart=False)


def _parse_time(match: re.Match[str] | None, smart: bool) -> int:
    nanos = _nanos(match[1], match[2], match[3] or "0", match[4], smart) if match else None
    if nanos is None:
        raise ValueError("expected a time such as '12:13:14'")
    return nanos % (_MICROS_PER_DAY * 1000) // 1_000_000 * 1_000_000


def timestamp_parser(standard: TimestampStandard, local_zone: bool) -> Callable[[str], int]:
    """Return a parser of timestamps, which returns the microseconds since 1970.

    Args:
        local_zone: parse TIMESTAMP_LTZ, which is in UTC and ends in ``Z``. In ISO_WITH_OFFSET, TIMESTAMP and
            TIMESTAMP_LTZ end in an offset from UTC and are converted to UTC.
    """
    has_offset = standard is TimestampStandard.ISO_WITH_OFFSET
    is_local_iso = standard is TimestampStandard.ISO and not local_zone
    separator, time = (" ", _SQL_TIME) if standard is TimestampStandard.SQL else ("T", _ISO_TIME)
    pattern = re.compile(
        _DATE
        + ("[Tt]" if is_local_iso else separator)  # ISO_LOCAL_DATE_TIME ignores case
        + time
        + (_OFFSET if has_offset else "Z" if local_zone else ""),
        re.ASCII,
    )
    example = f"2020-12-30{separator}12:13:14.123"
    expected = (
        f"expected a timestamp with an offset, such as '{example}+02:00'"
        if has_offset
        else f"expected a timestamp such as '{example}{'Z' if local_zone else ''}'"
    )

    def parse(text: str) -> int:
        match = pattern.fullmatch(text)
        if match:
            days = _days(match[1], match[2], match[3], smart=not is_local_iso)
            nanos = _nanos(match[4], match[5], match[6] or "0", match[7], smart=not is_local_iso)
            offset = _offset_seconds(*match.groups()[7:]) if has_offset and match[8] else 0
            if days is not None and nanos is not None and offset is not None:
                micros = days * _MICROS_PER_DAY + nanos // 1000 - offset * 1_000_000
                if micros in _INT64:
                    return micros
        raise ValueError(expected)

    return parse


def _offset_seconds(sign: str, hour_text: str, minute_text: str, second_text: str | None) -> int | None:
    """Return the seconds of an offset from UTC, or None if it is invalid."""
    hour, minute, second = int(hour_text), int(minute_text), int(second_text or "0")
    seconds = (hour * 60 + minute) * 60 + second
    if minute > 59 or second > 59 or seconds > _MAX_OFFSET:
        return None
    return -seconds if sign == "-" else seconds


def _days(year_text: str, month_text: str, day_text: str, smart: bool) -> int | None:
    """Return the days since 1970-01-01 in the proleptic Gregorian calendar, or None if the day does not exist."""
    year, month, day = int(year_text), int(month_text), int(day_text)
    if not (abs(year) <= 999_999_999 and 1 <= month <= 12 and 1 <= day <= 31) or (year == 0 and year_text[0] == "-"):
        return None
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    length = 29 if month == 2 and leap else 28 if month == 2 else 30 if month in (4, 6, 9, 11) else 31
    if day > length:
        if not smart:
            return None
        day = length
    years = year - 1  # full years since 0001-01-01
    days_before_month = (367 * month - 362) // 12 - (0 if month <= 2 else 1 if leap else 2)
    return years * 365 + years // 4 - years // 100 + years // 400 + days_before_month + day - 719_163


def _nanos(hour_text: str, minute_text: str, second_text: str, fraction_text: str | None, smart: bool) -> int | None:
    """Return the nanoseconds since midnight, or None if the time is invalid. With ``smart``, 24:00:00 is one day."""
    hour, minute, second = int(hour_text), int(minute_text), int(second_text)
    fraction = int((fraction_text or "").ljust(9, "0"))  # nanoseconds
    if smart and (hour, minute, second, fraction) == (24, 0, 0, 0):
        return 86_400_000_000_000
    if hour > 23 or minute > 59 or second > 59:
        return None
    return ((hour * 60 + minute) * 60 + second) * 1_000_000_000 + fraction
