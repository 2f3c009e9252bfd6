"""Format the rows of a result as lines of text, from which each value can be read back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from kafka_sql.sql.recognize import lexer

Rows: TypeAlias = Sequence[Sequence[str | None]]  # each value as a text, None for NULL

# The names of PostgreSQL's COPY and of mysql --batch. Terminals execute other control characters, so they are hidden.
_NAMED: Final = {"\b": r"\b", "\t": r"\t", "\n": r"\n", "\f": r"\f", "\r": r"\r", "\\": r"\\"}
_CONTROLS: Final = {
    **{code: rf"\x{code:02x}" for code in (*range(0x20), 0x7F)},
    **{code: rf"\u{code:04x}" for code in range(0x80, 0xA0)},
    **{0xDC00 + byte: rf"\x{byte:02x}" for byte in range(0x80, 0x100)},  # of bytes_text
}
_VALUE: Final = {**_CONTROLS, **str.maketrans(_NAMED)}
_TEXT: Final = {code: escape for code, escape in _CONTROLS.items() if chr(code) not in "\t\n"}

_NULL: Final = "NULL"

# statements that return a text of several lines, by their first words
_TEXT_STATEMENTS: Final = (("EXPLAIN",), ("SHOW", "CREATE"), ("DESCRIBE", "FUNCTION"), ("DESC", "FUNCTION"))
_DESCRIBE_COLUMNS: Final = ["col_name", "data_type", "comment"]
_DESCRIBE_WIDTH: Final = 20  # characters


def bytes_text(value: bytes) -> str:
    r"""Return bytes as UTF-8. Bytes that are not UTF-8 become surrogates, which are printed as ``\xff``."""
    return value.decode("utf-8", "surrogateescape")


def escape_text(text: str) -> str:
    """Replace the characters that a terminal executes, except for tabs and line breaks."""
    return text.translate(_TEXT)


def escape_value(value: str) -> str:
    """Replace control characters and backslashes."""
    return value.translate(_VALUE)


def format_line(row: Sequence[str | None]) -> str:
    r"""Return a row as values with tabs between them, as PostgreSQL's COPY does with ``NULL 'NULL'``.

    So the text ``NULL`` is printed as ``\NULL``.
    """
    return "\t".join(
        _NULL if value is None else rf"\{_NULL}" if value == _NULL else escape_value(value) for value in row
    )


def format_lines(rows: Rows, statement: str, columns: Sequence[str]) -> list[str]:
    """Return the rows of a statement, one string per row.

    Rows of EXPLAIN, SHOW CREATE and DESCRIBE FUNCTION are texts of several lines, which stay readable. Columns of
    Spark's DESCRIBE are padded, as in spark-sql.
    """
    if returns_text(statement):
        return [escape_text("\t".join(_NULL if value is None else value for value in row)) for row in rows]
    if columns == _DESCRIBE_COLUMNS:
        return [format_line([(value or "").ljust(_DESCRIBE_WIDTH) for value in row]) for row in rows]
    return [format_line(row) for row in rows]


def returns_text(statement: str) -> bool:
    """Return whether a statement returns a text of several lines."""
    tokens = lexer.tokenize_spark(statement)
    words = tuple(token.upper for token, _ in zip(tokens, range(2), strict=False))
    return words[:1] in _TEXT_STATEMENTS or words in _TEXT_STATEMENTS
