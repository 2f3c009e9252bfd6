"""Run a program in a terminal, for tests of what users see."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping

import pexpect
import pyte

from tools.terminal import start


class Terminal:
    """A program on a pseudo terminal of 100 columns, and its screen."""

    def __init__(self, command: list[str], env: Mapping[str, str], cwd: str, rows: int = 50) -> None:
        """Start the program."""
        self._program, self._terminal = start(command, rows, 100, env, cwd)
        self.screen = pyte.Screen(100, rows)
        self.screen.write_process_input = self._terminal.send  # responses to queries such as the cursor position
        self._stream = pyte.ByteStream(self.screen)

    @property
    def text(self) -> str:
        """The lines of the screen, without trailing empty ones."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def wait(self, pattern: str, timeout: float = 60) -> re.Match[str]:
        """Wait until the screen matches, and return the match."""
        deadline = _Deadline(timeout)
        while (match := re.search(pattern, self.text)) is None:
            try:
                self._stream.feed(self._terminal.read_nonblocking(4096, deadline.remaining()))
            except pexpect.TIMEOUT:
                raise AssertionError(f"{pattern!r} is not on the screen after {timeout} s:\n{self.text}") from None
            except pexpect.EOF:
                raise AssertionError(f"the program ended without {pattern!r}:\n{self.text}") from None
        return match

    def send(self, keys: str) -> None:
        """Press keys."""
        self._terminal.send(keys)

    def clear(self) -> None:
        """Clear the screen, so that the next ``wait`` does not match old output.

        The cursor stays in its column, because programs write relative to it.
        """
        column = self.screen.cursor.x
        self.screen.reset()
        self.screen.cursor_to_column(column + 1)

    def wait_for_exit(self, timeout: float = 60) -> int:
        """Wait until the program exits, and return its exit code."""
        deadline = _Deadline(timeout)
        try:
            while True:
                self._stream.feed(self._terminal.read_nonblocking(4096, deadline.remaining()))
        except pexpect.EOF:
            return self._program.wait(deadline.remaining())

    def close(self) -> None:
        """Close the terminal, which ends the program."""
        self._terminal.close()
        try:
            self._program.wait(10)
        except subprocess.TimeoutExpired:
            self._program.kill()


class _Deadline:
    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def remaining(self) -> float:
        return max(self._end - time.monotonic(), 0.01)
