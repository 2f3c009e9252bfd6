"""A process that is measured: it takes a request a line and gives an answer a line, both JSON."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.memory import Memory

MARK = "@@ "  # before an answer, as others print, too


class StationError(Exception):
    """A station could not do what it was asked."""


class Station:
    """A peer's process.

    Attributes:
        name: the peer's.
        ready: seconds from its start until it took requests.
        memory: of it and its children.
    """

    def __init__(self, name: str, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        """Start it and wait until it is ready.

        Args:
            log: what it prints besides answers.
        """
        began = time.perf_counter()
        self.name, self._log = name, log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=dict(environment)
            )
        self.memory = Memory(self._process.pid)
        self._receive()
        self.ready = time.perf_counter() - began

    def ask(self, do: str, **arguments: Any) -> Any:
        """What it answers.

        Raises:
            StationError: it failed.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self._process.stdin.flush()
        return self._receive()

    def _receive(self) -> Any:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(MARK):
                answer = json.loads(line.removeprefix(MARK))
                if isinstance(answer, dict) and "error" in answer:
                    raise StationError(f"{self.name}: {answer['error']}")
                return answer
        raise StationError(f"{self.name} has ended; its last words are in {self._log}")

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self.memory.close()
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def __enter__(self) -> Station:
        """The running station."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End it."""
        self.close()
