"""A terminal with a program in it, for tests of what a person sees."""

from __future__ import annotations

import re
import subprocess
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
        self.screen.write_process_input = self._terminal.send  # answers to questions such as where the cursor is
        self._stream = pyte.ByteStream(self.screen)

    @property
    def text(self) -> str:
        """The lines of the screen without the empty ones below."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def wait(self, pattern: str, timeout: float = 60) -> re.Match[str]:
        """Wait until the screen matches, and give the match."""
        end = _Deadline(timeout)
        while (found := re.search(pattern, self.text)) is None:
            try:
                self._stream.feed(self._terminal.read_nonblocking(4096, end.left()))
            except pexpect.TIMEOUT:
                raise AssertionError(f"{pattern!r} is not on the screen after {timeout} s:\n{self.text}") from None
            except pexpect.EOF:
                raise AssertionError(f"the program ended without {pattern!r}:\n{self.text}") from None
        return found

    def send(self, keys: str) -> None:
        """Press keys."""
        self._terminal.send(keys)

    def clear(self) -> None:
        """Forget what stands on the screen so far, so that the next ``wait`` cannot see it. The cursor keeps its
        column, which programs reckon with.
        """
        column = self.screen.cursor.x
        self.screen.reset()
        self.screen.cursor_to_column(column + 1)

    def end(self, timeout: float = 60) -> int:
        """The exit code, when the program has ended by itself."""
        end = _Deadline(timeout)
        try:
            while True:
                self._stream.feed(self._terminal.read_nonblocking(4096, end.left()))
        except pexpect.EOF:
            return self._program.wait(end.left())

    def close(self) -> None:
        """Take the terminal away, and the program with it."""
        self._terminal.close()
        try:
            self._program.wait(10)
        except subprocess.TimeoutExpired:
            self._program.kill()


class _Deadline:
    def __init__(self, seconds: float) -> None:
        import time

        self._clock = time.monotonic
        self._end = self._clock() + seconds

    def left(self) -> float:
        return max(self._end - self._clock(), 0.01)
