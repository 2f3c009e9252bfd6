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
# messages of Spark about itself and the machine during start-up
SPARK_MESSAGES: Final = re.compile(
    r"^(?:WARNING: Using incubator|Using Spark's default|Setting default log|To adjust logging|\S+ \S+ WARN )"
    r".*(?:\n|\Z)",
    re.MULTILINE,
)
PAUSE: Final = 2.0  # maximum idle seconds during playback


def record(command: list[str], title: str, timeout: float = 1800) -> Iterator[str]:
    """Yield the lines of a recording while the command runs.

    Args:
        command: the command line.
        title: title of the recording.
        timeout: maximum seconds without output.

    Raises:
        RuntimeError: the command failed.
    """
    header = {"version": 2, "width": WIDTH, "height": HEIGHT, "title": title, "idle_time_limit": PAUSE}
    yield json.dumps(header)
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(WIDTH), "LINES": str(HEIGHT)}
    program, terminal = start(command, HEIGHT, WIDTH, env)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a character may be split between two reads
    started = time.monotonic()
    while True:
        try:
            text = SPARK_MESSAGES.sub("", decoder.decode(terminal.read_nonblocking(4096, timeout)))
        except pexpect.EOF:
            break
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
