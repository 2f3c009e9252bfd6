"""Encode and decode text in a character set, with Java's names and Java's handling of malformed bytes."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final

_UTF_8: Final = codecs.lookup("utf-8").name
# Java replaces a surrogate in UTF-8 with one U+FFFD, Python with two or three.
_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_REPLACEMENT: Final = "\ufffd".encode()
# Python codecs that are not character sets.
_NOT_CHARSETS: Final = frozenset({"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"})
# Java reads bytes without a byte order mark as big-endian. It writes a mark for UTF-16 only.
_BYTE_ORDER_MARKS: Final = {
    "utf-16": ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
    "utf-32": ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")),
}
# Java's names, by those of the Python codec, of the character sets that both read and write alike.
_JAVA_NAMES: Final = {
    "ascii": "US-ASCII",
    "koi8-r": "KOI8-R",
    **{f"utf-{bits}": f"UTF-{bits}" for bits in (8, 16, 32)},
    **{f"utf-{bits}-{order}": f"UTF-{bits}{order.upper()}" for bits in (16, 32) for order in ("be", "le")},
    **{f"iso8859-{part}": f"ISO-8859-{part}" for part in (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 15)},
    **{f"cp125{number}": f"windows-125{number}" for number in range(9)},
}


@dataclass(frozen=True)
class Charset:
    """A character set."""

    name: str  # of the Python codec

    @classmethod
    def from_java_name(cls, java_name: str) -> Charset:
        """Return the character set with a Java name.

        Raises:
            ValueError: Python has no character set with this name.
        """
        try:
            name = codecs.lookup(java_name).name
            "a".encode(name)  # rejects codecs that do not convert text to bytes
        except (LookupError, UnicodeError) as e:
            raise ValueError("expected the name of a character set such as 'UTF-8' or 'ISO-8859-1'") from e
        if name in _NOT_CHARSETS:
            raise ValueError("expected the name of a character set such as 'UTF-8' or 'ISO-8859-1'")
        return cls(name)

    @property
    def is_utf8(self) -> bool:
        """Whether this is UTF-8, in which Arrow stores strings."""
        return self.name == _UTF_8

    @property
    def java_name(self) -> str | None:
        """Java's name; None if Java reads or writes some characters differently."""
        return _JAVA_NAMES.get(self.name)

    def decode(self, payload: bytes) -> str:
        """Decode a payload, with U+FFFD for malformed bytes."""
        if self.is_utf8:
            payload = _SURROGATE.sub(_REPLACEMENT, payload)
        for mark, name in _BYTE_ORDER_MARKS.get(self.name, ()):
            if payload.startswith(mark):
                return payload[len(mark) :].decode(name, "replace")
        return payload.decode(self._codec_without_mark, "replace")

    def encode(self, text: str) -> bytes:
        """Encode a string, with ``?`` for characters that the character set lacks."""
        mark = codecs.BOM_UTF16_BE if self.name == "utf-16" and text else b""
        return mark + text.encode(self._codec_without_mark, "replace")

    @property
    def _codec_without_mark(self) -> str:
        return f"{self.name}-be" if self.name in _BYTE_ORDER_MARKS else self.name
