"""Texts that are expensive to read for a parser that tries several ways: of numbers, times, base64 and strings.

Each is a function of a number of characters. Many are valid, or valid up to their last character.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

Text = Callable[[int], str]


def _text(before: str, part: str, after: str = "") -> Text:
    return lambda size: before + part * max((size - len(before) - len(after)) // len(part), 1) + after


def _followed_by_letter(text: Text) -> Text:
    return lambda size: text(size - 1) + "x"


NUMBERS: Final[dict[str, Text]] = {
    "digits": _text("", "9"),
    "negative digits": _text("-", "9"),
    "zeros": _text("", "0", "1"),
    "digits of a fraction": _text("0.", "3"),
    "digits before and after the point": lambda size: "1" * (size // 2) + "." + "1" * (size // 2),
    "zeros of a fraction": _text("0.", "0", "1"),
    "trailing zeros": _text("1.5", "0"),
    "digits and a large negative exponent": lambda size: "7" * size + f"e-{size}",
    "zeros and a large exponent": lambda size: "0." + "0" * size + f"7e{size}",
    "digits of an exponent": _text("1e", "9"),
    "digits of a negative exponent": _text("1e-", "9"),
    "digits and a point": _text("", "9", "."),
    "zeros and an exponent": _text("", "0", "e1"),
    "only zeros of an exponent": _text("1e", "0"),
    "zeros of an exponent": _text("1e", "0", "1"),
    "exponents": _text("1", "e1"),
    "points": _text("", "1."),
    "signs": _text("", "-", "1"),
    "signed numbers": _text("", "+1"),
    "hexadecimal digits": _text("0x", "f"),
    "hexadecimal fraction": _text("0x", "f", ".fp-1"),
    "hexadecimal exponent": _text("0x1p", "9"),
    "digits of other scripts": _text("", "\u0663"),
    "suffixes": _text("1", "f"),
}
TIMES: Final[dict[str, Text]] = {
    "fraction of a timestamp": _text("2020-01-01 00:00:00.", "9"),
    "fraction of an ISO timestamp": _text("2020-01-01T00:00:00.", "9", "Z"),
    "fraction of a time": _text("12:13:14.", "0"),
    "year": _text("+", "9", "-01-01"),
    "negative year": _text("-", "0", "-01-01 00:00:00Z"),
    "offset": _text("2020-01-01T00:00:00+", "09:"),
    "dates": _text("", "2020-01-01-"),
}
STRINGS: Final[dict[str, Text]] = {
    "base64": _text("", "AAAA"),
    "base64 without padding": _text("", "AAAA", "A"),
    "padding": _text("", "="),
    "padded groups": _text("", "AA=="),
    "groups and white space": _text("", "AAAA  "),
    "base64 after white space": _text("", " ", "AAA"),
    "spaces": _text("", " "),
    "spaces around": lambda size: " " * (size // 2) + "true" + " " * (size // 2),
    "true": _text("", "true"),
    "control characters": _text("", "\x01"),
    "quotes": _text("", '"'),
    "backslashes": _text("", "\\"),
    "line ends": _text("", "\r\n"),
    "letters": _text("", "x"),
    "accents": _text("", "\u00e9"),
    "emoji": _text("", "\U0001f600"),
    "semicolons": _text("", ";"),
    "elements": _text("1", ";1"),
    "names": _text("", "NaN"),
    "infinity": _text("-", "Infinity"),
}
_VALID: Final = {**NUMBERS, **TIMES, **STRINGS}
TEXTS: Final = {**_VALID, **{f"{name}, and a letter": _followed_by_letter(text) for name, text in _VALID.items()}}

COLUMNS: Final = pa.schema(
    [
        ("b", pa.bool_()),
        ("i8", pa.int8()),
        ("i16", pa.int16()),
        ("i32", pa.int32()),
        ("i64", pa.int64()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("n", pa.decimal128(10, 2)),
        ("w", pa.decimal128(38, 18)),
        ("s", pa.string()),
        ("y", pa.binary()),
        ("day", pa.date32()),
        ("t", pa.time64("ns")),
        ("ts", pa.timestamp("us")),
        ("ltz", pa.timestamp("us", "UTC")),
        ("a", pa.list_(pa.decimal128(10, 2))),
        ("r", pa.struct([("p", pa.float64()), ("q", pa.string())])),
    ]
)
