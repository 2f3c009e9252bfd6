"""Run one check, and represent its result."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kafka_sql.errors import KafkaSqlError

_CONNECT_TIMEOUT: Final = 5.0  # seconds


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    table: str  # the table's name
    subject: str  # what was checked: 'reachable', 'write', 'clock' and so on
    ok: bool | None  # whether the check succeeded; None if it could not be run or does not apply
    message: str  # details, or the error
    is_warning: bool = False  # whether the message is a warning. A warning is not a failure.

    def __str__(self) -> str:
        status = "WARN" if self.is_warning else {True: "ok", False: "FAILED", None: "-"}[self.ok]
        return f"{status:<6}  {self.table}  {self.subject}: {self.message}"


def run_check(table: str, subject: str, check: Callable[[], str]) -> Finding:
    """Run a check, which returns details or raises."""
    try:
        return Finding(table, subject, True, check())
    except KafkaSqlError as e:
        return Finding(table, subject, False, str(e))


def open_connection(host: str | None, port: int) -> None:
    """Open and close a TCP connection; raise OSError if it is not established within five seconds."""
    socket.create_connection((host, port), _CONNECT_TIMEOUT).close()
