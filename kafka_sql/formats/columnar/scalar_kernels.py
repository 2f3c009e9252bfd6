"""Numba helpers that parse the text of scalars by address: numbers, dates, times and base64 in their common forms.

Each returns where the value ends, or that the text has another form, which is left to the fallback.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from kafka_sql.runtime.numba_support import helper, high_product, inline_helper, load, store

INVALID: Final = -(1 << 62)  # in place of a date or time

# Flags of a number
NEGATIVE: Final = 1
FRACTIONAL: Final = 2  # has a fraction or an exponent
TOO_LONG: Final = 4  # has more digits than 64 bits certainly hold

_MAX_DIGITS: Final = 19  # that 64 bits always hold
_POWERS: Final = np.array([10**e for e in range(20)], np.uint64)
_POWERS_FLOAT64: Final = np.array([10.0**e for e in range(23)])  # each is exact
_POWERS_FLOAT32: Final = np.array([10.0**e for e in range(11)], np.float32)
_SECONDS_PER_DAY: Final = 86_400
_PAD: Final = 64
_NOT_BASE64: Final = 128
_BASE64: Final = np.full(256, _NOT_BASE64, np.uint8)
_BASE64[np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=", np.uint8)] = np.arange(65)


@inline_helper
def scan_number(at: int, end: int) -> tuple[int, int, int, int]:
    """Scan a number of JSON's grammar.

    Returns:
        where it ends (-1 if there is none), its digits as an integer, the exponent of ten, and flags.
    """
    flags, exponent, mantissa, digits = 0, 0, np.uint64(0), 0
    if at < end and load(at, types.uint8) == 45:
        flags = NEGATIVE
        at += 1
    start = at
    while at < end:
        digit = types.int64(load(at, types.uint8)) - 48
        if digit < 0 or digit > 9:
            break
        mantissa = mantissa * np.uint64(10) + np.uint64(digit)
        at += 1
    if at == start or (load(start, types.uint8) == 48 and at > start + 1):
        return -1, mantissa, 0, 0
    digits = at - start
    if at < end:
        byte = load(at, types.uint8)
        if byte == 46:
            flags |= FRACTIONAL
            at += 1
            point = at
            while at < end:
                digit = types.int64(load(at, types.uint8)) - 48
                if digit < 0 or digit > 9:
                    break
                mantissa = mantissa * np.uint64(10) + np.uint64(digit)
                at += 1
            if at == point:
                return -1, mantissa, 0, 0
            exponent = point - at
            digits += at - point
            byte = load(at, types.uint8) if at < end else types.uint8(0)
        if byte | 32 == 101:  # e or E
            flags |= FRACTIONAL
            at += 1
            sign, power = 1, 0
            if at < end and load(at, types.uint8) in (43, 45):
                sign = 44 - types.int64(load(at, types.uint8))
                at += 1
            first = at
            while at < end:
                digit = types.int64(load(at, types.uint8)) - 48
                if digit < 0 or digit > 9:
                    break
                power = min(power * 10 + digit, 1_000_000_000)
                at += 1
            if at == first:
                return -1, mantissa, 0, 0
            exponent += sign * power
    if digits > _MAX_DIGITS:
        flags |= TOO_LONG
    return at, mantissa, exponent, flags


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
    """Write a DECIMAL of 128 bits, rounded half up; return False if it has too many digits.

    Args:
        limit_low, limit_high: the two words of the first number with too many digits.
    """
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
def _parse_digits(at: int, count: int) -> int:
    """Return the number that so many digits denote; -1 if one is no digit."""
    value, invalid = types.int64(0), types.int64(0)  # negative if a byte is no digit
    for i in range(count):
        digit = types.int64(load(at + i, types.uint8)) - 48
        invalid |= digit | (9 - digit)
        value = value * 10 + digit
    return value if invalid >= 0 else -1


@helper
def parse_date(at: int, end: int) -> int:
    """Return the days since 1970 of ``2020-12-30``, which is ten bytes; or INVALID."""
    if end - at < 10 or load(at + 4, types.uint8) != 45 or load(at + 7, types.uint8) != 45:
        return INVALID
    y, m, d = _parse_digits(at, 4), _parse_digits(at + 5, 2), _parse_digits(at + 8, 2)
    if y < 0 or m < 1 or m > 12 or d < 1:
        return INVALID
    leap = y % 4 == 0 and (y % 100 != 0 or y % 400 == 0)
    length = 31
    if m == 2:
        length = 29 if leap else 28
    elif m in (4, 6, 9, 11):
        length = 30
    if d > length:
        return INVALID
    shifted = y - 1 + 400  # not negative, so that division rounds down
    months = (367 * m - 362) // 12 - (0 if m <= 2 else 1 if leap else 2)
    return shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400 + months + d - 719_163 - 146_097


@helper
def parse_time(at: int, end: int) -> tuple[int, int]:
    """Return the nanoseconds since midnight of ``12:13:14`` or ``12:13:14.5``, or INVALID; and where it ends."""
    if end - at < 8 or load(at + 2, types.uint8) != 58 or load(at + 5, types.uint8) != 58:
        return INVALID, at
    h, m, s = _parse_digits(at, 2), _parse_digits(at + 3, 2), _parse_digits(at + 6, 2)
    if h < 0 or h > 23 or m < 0 or m > 59 or s < 0 or s > 59:
        return INVALID, at
    at += 8
    fraction, unit = 0, 1_000_000_000
    if at < end and load(at, types.uint8) == 46:
        at += 1
        while at < end:
            digit = types.int64(load(at, types.uint8)) - 48
            if digit < 0 or digit > 9:
                break
            if unit == 1:
                return INVALID, at
            fraction = fraction * 10 + digit
            unit //= 10
            at += 1
    return ((h * 60 + m) * 60 + s) * 1_000_000_000 + fraction * unit, at


@helper
def parse_timestamp(at: int, end: int, separator: int, utc: bool) -> tuple[int, int]:
    """Return the microseconds since 1970 of ``2020-12-30 12:13:14.5``, or INVALID; and where it ends.

    Args:
        separator: the byte between date and time.
        utc: whether a ``Z`` must follow.
    """
    days = parse_date(at, end)
    if days == INVALID or end - at < 19 or load(at + 10, types.uint8) != separator:
        return INVALID, at
    nanos, at = parse_time(at + 11, end)
    if nanos == INVALID:
        return INVALID, at
    if utc:
        if at >= end or load(at, types.uint8) != 90:
            return INVALID, at
        at += 1
    return days * (_SECONDS_PER_DAY * 1_000_000) + nanos // 1000, at


@helper
def decode_base64(at: int, end: int, target: int) -> tuple[int, int]:
    """Decode groups of four base64 characters, up to the first with padding or another character.

    Returns:
        where the text and the bytes end.
    """
    while end - at >= 4:
        a, b, c, d = (
            types.int64(_BASE64[load(at, types.uint8)]),
            types.int64(_BASE64[load(at + 1, types.uint8)]),
            types.int64(_BASE64[load(at + 2, types.uint8)]),
            types.int64(_BASE64[load(at + 3, types.uint8)]),
        )
        if a >= _PAD or b >= _PAD or c == _NOT_BASE64 or d == _NOT_BASE64 or (c == _PAD and d != _PAD):
            break
        store(target, types.uint8((a << 2) | (b >> 4)))
        target += 1
        if c != _PAD:
            store(target, types.uint8(((b & 15) << 4) | (c >> 2)))
            target += 1
        if d != _PAD:
            store(target, types.uint8(((c & 3) << 6) | d))
            target += 1
        at += 4
        if d == _PAD:
            break
    return at, target
