"""Write statistics of tasks, and their sum."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class WriteStats:
    """Statistics of a write.

    Attributes:
        rows: number of acknowledged records.
        bytes: size of their keys and values, before compression.
        errors: number of broker errors that the client reported and recovered from.
        send_time: milliseconds until the latest records were acknowledged (Flink's currentSendTime).
    """

    rows: int = 0
    bytes: int = 0
    errors: int = 0
    send_time: float = 0


def total_stats(parts: Iterable[WriteStats]) -> WriteStats:
    """Return the sum over several tasks; ``send_time`` is the longest."""
    tasks = list(parts)
    return WriteStats(
        sum(s.rows for s in tasks),
        sum(s.bytes for s in tasks),
        sum(s.errors for s in tasks),
        max((s.send_time for s in tasks), default=0),
    )
