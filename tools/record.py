"""A recording of a command in a terminal, as asciinema plays it: ``python -m tools.record FILE COMMAND...``.

``make recording`` writes docs/demo.cast of the demo. Format: asciicast v2
(https://docs.asciinema.org/manual/asciicast/v2/), a JSON line of facts and then one for each output:
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
# what Spark says of itself and of the machine while it starts
SPARKS_OWN: Final = re.compile(
    r"^(?:WARNING: Using incubator|Using Spark's default|Setting default log|To adjust logging|\S+ \S+ WARN )"
    r".*(?:\n|\Z)",
    re.MULTILINE,
)
PAUSE: Final = 2.0  # seconds that a viewer waits at most


def record(command: list[str], title: str, patience: float = 1800) -> Iterator[str]:
    """The lines of a recording while the command runs.

    Args:
        patience: seconds in which something must come.

    Raises:
        RuntimeError: the command failed.
    """
    header = {"version": 2, "width": WIDTH, "height": HEIGHT, "title": title, "idle_time_limit": PAUSE}
    yield json.dumps(header)
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(WIDTH), "LINES": str(HEIGHT)}
    program, terminal = start(command, HEIGHT, WIDTH, env)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a letter may come in two pieces
    began = time.monotonic()
    while True:
        try:
            text = SPARKS_OWN.sub("", decoder.decode(terminal.read_nonblocking(4096, patience)))
        except pexpect.EOF:
            break
        if text:
            yield json.dumps([round(time.monotonic() - began, 3), "o", text], ensure_ascii=False)
    terminal.close()
    if program.wait(patience):
        raise RuntimeError(f"{' '.join(command)} ended with {program.returncode}")


def main(arguments: list[str]) -> None:
    """Write a file and show the output meanwhile."""
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
