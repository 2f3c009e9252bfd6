"""One line of a check."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kafka_sql.errors import KafkaSqlError

_CONNECT_SECONDS: Final = 5.0


@dataclass(frozen=True)
class Finding:
    """What was found of one thing.

    Attributes:
        table: its name.
        what: what was looked at: 'reachable', 'write', 'clock' and so on.
        ok: whether it is as it must be; None where it cannot be told, or does not apply.
        said: the facts, or the cause and what to do.
    """

    table: str
    subject: str
    ok: bool | None
    message: str

    def __str__(self) -> str:
        mark = {True: "ok", False: "FAILED", None: "-"}[self.ok]
        return f"{mark:<6}  {self.table}  {self.subject}: {self.message}"


def run_check(table: str, what: str, look: Callable[[], str]) -> Finding:
    """What ``look`` says, or its error as a cause."""
    try:
        return Finding(table, what, True, look())
    except KafkaSqlError as e:
        return Finding(table, what, False, str(e))


def open_connection(host: str | None, port: int) -> None:
    """Make a TCP connection and close it.

    Raises:
        OSError: there is none within five seconds.
    """
    socket.create_connection((host, port), _CONNECT_SECONDS).close()
