"""Standard output for results, standard error for all else; one line there tells the progress and goes away again."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable

_PATIENCE = 1.0  # seconds before progress is worth a line
_WIDTH = 24  # of the bar


class Screen:
    """What is printed, from any thread."""

    def __init__(self, silent: bool = False) -> None:
        self.silent = silent
        self._lock = threading.Lock()
        self._drawn = False
        self._terminal = sys.stderr.isatty()

    def rows(self, lines: list[str]) -> None:
        """Results."""
        with self._lock:
            self._erase()
            sys.stdout.write("\n".join(lines) + "\n" if lines else "")
            sys.stdout.flush()

    def info(self, text: str) -> None:
        """What a silent shell does not say."""
        if not self.silent:
            self.error(text)

    def error(self, text: str) -> None:
        """What is always said."""
        with self._lock:
            self._erase()
            print(text, file=sys.stderr, flush=True)

    def status(self, text: str, wanted: Callable[[], bool] = lambda: True) -> None:
        """Show a line until something else is printed; on terminals only.

        Args:
            wanted: asked while nobody else prints; what was printed since the text was made may have made it old.
        """
        if not self._terminal or self.silent:
            return
        with self._lock:
            if wanted():
                width = shutil.get_terminal_size().columns - 1
                sys.stderr.write(f"\r\x1b[K{text[:width]}")
                sys.stderr.flush()
                self._drawn = True

    def clear(self) -> None:
        """Take the line away."""
        with self._lock:
            self._erase()

    def _erase(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False


def progress_bar(done: int, total: int, since: float) -> str | None:
    """A line about a statement that has been at work since ``since`` (of ``time.monotonic``); None if it is early."""
    seconds = time.monotonic() - since
    if seconds < _PATIENCE:
        return None
    if total == 0:
        return f"{seconds:.0f} s"
    filled = _WIDTH * done // total
    return f"[{'=' * filled}{' ' * (_WIDTH - filled)}] {done}/{total} tasks, {seconds:.0f} s"
