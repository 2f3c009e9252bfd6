"""Random changes of bytes and of text."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Final

_BYTES: Final = (
    b"\0",
    b"\n",
    b"\r",
    b'"',
    b"'",
    b",",
    b";",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\\",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\x80",
)


def mutate(rng: random.Random, payload: bytes) -> bytes:
    """The payload with one to four random changes."""
    data = bytearray(payload)
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(data))
        match rng.randrange(7):
            case 0:
                del data[at : at + rng.randint(1, 4)]
            case 1:
                data[at:at] = rng.choice(_BYTES)
            case 2:
                data[at:at] = rng.randbytes(rng.randint(1, 9))
            case 3 if at < len(data):
                data[at] ^= 1 << rng.randrange(8)
            case 4 if at < len(data):
                data[at] = rng.choice((0, 1, 2, 127, 128, 255))
            case 5:
                del data[at:]
            case 6:
                data[at:at] = data[: rng.randint(0, len(data))]
    return bytes(data)


_CHARACTERS: Final = (
    *"\0\n\r\t '\"`\\/*-;,.:=()<>[]{}$#@!%0",
    *("\u00e9", "\u0130", "\u0661", "\u00b2", "\u2028", "\ufeff", "\U0001f600", "\ud800"),
    *("${", "}", "/*", "*/", "--", "//"),
)
_NUMBERS: Final = ("0", "-1", "00", "2147483648", "9223372036854775808", "1e400", "0x1F", "9" * 30, "9" * 5000)
_PIECE: Final = re.compile(r"\w+|\s+|.", re.DOTALL)


def mutate_text(rng: random.Random, text: str, words: Sequence[str]) -> str:
    """The text with one to five random changes of its words and signs.

    Args:
        words: that may come in.
    """
    pieces = _PIECE.findall(text)
    for _ in range(rng.randint(1, 5)):
        at = rng.randint(0, len(pieces))
        match rng.randrange(10):
            case 0:
                del pieces[at : at + rng.randint(1, 5)]
            case 1:
                pieces[at:at] = pieces[at : at + rng.randint(1, 8)]
            case 2 | 3:
                pieces[at:at] = [" ", rng.choice(words), " "]
            case 4 if at < len(pieces):
                pieces[at] = rng.choice(words)
            case 5:
                pieces[at:at] = [rng.choice(_CHARACTERS)]
            case 6 if at < len(pieces):
                pieces[at] = rng.choice((*_CHARACTERS, *_NUMBERS))
            case 7:
                del pieces[at:]
            case 8:
                other = rng.randint(0, len(pieces))
                pieces[at:at] = pieces[min(at, other) : max(at, other)][:200]
            case 9:
                pieces[at:at] = [rng.choice(_CHARACTERS)] * rng.choice((2, 10, 60, 300))
    return "".join(pieces)


def lengthen(rng: random.Random, text: str, size: int) -> str:
    """The text with a short piece of it, or a sign, repeated up to some size: where time grows with the square."""
    at = rng.randint(0, len(text))
    piece = text[at : at + rng.randint(1, 12)] if rng.random() < 0.6 else rng.choice(_CHARACTERS)
    return text[:at] + (piece or " ") * (size // max(len(piece), 1)) + text[at:]
