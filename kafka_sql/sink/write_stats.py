"""Represent and sum the write statistics of tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class WriteStats:
    """Statistics of a write by one task or several.

    Attributes:
        rows: number of acknowledged records.
        bytes: size of their keys and values, before compression.
        errors: number of broker errors that the client reported; it retries most of them.
        send_time: milliseconds until the latest records were acknowledged (Flink's currentSendTime).
        client: the client that wrote; of several tasks, all that wrote: 'direct, librdkafka'.
    """

    rows: int = 0
    bytes: int = 0
    errors: int = 0
    send_time: float = 0
    client: str = ""


def total_stats(stats: Iterable[WriteStats]) -> WriteStats:
    """Return the sum of statistics; ``send_time`` is the maximum."""
    items = list(stats)
    return WriteStats(
        rows=sum(s.rows for s in items),
        bytes=sum(s.bytes for s in items),
        errors=sum(s.errors for s in items),
        send_time=max((s.send_time for s in items), default=0),
        client=", ".join(sorted({c for s in items if s.client for c in s.client.split(", ")})),
    )
