"""Run a process that exits with this one, because a ``watchdog`` kills it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from kafka_sql.errors import EmbeddedKafkaError


class WatchedProcess:
    """A process that can be signaled, and started again when it has exited.

    Attributes:
        name: for errors.
        log: file with its output.
        pid: process id; None while it is not running.
    """

    def __init__(self, name: str, log: Path) -> None:
        self.name, self.log = name, log
        self.pid: int | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    def _launch(self, command: Sequence[str], scratch: Path | None, lock_fd: int | None = None) -> None:
        """Start the process in the folder of its log.

        Args:
            scratch: a temporary folder, which is removed when this process exits first.
            lock_fd: a file descriptor that the process inherits.
        """
        # -I -S: isolate the watchdog from the caller's environment and packages; it starts in 20 ms
        watchdog = [sys.executable, "-I", "-S", str(Path(__file__).with_name("watchdog.py")), str(scratch or "")]
        with self.log.open("ab") as output:
            self._log_start = output.tell()
            self._watchdog = subprocess.Popen(
                [*watchdog, *command],
                cwd=self.log.parent,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                start_new_session=True,
                pass_fds=() if lock_fd is None else (lock_fd,),
            )
        assert self._watchdog.stdout is not None
        self.pid = int(self._watchdog.stdout.readline() or 0) or None

    def wait_for_exit(self, seconds: float) -> None:
        """Wait until the process exits, and kill it after ``seconds``."""
        if self._watchdog is None:
            return
        try:
            self._watchdog.wait(seconds)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._watchdog.wait()
        for pipe in (self._watchdog.stdin, self._watchdog.stdout):
            assert pipe is not None
            pipe.close()
        self._watchdog, self.pid = None, None

    def fileno(self) -> int:
        """Return a file descriptor that becomes readable when the process exits, for ``select``."""
        if self._watchdog is None or self._watchdog.stdout is None:
            raise EmbeddedKafkaError(f"{self.name} is not running.")
        return self._watchdog.stdout.fileno()

    def log_tail(self, lines: int = 15) -> str:
        """Return the last lines that the process printed since its last start, without Java stack frames."""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            text = log.read().decode(errors="replace")
        relevant = [
            line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("at ", "... "))
        ]
        return "\n".join(relevant[-lines:]) or "(no output)"

    def _signal(self, number: signal.Signals) -> None:
        # The watchdog reaps the process and exits at once. While the watchdog runs, the process id is either that of
        # the process or, briefly, unused.
        if self._watchdog is not None and self.pid is not None and self._watchdog.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
