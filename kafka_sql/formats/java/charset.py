"""Character sets by their Java names, with Java's treatment of what does not fit them."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final

_UTF_8: Final = codecs.lookup("utf-8").name
# A surrogate in UTF-8 is one malformed character in Java, and two or three in Python.
_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_REPLACEMENT: Final = "\ufffd".encode()
# Codecs of Python's that are no character sets.
_NOT_CHARSETS: Final = frozenset({"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"})
# Without a byte order mark, Java takes the bytes to be big-endian. It writes a mark for UTF-16 alone.
_MARKED: Final = {
    "utf-16": ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
    "utf-32": ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")),
}


@dataclass(frozen=True)
class Charset:
    """A character set.

    Attributes:
        name: Python's name of it.
    """

    name: str

    @classmethod
    def named(cls, java_name: str) -> Charset:
        """The character set of a Java name.

        Raises:
            ValueError: there is none of that name.
        """
        try:
            name = codecs.lookup(java_name).name
            "a".encode(name)  # refuses codecs that are not between text and bytes
        except (LookupError, UnicodeError) as e:
            raise ValueError("expected the name of a character set such as 'UTF-8' or 'ISO-8859-1'") from e
        if name in _NOT_CHARSETS:
            raise ValueError("expected the name of a character set such as 'UTF-8' or 'ISO-8859-1'")
        return cls(name)

    @property
    def is_utf8(self) -> bool:
        """Whether texts need no conversion."""
        return self.name == _UTF_8

    def decode(self, payload: bytes) -> str:
        """A payload as text, with U+FFFD for what is malformed."""
        if self.is_utf8:
            payload = _SURROGATE.sub(_REPLACEMENT, payload)
        for mark, name in _MARKED.get(self.name, ()):
            if payload.startswith(mark):
                return payload[len(mark) :].decode(name, "replace")
        return payload.decode(self._unmarked, "replace")

    def encode(self, text: str) -> bytes:
        """A text as payload, with ``?`` for what the character set does not have."""
        mark = codecs.BOM_UTF16_BE if self.name == "utf-16" and text else b""
        return mark + text.encode(self._unmarked, "replace")

    @property
    def _unmarked(self) -> str:
        return f"{self.name}-be" if self.name in _MARKED else self.name
