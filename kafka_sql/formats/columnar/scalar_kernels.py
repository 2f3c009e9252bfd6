"""Numba helpers that scan bytes by address, and parse scalars: numbers, dates, times and base64 in their common forms.

The parsers return where the value ends, or that the text has another form, which is left to the fallback.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from kafka_sql.runtime.numba_support import helper, high_product, inline_helper, load, store

LOW_BITS: Final = np.uint64(0x0101_0101_0101_0101)  # the lowest bit of each byte
HIGH_BITS: Final = np.uint64(0x8080_8080_8080_8080)

INVALID: Final = -(1 << 62)  # returned instead of a date or time

# Flags of a number
NEGATIVE: Final = 1
FRACTIONAL: Final = 2  # has a fraction or an exponent
TOO_LONG: Final = 4  # has more digits than always fit into 64 bits, or an exponent that may not fit into 32 bits

# What follows the time of a timestamp: nothing, Z, or Z or an offset such as +02:00
NO_ZONE, UTC, OFFSET = range(3)

_MAX_DIGITS: Final = 19  # always fit into 64 bits
_MAX_EXPONENT: Final = 1_000_000_000
_POWERS: Final = np.array([10**e for e in range(20)], np.uint64)
_POWERS_FLOAT64: Final = np.array([10.0**e for e in range(23)])  # each is exact
_POWERS_FLOAT32: Final = np.array([10.0**e for e in range(11)], np.float32)
_SECONDS_PER_DAY: Final = 86_400
_PAD: Final = 64
_NOT_BASE64: Final = 128
_BASE64: Final = np.full(256, _NOT_BASE64, np.uint8)
_BASE64[np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=", np.uint8)] = np.arange(65)


@helper
def broadcast(byte: int) -> int:
    """Return a word that consists of one byte, eight times."""
    return np.uint64(byte) * LOW_BITS


@helper
def zero_byte_mask(word: int) -> int:
    """Return a word whose lowest set bit is in the first byte of ``word`` that is 0; 0 if no byte is."""
    return (word - LOW_BITS) & ~word & HIGH_BITS


@helper
def equal_bytes(first: int, second: int, size: int) -> bool:
    """Compare the bytes at two addresses."""
    while size >= 8:
        if load(first, types.uint64) != load(second, types.uint64):
            return False
        first += 8
        second += 8
        size -= 8
    while size > 0:
        if load(first, types.uint8) != load(second, types.uint8):
            return False
        first += 1
        second += 1
        size -= 1
    return True


@inline_helper
def _scan_digits(cursor: int, end: int, mantissa: int) -> tuple[int, int]:
    """Append digits to a number; return where they end, and the number."""
    while cursor < end:
        digit = types.int64(load(cursor, types.uint8)) - 48
        if digit < 0 or digit > 9:
            break
        mantissa = mantissa * np.uint64(10) + np.uint64(digit)
        cursor += 1
    return cursor, mantissa


@inline_helper
def scan_number(cursor: int, end: int) -> tuple[int, int, int, int]:
    """Scan a number of JSON's grammar.

    Returns:
        where it ends (-1 if there is none), its digits as an integer, the exponent of ten, and flags.
    """
    flags, exponent, mantissa, digits = 0, 0, np.uint64(0), 0
    if cursor < end and load(cursor, types.uint8) == 45:
        flags = NEGATIVE
        cursor += 1
    start = cursor
    cursor, mantissa = _scan_digits(cursor, end, mantissa)
    if cursor == start or (load(start, types.uint8) == 48 and cursor > start + 1):
        return -1, mantissa, 0, 0
    digits = cursor - start
    if cursor < end:
        byte = load(cursor, types.uint8)
        if byte == 46:
            flags |= FRACTIONAL
            cursor += 1
            point = cursor
            cursor, mantissa = _scan_digits(cursor, end, mantissa)
            if cursor == point:
                return -1, mantissa, 0, 0
            exponent = point - cursor
            digits += cursor - point
            byte = load(cursor, types.uint8) if cursor < end else types.uint8(0)
        if byte | 32 == 101:  # e or E
            flags |= FRACTIONAL
            cursor += 1
            sign, power = 1, 0
            if cursor < end and load(cursor, types.uint8) in (43, 45):
                sign = 44 - types.int64(load(cursor, types.uint8))
                cursor += 1
            first = cursor
            while cursor < end:
                digit = types.int64(load(cursor, types.uint8)) - 48
                if digit < 0 or digit > 9:
                    break
                power = min(power * 10 + digit, _MAX_EXPONENT)
                cursor += 1
            if cursor == first:
                return -1, mantissa, 0, 0
            exponent += sign * power
            if power == _MAX_EXPONENT:
                flags |= TOO_LONG
    if digits > _MAX_DIGITS:
        flags |= TOO_LONG
    return cursor, mantissa, exponent, flags


@inline_helper
def to_int64(mantissa: int, flags: int) -> tuple[bool, int]:
    """Return whether the number is a 64-bit integer, and its value."""
    if flags & (FRACTIONAL | TOO_LONG):
        return False, 0
    if flags & NEGATIVE:
        return mantissa <= np.uint64(1 << 63), types.int64(np.uint64(0) - mantissa)
    return mantissa < np.uint64(1 << 63), types.int64(mantissa)


@inline_helper
def to_float64(mantissa: int, exponent: int, flags: int) -> tuple[bool, float]:
    """Return whether the nearest DOUBLE is certain, and its value (Clinger: both operands are exact)."""
    if flags & TOO_LONG or mantissa > np.uint64(1 << 53) or exponent < -22 or exponent > 22:
        return False, 0.0
    value = types.float64(mantissa)
    value = value * _POWERS_FLOAT64[exponent] if exponent >= 0 else value / _POWERS_FLOAT64[-exponent]
    return True, -value if flags & NEGATIVE else value


@inline_helper
def to_float32(mantissa: int, exponent: int, flags: int) -> tuple[bool, float]:
    """Return whether the nearest FLOAT is certain, and its value."""
    if flags & TOO_LONG or mantissa > np.uint64(1 << 24) or exponent < -10 or exponent > 10:
        return False, types.float32(0)
    value = types.float32(mantissa)
    if exponent >= 0:
        value = types.float32(value * _POWERS_FLOAT32[exponent])
    else:
        value = types.float32(value / _POWERS_FLOAT32[-exponent])
    return True, -value if flags & NEGATIVE else value


@helper
def store_decimal(
    target: int, mantissa: int, exponent: int, flags: int, scale: int, limit_low: int, limit_high: int
) -> bool:
    """Write a DECIMAL of 128 bits, rounded half up; return False if it is not less than the limit, of two words."""
    shift = exponent + scale
    if flags & TOO_LONG or (shift > _MAX_DIGITS and mantissa > np.uint64(0)):
        return False
    high, low = np.uint64(0), mantissa
    if shift < -_MAX_DIGITS:
        low = np.uint64(0)
    elif shift < 0:
        unit = _POWERS[-shift]
        low = mantissa // unit
        if mantissa - low * unit >= unit - (mantissa - low * unit):
            low += np.uint64(1)
    elif mantissa > np.uint64(0):
        high, low = high_product(mantissa, _POWERS[shift]), mantissa * _POWERS[shift]
    if high > np.uint64(limit_high) or (high == np.uint64(limit_high) and low >= np.uint64(limit_low)):
        return False
    if flags & NEGATIVE:
        low = np.uint64(0) - low
        high = ~high + np.uint64(low == np.uint64(0))
    store(target, low)
    store(target + 8, high)
    return True


@helper
def _parse_digits(cursor: int, count: int) -> int:
    """Return the number that ``count`` digits denote; -1 if a byte is not a digit."""
    value, invalid = types.int64(0), types.int64(0)  # invalid becomes negative if a byte is not a digit
    for i in range(count):
        digit = types.int64(load(cursor + i, types.uint8)) - 48
        invalid |= digit | (9 - digit)
        value = value * 10 + digit
    return value if invalid >= 0 else -1


@helper
def parse_date(cursor: int, end: int) -> int:
    """Parse a date such as ``2020-12-30``, of ten bytes; return the days since 1970-01-01, or INVALID."""
    if end - cursor < 10 or load(cursor + 4, types.uint8) != 45 or load(cursor + 7, types.uint8) != 45:
        return INVALID
    year, month, day = _parse_digits(cursor, 4), _parse_digits(cursor + 5, 2), _parse_digits(cursor + 8, 2)
    if year < 0 or month < 1 or month > 12 or day < 1:
        return INVALID
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    length = 31
    if month == 2:
        length = 29 if leap else 28
    elif month in (4, 6, 9, 11):
        length = 30
    if day > length:
        return INVALID
    shifted = year - 1 + 400  # not negative, so that division rounds down
    months = (367 * month - 362) // 12 - (0 if month <= 2 else 1 if leap else 2)
    return shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400 + months + day - 719_163 - 146_097


@helper
def parse_time(cursor: int, end: int) -> tuple[int, int]:
    """Parse a time such as ``12:13:14.5``; return the nanoseconds since midnight, or INVALID, and where it ends."""
    if end - cursor < 8 or load(cursor + 2, types.uint8) != 58 or load(cursor + 5, types.uint8) != 58:
        return INVALID, cursor
    hour, minute, second = _parse_digits(cursor, 2), _parse_digits(cursor + 3, 2), _parse_digits(cursor + 6, 2)
    if hour < 0 or hour > 23 or minute < 0 or minute > 59 or second < 0 or second > 59:
        return INVALID, cursor
    cursor += 8
    fraction, unit = 0, 1_000_000_000
    if cursor < end and load(cursor, types.uint8) == 46:
        cursor += 1
        while cursor < end:
            digit = types.int64(load(cursor, types.uint8)) - 48
            if digit < 0 or digit > 9:
                break
            if unit == 1:
                return INVALID, cursor
            fraction = fraction * 10 + digit
            unit //= 10
            cursor += 1
    return ((hour * 60 + minute) * 60 + second) * 1_000_000_000 + fraction * unit, cursor


@helper
def parse_timestamp(cursor: int, end: int, separator: int, zone: int) -> tuple[int, int]:
    """Parse a timestamp such as ``2020-12-30 12:13:14.5``, with the byte ``separator`` between date and time.

    Returns:
        the microseconds since 1970-01-01, or INVALID, and where it ends.
    """
    days = parse_date(cursor, end)
    if days == INVALID or end - cursor < 19 or load(cursor + 10, types.uint8) != separator:
        return INVALID, cursor
    nanos, cursor = parse_time(cursor + 11, end)
    if nanos == INVALID:
        return INVALID, cursor
    micros = days * (_SECONDS_PER_DAY * 1_000_000) + nanos // 1000
    if zone == NO_ZONE:
        return micros, cursor
    if cursor >= end:
        return INVALID, cursor
    if load(cursor, types.uint8) == 90:
        return micros, cursor + 1
    if zone == UTC:
        return INVALID, cursor
    minutes, cursor = _parse_offset(cursor, end)
    return (INVALID if minutes == INVALID else micros - minutes * 60_000_000), cursor


@helper
def _parse_offset(cursor: int, end: int) -> tuple[int, int]:
    """Parse an offset from UTC such as ``+02:00``; return its minutes, or INVALID, and where it ends."""
    if end - cursor < 6 or load(cursor + 3, types.uint8) != 58:
        return INVALID, cursor
    sign = load(cursor, types.uint8)
    hours, minutes = _parse_digits(cursor + 1, 2), _parse_digits(cursor + 4, 2)
    if (sign != 43 and sign != 45) or hours < 0 or hours > 17 or minutes < 0 or minutes > 59:
        return INVALID, cursor
    minutes += hours * 60
    return (-minutes if sign == 45 else minutes), cursor + 6


@helper
def decode_base64(cursor: int, end: int, target: int) -> tuple[int, int]:
    """Decode groups of four base64 characters, up to the first with padding or another character.

    Returns:
        where the text and the bytes end.
    """
    while end - cursor >= 4:
        first = types.int64(_BASE64[load(cursor, types.uint8)])
        second = types.int64(_BASE64[load(cursor + 1, types.uint8)])
        third = types.int64(_BASE64[load(cursor + 2, types.uint8)])
        fourth = types.int64(_BASE64[load(cursor + 3, types.uint8)])
        if (
            first >= _PAD
            or second >= _PAD
            or third == _NOT_BASE64
            or fourth == _NOT_BASE64
            or (third == _PAD and fourth != _PAD)
        ):
            break
        store(target, types.uint8((first << 2) | (second >> 4)))
        target += 1
        if third != _PAD:
            store(target, types.uint8(((second & 15) << 4) | (third >> 2)))
            target += 1
        if fourth != _PAD:
            store(target, types.uint8(((third & 3) << 6) | fourth))
            target += 1
        cursor += 4
        if fourth == _PAD:
            break
    return cursor, target
