"""Record a command in a terminal for asciinema: ``python -m tools.record FILE COMMAND...``.

``make recording`` records the demo to docs/demo.cast. Format: asciicast v2
(https://docs.asciinema.org/manual/asciicast/v2/), a JSON header line, then a line per output:
``[seconds, "o", text]``.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pexpect

from tools.terminal import start

WIDTH: Final = 120
HEIGHT: Final = 36
PAUSE: Final = 2.0  # maximum idle seconds during playback
_HOLD: Final = 0.2  # seconds until an incomplete line, such as a prompt, is recorded
_SPARK_MESSAGE: Final = re.compile(
    "WARNING: Using incubator|Using Spark's default|Setting default log|To adjust logging|[^ ]+ [^ ]+ WARN "
)


class SparkMessageFilter:
    """Removes the lines that Spark prints about itself and the machine, from output that is read in parts."""

    def __init__(self) -> None:
        """Start at the beginning of a line."""
        self._incomplete, self._is_line_start = "", True

    def feed(self, text: str) -> str:
        """Add output. Return the lines that are now complete, without Spark's messages."""
        *lines, self._incomplete = (self._incomplete + text).split("\n")
        shown = []
        for line in lines:
            if not (self._is_line_start and _SPARK_MESSAGE.match(line)):
                shown.append(f"{line}\n")
            self._is_line_start = True
        return "".join(shown)

    @property
    def has_incomplete_line(self) -> bool:
        """Whether there is an incomplete line that is not one of Spark's messages."""
        return bool(self._incomplete) and not (self._is_line_start and _SPARK_MESSAGE.match(self._incomplete))

    def flush(self) -> str:
        """Return the incomplete line, unless it is one of Spark's messages."""
        if not self.has_incomplete_line:
            return ""
        text, self._incomplete, self._is_line_start = self._incomplete, "", False
        return text


def record(command: list[str], title: str, timeout: float = 1800) -> Iterator[str]:
    """Yield the lines of a recording while the command runs.

    Args:
        command: the command line.
        title: title of the recording.
        timeout: maximum seconds without output.

    Raises:
        RuntimeError: the command failed.
        pexpect.TIMEOUT: it printed nothing for too long.
    """
    header = {"version": 2, "width": WIDTH, "height": HEIGHT, "title": title, "idle_time_limit": PAUSE}
    yield json.dumps(header)
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(WIDTH), "LINES": str(HEIGHT)}
    program, terminal = start(command, HEIGHT, WIDTH, env)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a character may be split between two reads
    messages, started, is_open = SparkMessageFilter(), time.monotonic(), True
    while is_open:
        holds = messages.has_incomplete_line
        try:
            text = messages.feed(decoder.decode(terminal.read_nonblocking(4096, _HOLD if holds else timeout)))
        except pexpect.TIMEOUT:
            if not holds:
                raise
            text = messages.flush()
        except pexpect.EOF:
            text, is_open = messages.flush(), False
        if text:
            yield json.dumps([round(time.monotonic() - started, 3), "o", text], ensure_ascii=False)
    terminal.close()
    if program.wait(timeout):
        raise RuntimeError(f"{' '.join(command)} exited with {program.returncode}")


def main(arguments: list[str]) -> None:
    """Write the recording to a file, and print the output."""
    path, command = Path(arguments[0]), arguments[1:]
    lines = []
    for line in record(command, "kafka_sql: make demo"):
        lines.append(line)
        event = json.loads(line)
        if isinstance(event, list):
            print(event[2], end="", flush=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
