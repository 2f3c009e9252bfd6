"""Control the process of a peer, with one JSON request and one JSON response per line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.memory import MemoryWatch
from benchmarks.peers.serving import RESPONSE_MARK


class PeerError(Exception):
    """A peer could not process a request."""


class PeerProcess:
    """The process of a peer.

    Attributes:
        name: name of the peer.
        pid: id of the process.
        memory: memory of the process and its children.
    """

    def __init__(self, name: str, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        """Start the process and wait until it is ready.

        Args:
            name: name of the peer.
            command: command line.
            log: file for its stderr.
            environment: environment variables.
        """
        self.name, self._log = name, log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=dict(environment)
            )
        self.pid = self._process.pid
        self.memory = MemoryWatch(self.pid)
        self._receive()

    def request(self, do: str, **arguments: Any) -> Any:
        """Send a request and return the response.

        Args:
            do: name of the request.
            arguments: its arguments.

        Raises:
            PeerError: the request failed.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self._process.stdin.flush()
        return self._receive()

    def _receive(self) -> Any:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(RESPONSE_MARK):
                response = json.loads(line.removeprefix(RESPONSE_MARK))
                if isinstance(response, dict) and "error" in response:
                    raise PeerError(f"{self.name}: {response['error']}")
                return response
        raise PeerError(f"{self.name} has exited; see its log in {self._log}")

    def close(self) -> None:
        """Stop the process."""
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

    def __enter__(self) -> PeerProcess:
        """Return the running process."""
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the process."""
        self.close()
