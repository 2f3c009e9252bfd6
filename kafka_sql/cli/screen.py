"""Print results to standard output, and messages and a temporary progress line to standard error."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

from kafka_sql.cli.rows import escape_text, escape_value

_PROGRESS_AFTER = 1.0  # seconds until progress is shown
_WIDTH = 24  # characters of the progress bar


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
