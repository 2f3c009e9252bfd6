"""The exact way, first part: the values of a payload's first line, as Jackson's CsvParser finds them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from kafka_sql.formats.csv.options import Dialect

SPACE: Final = "".join(map(chr, range(33)))  # what Java's String.trim removes
_ESCAPES: Final = {"0": "\0", "n": "\n", "r": "\r", "t": "\t"}
_LINE_ENDS: Final = "\r\n"
_END: Final = ""  # where a character is expected and the text has ended


def parse(payload: bytes, dialect: Dialect, columns: int) -> list[str]:
    """The values, at most as many as there are columns.

    Raises:
        ValueError: says why the payload is no CSV.
    """
    try:
        text = _text(payload)
    except UnicodeDecodeError as e:
        raise ValueError(f"is not {e.encoding}: byte 0x{payload[e.start]:02x} at {e.start}") from e
    return _Reader(text, dialect).line(columns)


def _text(payload: bytes) -> str:
    """UTF-8, or UTF-16 or UTF-32 where the first bytes say so (CsvParserBootstrapper)."""
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
        first = [byte != 0 for byte in payload[:4]]
        if first == [False, False, False, True]:
            return payload.decode("utf-32-be")
        if first == [True, False, False, False]:
            return payload.decode("utf-32-le")
    if len(payload) >= 2 and 0 in payload[:2]:
        return payload.decode("utf-16-be" if payload[0] == 0 else "utf-16-le")
    return payload.decode("utf-8")


@lru_cache
def _none_of(*characters: str) -> re.Pattern[str]:
    """As many characters as there are before one of these."""
    ends = re.escape("".join(characters))
    return re.compile(f"[^{ends}]*" if ends else ".*", re.DOTALL)


class _Reader:
    """Reads a text character by character."""

    def __init__(self, text: str, dialect: Dialect) -> None:
        self._text, self._at, self._dialect = text, 0, dialect
        self._plain = _none_of(dialect.separator, dialect.escape, _LINE_ENDS)
        self._plain_in_quotes = _none_of(dialect.quote, dialect.escape)
        self._more = True  # whether another value follows

    def line(self, columns: int) -> list[str]:
        """The values of the first line."""
        if self._dialect.comments:
            self._skip_comments()
        if self._at == len(self._text):
            raise ValueError("is empty: no content to map due to end-of-input")
        values: list[str] = []
        while self._more and len(values) < columns:
            values.append(self._value())
        if len(values) < columns and self._dialect.fail_on_missing:
            raise ValueError(f"has not enough column values: expected {columns}, found {len(values)}")
        if self._more:
            self._rest(columns)
        return values

    def _rest(self, columns: int) -> None:
        """What stands behind the last column."""
        value = self._value()
        if self._dialect.ignore_extra:
            while self._more:
                self._value()
        elif not self._dialect.trailing or value.strip(SPACE) or self._more:
            raise ValueError(f"has too many entries: expected at most {columns}, found also '{value[:20]}'")

    def _skip_comments(self) -> None:
        while (found := self._peek()) and found in "# \r\n":
            self._at += 1
            if found == "#":
                while (inside := self._peek()) and inside not in _LINE_ENDS:
                    self._at += 1

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        found = self._peek()
        self._at += 1
        return found

    def _run(self, characters: re.Pattern[str]) -> str:
        """As many of these characters as there are."""
        match = characters.match(self._text, self._at)
        assert match is not None
        self._at = match.end()
        return match[0]

    def _value(self) -> str:
        if self._dialect.trim:
            while (c := self._peek()) and c in SPACE and c != self._dialect.separator and c not in _LINE_ENDS:
                self._at += 1
        if self._dialect.quote and self._peek() == self._dialect.quote:
            self._at += 1
            return self._quoted()
        found = [self._run(self._plain)]
        while not self._ends(c := self._next()):
            found.append(self._unescaped() if c == self._dialect.escape else c)
            found.append(self._run(self._plain))
        value = "".join(found)
        return value.rstrip(SPACE) if self._dialect.trim else value

    def _quoted(self) -> str:
        found = []
        while True:
            found.append(self._run(self._plain_in_quotes))
            c = self._next()
            if c == self._dialect.quote:
                if self._peek() != self._dialect.quote:
                    break
                self._at += 1
            elif c == _END:
                raise ValueError("is no CSV: missing closing quote for value")
            elif c == self._dialect.escape:
                c = self._unescaped()
            found.append(c)
        while not self._ends(c := self._next()):
            if c > " ":
                raise ValueError(
                    f"is no CSV: unexpected character '{c}': expected column separator character "
                    f"('{self._dialect.separator}') or end-of-line"
                )
        return "".join(found)

    def _ends(self, c: str) -> bool:
        """Whether a value ends at ``c``, and with it perhaps the line."""
        if c == self._dialect.separator:
            return True
        self._more = c != _END and c not in _LINE_ENDS
        return not self._more

    def _unescaped(self) -> str:
        c = self._next()
        if c == _END:
            raise ValueError("is no CSV: unexpected end in escaped character")
        return _ESCAPES.get(c, c)
