"""A program on a pseudo terminal of its own."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Mapping
from typing import Final

from pexpect.fdpexpect import fdspawn

# the leader of a new session takes the first terminal that it opens as its own
_TAKE_TERMINAL: Final = 'exec 3<>"$0"; exec 3>&-; exec "$@"'


def start(
    command: list[str],
    rows: int,
    columns: int,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> tuple[subprocess.Popen[bytes], fdspawn]:
    """The program, and its terminal's other end.

    Not by ``pexpect.spawn``: it forks and runs Python in the child, which hangs for ever where a thread of the parent
    held a lock at that moment. A test process has many (gRPC, librdkafka, coverage).
    """
    ours, theirs = pty.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        program = subprocess.Popen(
            ["/bin/sh", "-c", _TAKE_TERMINAL, os.ttyname(theirs), *command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env=env,
            cwd=cwd,
        )
    finally:
        os.close(theirs)
    return program, fdspawn(ours)
