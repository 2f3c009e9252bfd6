"""Print results to standard output, and messages and a temporary progress line to standard error.

A value can be read back from its text.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, TextIO, TypeAlias

from kafka_sql.sql.recognize import lexer

_PROGRESS_AFTER = 1.0  # seconds until progress is shown
_WIDTH = 24  # characters of the progress bar
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


class Screen:
    """The terminal; may be used from any thread."""

    def __init__(self, silent: bool = False) -> None:
        self.silent = silent
        self._lock = threading.Lock()
        self._has_status_line = False
        self._is_terminal = sys.stderr.isatty()

    def rows(self, lines: list[str]) -> None:
        with self._lock:
            self._erase()
            sys.stdout.write("\n".join(lines) + "\n" if lines else "")
            sys.stdout.flush()

    def info(self, text: str) -> None:
        """Print a message, unless the shell is silent."""
        if not self.silent:
            self.error(text)

    def error(self, text: str) -> None:
        """Print a message, even if the shell is silent."""
        with self._lock:
            self._erase()
            print(escape_text(text), file=sys.stderr, flush=True)

    def line(self, text: str, file: TextIO) -> None:
        """Print a line of a table of the connector print."""
        with self._lock:
            self._erase()
            print(escape_value(text), file=file, flush=True)

    def status(self, text: str, is_current: Callable[[], bool] = lambda: True) -> None:
        """Show a line until something else is printed; on terminals only.

        Args:
            is_current: called while no other thread prints: text printed meanwhile may have made the line obsolete.
        """
        if not self._is_terminal or self.silent:
            return
        with self._lock:
            if is_current():
                width = shutil.get_terminal_size().columns - 1
                sys.stderr.write(f"\r\x1b[K{escape_value(text)[:width]}")
                sys.stderr.flush()
                self._has_status_line = True

    def clear(self) -> None:
        """Remove the status line."""
        with self._lock:
            self._erase()

    def _erase(self) -> None:
        if self._has_status_line:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._has_status_line = False


def progress_bar(completed: int, total: int, start: float) -> str | None:
    """Return the progress of a statement that started at a monotonic time; None during its first second."""
    seconds = time.monotonic() - start
    if seconds < _PROGRESS_AFTER:
        return None
    if total == 0:
        return f"{seconds:.0f} s"
    filled = _WIDTH * completed // total
    return f"[{'=' * filled}{' ' * (_WIDTH - filled)}] {completed}/{total} tasks, {seconds:.0f} s"


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
