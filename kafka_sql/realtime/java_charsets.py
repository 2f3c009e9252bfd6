"""Name the character sets that Java and Python read and write alike."""

from __future__ import annotations

from typing import Final

_NAMES: Final = {
    "ascii": "US-ASCII",
    "koi8-r": "KOI8-R",
    **{f"utf-{bits}": f"UTF-{bits}" for bits in (8, 16, 32)},
    **{f"utf-{bits}-{order}": f"UTF-{bits}{order.upper()}" for bits in (16, 32) for order in ("be", "le")},
    **{f"iso8859-{part}": f"ISO-8859-{part}" for part in (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 15)},
    **{f"cp125{number}": f"windows-125{number}" for number in range(9)},
}


def java_charset(codec: str) -> str | None:
    """Return Java's name of a character set; None if Java reads or writes some of its characters differently.

    Args:
        codec: the name of Python's codec.
    """
    return _NAMES.get(codec)
