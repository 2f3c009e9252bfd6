"""Lines of CSV that are expensive to read: a text in every value, and whole lines.

A line is a function of its number of bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.unit.formats.growth import repeated
from tests.unit.formats.hostile_texts import Text

Bytes = Callable[[int], bytes]


def in_all_values(columns: int, text: Text, quoted: bool = False) -> Bytes:
    """Return a line with a text in each column."""

    def line(size: int) -> bytes:
        value = text(size // columns)
        if quoted:
            value = '"' + value.replace('"', '""') + '"'
        return ",".join([value] * columns).encode()

    return line


def lines(columns: int) -> dict[str, Bytes]:
    """Return lines for a table whose last two columns are an ARRAY and a ROW."""
    before = b"1," * (columns - 2)
    return {
        "separators": repeated(b"", b","),
        "values": repeated(b"", b"1,"),
        "quotes": repeated(b"", b'"'),
        "an odd quote": repeated(b"1", b'"'),
        "quote without end": repeated(b'"', b"x"),
        "quoted separators": repeated(b'1,"', b",", b'"'),
        "quoted line ends": repeated(b'1,"', b"\r\n", b'"'),
        "blanks after a quote": repeated(b'"x"', b" "),
        "blanks after a quote, and a letter": repeated(b'"x"', b" ", b"y"),
        "escapes": repeated(b"1,", b"\\"),
        "escaped escapes and a quote": repeated(b'1,"', b"\\\\", b'"'),
        "comments": repeated(b"", b"# \n", b"1,2"),
        "a comment": repeated(b"#", b"x", b"\n1,2"),
        "lines": repeated(b"", b"1,2\n"),
        "blanks": repeated(b"", b" "),
        "line ends": repeated(b"", b"\r\n"),
        "zeros": repeated(b"", b"\0"),
        "bytes that are not UTF-8": repeated(b"1,", b"\xff"),
        "UTF-16": lambda size: ("x," * (size // 4)).encode("utf-16"),
        "UTF-32": lambda size: ("x" * (size // 4)).encode("utf-32"),
        "elements": repeated(before, b"1;", b",1"),
        "elements that are no numbers": repeated(before, b"x;", b",1"),
        "empty elements": repeated(before, b";", b",1"),
        "blank elements": repeated(before, b" ;", b",1"),
        "fields of a ROW": repeated(before + b"1,", b"1;"),
    }
