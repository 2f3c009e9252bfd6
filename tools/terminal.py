"""Run a program in a new pseudo terminal."""

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

# the first terminal that a session leader opens becomes its controlling terminal
_ACQUIRE_TERMINAL: Final = 'exec 3<>"$0"; exec 3>&-; exec "$@"'


def start(
    command: list[str],
    rows: int,
    columns: int,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> tuple[subprocess.Popen[bytes], fdspawn]:
    """Start a program, and return it with the other end of its terminal.

    ``pexpect.spawn`` is not used: it forks and runs Python in the child, which hangs if a thread of the parent held a
    lock at that time. Test processes have many threads (gRPC, librdkafka, coverage).
    """
    controller, terminal = pty.openpty()
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        program = subprocess.Popen(
            ["/bin/sh", "-c", _ACQUIRE_TERMINAL, os.ttyname(terminal), *command],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
            env=env,
            cwd=cwd,
        )
    finally:
        os.close(terminal)
    return program, fdspawn(controller)
