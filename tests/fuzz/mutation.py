"""Mutate bytes and text randomly."""

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
    """Return the payload with one to four random changes."""
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
_TOKEN: Final = re.compile(r"\w+|\s+|.", re.DOTALL)


def mutate_text(rng: random.Random, text: str, words: Sequence[str]) -> str:
    """Return the text with one to five random changes of words and characters.

    Args:
        rng: random number generator.
        text: the text.
        words: words that may be inserted.
    """
    tokens = _TOKEN.findall(text)
    for _ in range(rng.randint(1, 5)):
        at = rng.randint(0, len(tokens))
        match rng.randrange(10):
            case 0:
                del tokens[at : at + rng.randint(1, 5)]
            case 1:
                tokens[at:at] = tokens[at : at + rng.randint(1, 8)]
            case 2 | 3:
                tokens[at:at] = [" ", rng.choice(words), " "]
            case 4 if at < len(tokens):
                tokens[at] = rng.choice(words)
            case 5:
                tokens[at:at] = [rng.choice(_CHARACTERS)]
            case 6 if at < len(tokens):
                tokens[at] = rng.choice((*_CHARACTERS, *_NUMBERS))
            case 7:
                del tokens[at:]
            case 8:
                other = rng.randint(0, len(tokens))
                tokens[at:at] = tokens[min(at, other) : max(at, other)][:200]
            case 9:
                tokens[at:at] = [rng.choice(_CHARACTERS)] * rng.choice((2, 10, 60, 300))
    return "".join(tokens)


def lengthen(rng: random.Random, text: str, size: int) -> str:
    """Return the text with a short part of it, or a character, repeated up to a size, to find quadratic run times."""
    at = rng.randint(0, len(text))
    piece = text[at : at + rng.randint(1, 12)] if rng.random() < 0.6 else rng.choice(_CHARACTERS)
    return text[:at] + (piece or " ") * (size // max(len(piece), 1)) + text[at:]
